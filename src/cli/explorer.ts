import { ExplorerServer, ListenError } from '../server/index.ts'
import { OutboundError } from '../jsonrpc/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'
import type { Terminal } from './terminal.ts'

/** Serves the explorer of another node until it is stopped; no chain is started. Throws CommandError. */
export async function exploreNode(
  url: string,
  { host, port, allowOrigin, allowHost, quiet }: Settings,
  terminal: Terminal,
): Promise<ExitCode> {
  const onError = (error: unknown) => terminal.err(`pocketchain: ${error instanceof Error ? error.message : String(error)}\n`)
  const server = await ExplorerServer.listen({ url, host, port, allowOrigins: allowOrigin, allowHosts: allowHost, onError }).catch(
    (error: unknown) => {
      if (error instanceof ListenError) throw new CommandError(EXIT.failed, error.message, error)
      if (error instanceof OutboundError) throw new CommandError(EXIT.usage, `--explorer-of: ${error.message}`, error)
      throw error
    },
  )
  const authority = `${host.includes(':') ? `[${host}]` : host}:${server.port}`
  if (!quiet) terminal.out(`\n  explorer     http://${authority}/ shows ${new URL(url).origin}\n\nListening on ${authority}\n`)
  await new Promise<void>((resolve) => {
    if (terminal.stop.aborted) resolve()
    else terminal.stop.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.close()
  return EXIT.good
}

import { OutboundError } from '../jsonrpc/index.ts'
import { ExplorerServer, ListenError } from '../server/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'
import type { Terminal } from './terminal.ts'

/** Serves the explorer of another node until it is stopped; no chain is started. Throws CommandError. */
export async function exploreNode(nodeUrl: string, settings: Settings, terminal: Terminal): Promise<ExitCode> {
  const { host: hosts, port, allowOrigin, allowHost, quiet, json } = settings
  const [host = '127.0.0.1', second] = hosts
  if (second !== undefined) throw new CommandError(EXIT.usage, '--explorer-of listens on one --host')
  const onError = (error: unknown) => terminal.err(`pocketchain: ${error instanceof Error ? error.message : String(error)}\n`)
  const options = { url: nodeUrl, host, port, allowOrigins: allowOrigin, allowHosts: allowHost, onError }
  const server = await ExplorerServer.listen(options).catch((error: unknown) => {
    if (error instanceof ListenError) throw new CommandError(EXIT.failed, error.message, error)
    if (error instanceof OutboundError) throw new CommandError(EXIT.usage, `--explorer-of: ${error.message}`, error)
    throw error
  })
  const authority = `${host.includes(':') ? `[${host}]` : host}:${server.port}`
  const url = `http://${authority}`
  // Prints only the origin of the node's URL: the rest may contain a key.
  const explorerOf = new URL(nodeUrl).origin
  const problem = await server.problem()
  if (problem !== null) terminal.err(`pocketchain: ${problem}; the pages show it as soon as it answers\n`)
  if (json) terminal.out(`${JSON.stringify({ url, host, port: server.port, explorerOf })}\n`)
  else if (!quiet) terminal.out(`\n  explorer     ${url}/ shows ${explorerOf}\n\nListening on ${authority}\n`)
  await new Promise<void>((resolve) => {
    if (terminal.stop.aborted) resolve()
    else terminal.stop.addEventListener('abort', () => resolve(), { once: true })
  })
  await server.close()
  return EXIT.good
}

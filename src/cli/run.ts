import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'
import { readSettings } from './settings.ts'
import type { Terminal } from './terminal.ts'

/** The command: starts a node, tells what it does, and ends it when told to stop. Answers the exit code. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const asked = await readSettings(argv, terminal.env, terminal.folder)
    if ('print' in asked) {
      terminal.out(asked.print ?? `${(await import('../index.ts')).VERSION}\n`)
      return EXIT.good
    }
    for (const warning of asked.warnings) terminal.err(`pocketchain: ${warning}\n`)
    if (asked.command === 'demo') return await (await import('./demo.ts')).demo(asked, terminal)
    return await live(asked.settings, terminal)
  } catch (error) {
    if (terminal.stop.aborted && error === terminal.stop.reason) return EXIT.good // told to stop before it was up
    if (!(error instanceof CommandError)) throw error
    terminal.err(`pocketchain: ${error.message}\n`)
    return error.exitCode
  }
}

/** The page of help and a wrong flag need none of this. */
async function live(settings: Settings, terminal: Terminal): Promise<ExitCode> {
  const { boot } = await import('./boot.ts')
  const { devKeys, mnemonicOf } = await import('./devkeys.ts')
  const { follow, greet } = await import('./output.ts')
  const { keystoreOf } = await import('./keystore.ts')
  const { policiesOf } = await import('./policies.ts')
  const mnemonic = await mnemonicOf(settings)
  const keystore = await keystoreOf(settings, terminal.env)
  const policies = await policiesOf(settings)
  const tell = (line: string) => terminal.err(`pocketchain: ${line}\n`)
  const keys = keystore === null ? {} : { keystore }
  const { node, server, dump } = await boot(settings, { mnemonic, keys, policies, stop: terminal.stop, tell })
  const stopped = aborted(terminal.stop)
  try {
    await greet({ node, server, keys: devKeys(node, settings, mnemonic), settings, terminal })
    const leave = follow(node, settings, terminal)
    await stopped
    leave()
    await dump?.end()
  } finally {
    await node.close()
  }
  return EXIT.good
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

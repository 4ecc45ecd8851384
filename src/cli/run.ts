import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'
import { readSettings } from './settings.ts'
import { aborted } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** prool, viem's pool of nodes, takes text on stderr before `Listening on` for a failed start unless it contains `Warning`. */
const WARNING = 'pocketchain: Warning: '

/** Runs the command: starts a node, prints its events, and closes it when `stop` is aborted. Returns the exit code. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitCode> {
  try {
    const invocation = await readSettings(argv, terminal.env, terminal.folder)
    if ('print' in invocation) {
      terminal.out(invocation.print ?? `${(await import('../rpc/version.ts')).VERSION}\n`)
      return EXIT.good
    }
    if (invocation.command === 'audit') return await (await import('./audit.ts')).runAudit(invocation.audit, terminal)
    for (const warning of invocation.warnings) terminal.err(`${WARNING}${warning}\n`)
    const { command } = invocation
    if (command !== 'start' && command !== 'demo') return await (await import('./fleet.ts')).runFleet(command, invocation, terminal)
    if (invocation.command === 'demo') return await (await import('./demo/demo.ts')).demo(invocation, terminal)
    const { settings } = invocation
    if (settings.explorerOf !== null) return await (await import('./explorer.ts')).exploreNode(settings.explorerOf, settings, terminal)
    return await runNode(settings, terminal)
  } catch (error) {
    if (terminal.stop.aborted && error === terminal.stop.reason) return EXIT.good // stopped before the node was ready
    if (!(error instanceof CommandError)) throw error
    terminal.err(`pocketchain: ${error.message}\n`)
    return error.exitCode
  }
}

/** The modules are loaded here, so that the help and usage errors do not load them. */
async function runNode(settings: Settings, terminal: Terminal): Promise<ExitCode> {
  const { startNode } = await import('./startnode.ts')
  const { devKeysOf, mnemonicOf } = await import('./devkeys.ts')
  const { printReady } = await import('./output.ts')
  const { NodeLog } = await import('./log/nodelog.ts')
  const { keystoreOf } = await import('./keystore.ts')
  const { policiesOf } = await import('./policies.ts')
  const nodeLog = new NodeLog(settings, terminal)
  const mnemonic = await mnemonicOf(settings)
  const keystore = await keystoreOf(settings, terminal.env)
  const policies = await policiesOf(settings)
  let isReady = false
  const log = (line: string) => terminal.err(`${isReady ? 'pocketchain: ' : WARNING}${line}\n`)
  const keys = keystore === null ? {} : { keystore }
  let depose: (error: Error) => void = () => undefined
  const deposed = new Promise<Error>((resolve) => (depose = resolve))
  const { node, server, dump } = await startNode(settings, {
    mnemonic,
    keys,
    policies,
    stop: terminal.stop,
    deposed: depose,
    log,
    observation: settings.quiet ? {} : nodeLog.observation,
  })
  if (dump !== null) terminal.onDump?.(() => dump.abandon())
  terminal.onReady?.()
  const stopped = aborted(terminal.stop)
  try {
    await printReady({ node, server, keys: devKeysOf(node, settings, mnemonic), settings, terminal, log })
    isReady = true
    const stopPrinting = settings.quiet ? null : nodeLog.start(node)
    const reason = await Promise.race([stopped, deposed])
    stopPrinting?.()
    // The state is dumped between two changes.
    node.chain.endMining()
    await dump?.end()
    if (reason instanceof Error) throw new CommandError(EXIT.failed, reason.message, reason)
  } finally {
    await node.close()
  }
  return EXIT.good
}

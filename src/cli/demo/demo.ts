import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { DEFAULT_MNEMONIC, VERSION } from '../../index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Server } from '../../server/index.ts'
import { cadenceOf, cadenceText } from '../cadence.ts'
import { CommandError, EXIT } from '../exit.ts'
import type { ExitCode } from '../exit.ts'
import { policiesOf } from '../policies.ts'
import type { Invocation } from '../settings.ts'
import { startNode } from '../startnode.ts'
import { aborted, isColoured, paint } from '../terminal.ts'
import type { Terminal } from '../terminal.ts'
import { scriptApprover, userApprover } from './approver.ts'
import { StepLog } from './steplog.ts'
import { runSteps } from './steps.ts'

/** Time limit of the headless demo. */
const HEADLESS_MS = 30_000

/**
 * Starts a node, runs the demo on it and closes it: immediately if it is headless, else when the user stops it. Throws CommandError with the failed step and
 * the reason.
 */
export async function demo({ settings, isHeadless }: Invocation, terminal: Terminal): Promise<ExitCode> {
  const log = new StepLog(terminal.out, paint(isColoured(settings, terminal)))
  const cadence = cadenceOf(settings)
  if (cadence.kind === 'manual')
    throw new CommandError(EXIT.usage, 'the demo requires blocks, and --cadence manual produces none without a request')
  const policies = await policiesOf(settings)
  log.title(`pocketchain ${VERSION} demo: a customer without ether buys a coffee, and a sponsor pays the fee`)
  log.begin('start')
  const keys = { memory: [new Uint8Array(randomBytes(32))] }
  // The only account of the wallet is the customer's.
  const demoSettings = { ...settings, accounts: 0 }
  const deps = { mnemonic: DEFAULT_MNEMONIC, keys, policies, stop: terminal.stop, log: (line: string) => log.detail(line) }
  const { node, server } = await startNode(demoSettings, deps)
  const approver = isHeadless ? scriptApprover(node.wallet, log) : userApprover(node.wallet, log, () => linkOf(server))
  try {
    log.done(`${server.url}, chain ${node.chain.config.chainId}, blocks ${cadenceText(cadence)}`)
    const limit = isHeadless ? AbortSignal.any([terminal.stop, AbortSignal.timeout(HEADLESS_MS)]) : terminal.stop
    await untilAborted(limit, runSteps({ node, server, approver, log }))
    log.total()
    if (isHeadless) log.section('What to do next', nextSteps(terminal.env, settings.tlsFolder, 'http://127.0.0.1:8545'))
    else {
      log.section('Look at it', [...pages(server), '', ...nextSteps(terminal.env, settings.tlsFolder, server.url)])
      await aborted(terminal.stop)
    }
  } catch (error) {
    throw terminal.stop.aborted ? terminal.stop.reason : failure(log.current, error)
  } finally {
    approver.close()
    await node.close()
  }
  return EXIT.good
}

/** The pages of the demo's node, which keeps running. */
function pages({ url }: Server): readonly string[] {
  return [
    `${`${url}/wallet`.padEnd(50)}# what you approved, and what became of it`,
    `${`${url}/sponsor`.padEnd(50)}# what the sponsor paid`,
    `${url.padEnd(50)}# blocks, flashblocks and transactions`,
    'The node of the demo runs until Ctrl-C.',
  ]
}

function linkOf({ wallet }: Server): string {
  if (wallet === null) throw new Error('the server of the demo has no wallet')
  return wallet.link()
}

/** Rejects with the reason of the signal when it is aborted. The work is not cancelled: it fails when the node closes. */
async function untilAborted(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason as Error) // of AbortSignal: an Error
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  work.catch(() => undefined) // a rejection after the abort
  await Promise.race([work, aborted])
}

function failure(step: string, error: unknown): unknown {
  if (error instanceof CommandError) return error
  return new CommandError(EXIT.failed, `the demo failed at the step "${step}": ${messageOf(error)}`, error)
}

/** The message of the wallet's refusal, with the detail in its data. */
function messageOf(error: unknown): string {
  if (error instanceof RpcError) {
    const { message, code, data } = error
    const detail = typeof data === 'object' && data !== null && 'detail' in data ? `: ${String(data.detail)}` : ''
    return `${message}${detail} (code ${code})`
  }
  if (!(error instanceof Error)) return String(error)
  return error.name === 'TimeoutError' ? `it did not end within ${HEADLESS_MS / 1_000} s` : error.message
}

/** Shell commands in the same form as the command that started the demo. `url`: of the node that an app would use. */
function nextSteps(env: Terminal['env'], tlsFolder: string | null, url: string): readonly string[] {
  const authority = tlsFolder === null ? '~/.pocketchain/ca.pem' : join(resolve(tlsFolder), 'ca.pem')
  const isNpmStart = env['npm_lifecycle_event'] === 'start'
  const start = isNpmStart ? 'npm start' : 'npx pocketchain'
  const startWith = isNpmStart ? 'npm start --' : start
  return [
    `${start.padEnd(50)}# the same node on http://127.0.0.1:8545, until Ctrl-C`,
    `${`${startWith} --sponsor-policies policies.json`.padEnd(50)}# a sponsor with your own policies`,
    `${`export NODE_EXTRA_CA_CERTS=${authority}`.padEnd(50)}# makes Node trust its https certificate`,
    '',
    'In an app: wallet_sendCalls with',
    `  capabilities: { paymasterService: { url: '${url.replace('http:', 'https:')}/paymaster/rpc' } }`,
    `Payments and refusals of the sponsor: ${url}/sponsor`,
    'Documentation: docs/guide.md, "A sponsor for your users"',
  ]
}

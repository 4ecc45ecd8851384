import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { DEFAULT_MNEMONIC, VERSION } from '../index.ts'
import { RpcError } from '../rpc/index.ts'
import type { Server } from '../server/index.ts'
import { boot } from './boot.ts'
import { cadenceOf, cadenceText } from './cadence.ts'
import { DEMO_ORIGIN, playDemo } from './demostory.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import { personHand, scriptHand } from './hand.ts'
import { Narrator } from './narrator.ts'
import { policiesOf } from './policies.ts'
import type { Asked } from './settings.ts'
import { isColoured, paint } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Where a script answers, the whole of it takes less. */
const HEADLESS_MS = 30_000

/** Starts a node, plays the demo on it and ends it. Throws CommandError that says which step failed and why. */
export async function demo({ settings, isHeadless }: Asked, terminal: Terminal): Promise<ExitCode> {
  const narrator = new Narrator(terminal.out, paint(isColoured(settings, terminal)))
  const cadence = cadenceOf(settings)
  if (cadence.kind === 'manual')
    throw new CommandError(EXIT.usage, 'under --cadence manual no block comes by itself, and the demo would wait for ever')
  const policies = await policiesOf(settings)
  narrator.title(`pocketchain ${VERSION} demo: a customer without ether buys a coffee, and a sponsor pays the fee`)
  narrator.begin('start')
  const keys = { memory: [new Uint8Array(randomBytes(32))] }
  const tell = (line: string) => narrator.aside(line)
  // The only account of the wallet is the customer's. The app's site is one that a browser would have to be let in from.
  const alone = { ...settings, accounts: 0, allowOrigin: [DEMO_ORIGIN] }
  const { node, server } = await boot(alone, { mnemonic: DEFAULT_MNEMONIC, keys, policies, stop: terminal.stop, tell })
  const hand = isHeadless ? scriptHand(node.wallet, narrator) : personHand(node.wallet, narrator, () => linkOf(server))
  try {
    narrator.done(`${server.url}, chain ${node.chain.config.chainId}, blocks ${cadenceText(cadence)}`)
    await until(limitOf(terminal.stop, isHeadless), playDemo({ node, server, hand, narrator }))
  } catch (error) {
    throw terminal.stop.aborted ? terminal.stop.reason : failure(narrator.current, error)
  } finally {
    hand.end()
    await node.close()
  }
  narrator.total()
  narrator.chapter('What to do next', nextSteps(terminal.env, settings.tlsFolder))
  return EXIT.good
}

function linkOf({ wallet }: Server): string {
  if (wallet === null) throw new Error('the server of the demo has no wallet')
  return wallet.link()
}

function limitOf(stop: AbortSignal, isHeadless: boolean): AbortSignal {
  return isHeadless ? AbortSignal.any([stop, AbortSignal.timeout(HEADLESS_MS)]) : stop
}

/** What is done when the signal ends is left where it is: the node closes below it. */
async function until(signal: AbortSignal, work: Promise<void>): Promise<void> {
  const ended = new Promise<never>((_, reject) => {
    const end = () => reject(signal.reason as Error) // of a signal: an Error
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
  work.catch(() => undefined) // who came second
  await Promise.race([work, ended])
}

function failure(step: string, error: unknown): unknown {
  if (error instanceof CommandError) return error
  return new CommandError(EXIT.failed, `the demo failed at the step "${step}": ${wordsOf(error)}`, error)
}

/** What the wallet refuses has words for everybody in its message, and what is behind them in its data. */
function wordsOf(error: unknown): string {
  if (error instanceof RpcError) {
    const { message, code, data } = error
    const detail = typeof data === 'object' && data !== null && 'detail' in data ? `: ${String(data.detail)}` : ''
    return `${message}${detail} (code ${code})`
  }
  if (!(error instanceof Error)) return String(error)
  return error.name === 'TimeoutError' ? `nothing happened within ${HEADLESS_MS / 1_000} s` : error.message
}

/** In the words by which this one was started. */
function nextSteps(env: Terminal['env'], tlsFolder: string | null): readonly string[] {
  const authority = tlsFolder === null ? '~/.pocketchain/ca.pem' : join(resolve(tlsFolder), 'ca.pem')
  const isNpmStart = env['npm_lifecycle_event'] === 'start'
  const start = isNpmStart ? 'npm start' : 'npx pocketchain'
  const more = isNpmStart ? 'npm start --' : start
  return [
    `${start.padEnd(50)}# the same node on http://127.0.0.1:8545, until Ctrl-C`,
    `${`${more} --sponsor-policies policies.json`.padEnd(50)}# a sponsor that pays for what you choose`,
    `${`export NODE_EXTRA_CA_CERTS=${authority}`.padEnd(50)}# so that Node trusts its https`,
    '',
    'In an app: wallet_sendCalls with',
    "  capabilities: { paymasterService: { url: 'https://127.0.0.1:8545/paymaster/rpc' } }",
    'What the sponsor did, and why it refused: http://127.0.0.1:8545/sponsor',
    'How to go on from here: docs/guide.md, "A sponsor for your users"',
  ]
}

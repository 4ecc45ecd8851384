import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Operations, chargesOf, differences, ledgerOf, sumOf } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import { handOver } from '../../src/fleet/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { startServers, until } from './fleet.fixture.ts'
import { NO_SERVERS } from './servers.fixture.ts'

/** 1,000 in `npm run faults`. */
const OPERATIONS = Number(process.env['SPONSORED_OPERATIONS'] ?? 60)
const LANES = 12
const ETHER = 10n ** 18n
const WETH = '0x4200000000000000000000000000000000000006'
/** Enough for about a third of the operations that request it when there are 60; with more of them the base fee falls, so it does not grow with them. */
const TIGHT = 2_220n * 10n ** 12n
const POLICIES = [{ name: 'plenty' }, { name: 'tight', total: `0x${TIGHT.toString(16)}` }]
/** Of a refused sponsorship. */
const REFUSED = '-32001'

interface Status {
  readonly paymasters: readonly { readonly version: string; readonly address: string }[]
  readonly policies: readonly { readonly name: string; readonly use: { readonly reserved: string; readonly settled: string } }[]
}

describe.skipIf(NO_SERVERS !== null)(`sponsored operations of a fleet${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let servers: Awaited<ReturnType<typeof startServers>>
  beforeAll(async () => {
    servers = await startServers()
  })
  afterAll(() => servers.stop())

  test(
    'through three replicas at once exceed no budget, and the ledger equals the chain, also after a takeover',
    { timeout: 60_000 + OPERATIONS * 400 },
    async () => {
      const database = await servers.createDatabase()
      const sequencer = await servers.start(database, 'sequencer', { cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 100 } })
      const standby = await servers.start(database, 'standby')
      const replicas = [await servers.start(database, 'replica'), await servers.start(database, 'replica'), standby]
      const urls = await Promise.all(replicas.map(async ({ node }) => (await node.listen()).url))
      await sequencer.ask('pocketchain_sponsorPolicies', POLICIES)
      let left = OPERATIONS
      const counts = { granted: 0, refused: 0 }

      const lane = async (index: number): Promise<void> => {
        const url = urls[index % urls.length] ?? ''
        const operations = new Operations({ eth, rpc }, { ask: asking(url), sponsor: asking(`${url}/paymaster`) })
        const sender = operations.sender(`lane ${index}`)
        for (let turn = 0; left-- > 0; turn++) {
          const words = [0xb0b0, turn].map((word) => word.toString(16).padStart(64, '0'))
          const callData = operations.callData([{ to: WETH, data: `0x095ea7b3${words.join('')}` }])
          try {
            const prepared = await operations.prepare(sender, callData, { policy: (index + turn) % 3 === 0 ? 'tight' : 'plenty' })
            counts.granted++
            await operations.send(prepared)
            await until('the operation is included', async () => (await asking(url)('eth_getUserOperationReceipt', prepared.hash)) !== null)
          } catch (error) {
            if (!(error instanceof Error) || !error.message.startsWith(REFUSED)) throw error
            counts.refused++
          }
        }
      }
      await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)))
      expect(counts.granted).toBeGreaterThan(OPERATIONS / 2)
      expect(counts.refused).toBeGreaterThan(0)
      const { paymasters } = (await sequencer.ask('pocketchain_sponsorStatus')) as Status
      const paymaster = paymasters.find(({ version }) => version === '0.8')?.address ?? ''
      await agreed(replicas[0]!.ask, paymaster)
      await sequencer.node.close()
      await until('the standby takes over', () => standby.notes.some((note) => note.includes('takes over')))
      await agreed(replicas[0]!.ask, paymaster)
      expect(replicas.flatMap(({ bugs }) => bugs)).toEqual([])
    },
  )

  test('that wait for a bundle outlive a hand-over and the end of the sequencer', async () => {
    const database = await servers.createDatabase()
    const first = await servers.start(database, 'sequencer', { cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 100 } })
    const second = await servers.start(database, 'standby')
    const replica = await servers.start(database, 'replica')
    const operations = new Operations({ eth, rpc }, { ask: replica.ask, sponsor: async () => ({}) })
    const sender = operations.sender('waiting')
    await replica.ask('anvil_setBalance', sender.address, `0x${ETHER.toString(16)}`)
    const sendWaiting = async (): Promise<string> => {
      await replica.ask('debug_bundler_setBundlingMode', 'manual')
      const begun = await operations.begin(sender, operations.callData([{ to: WETH }]))
      const limits = await replica.ask('eth_estimateUserOperationGas', begun, eth.ENTRY_POINTS['0.8'])
      const hash = await operations.send(operations.sign(sender, { ...begun, ...(limits as object) }))
      expect(await replica.ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'not_submitted' })
      return hash
    }
    const isIncluded = async (hash: string): Promise<boolean> => {
      const { status } = (await replica.ask('pimlico_getUserOperationStatus', hash)) as { readonly status: string }
      return status === 'included'
    }

    const handed = await sendWaiting()
    await handOver({ nats: servers.nats.url, database })
    await until('the next sequencer bundles the operation', () => isIncluded(handed))
    const left = await sendWaiting()
    await second.node.close()
    await until('the first process bundles the operation', () => isIncluded(left))
    expect([...first.bugs, ...second.bugs, ...replica.bugs]).toEqual([])
  })
})

type Ask = (method: string, ...params: readonly unknown[]) => Promise<unknown>

function asking(url: string): Ask {
  return async (method, ...params) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const { result, error } = (await response.json()) as { result?: unknown; error?: { code: number; message: string } } // JSON-RPC
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
    return result
  }
}

/** The ledger equals the charges of the chain to the wei, and no budget is exceeded. */
async function agreed(ask: Ask, paymaster: string): Promise<void> {
  for (const endMs = performance.now() + 20_000; ; await delay(200)) {
    const charges = await chargesOf({ eth, rpc }, ask, { paymaster, entryPoint: eth.ENTRY_POINTS['0.8'] })
    const entries = await ledgerOf(ask)
    const balance = await ask(
      'eth_call',
      { to: eth.ENTRY_POINTS['0.8'], data: `0x70a08231${paymaster.slice(2).padStart(64, '0')}` },
      'pending',
    )
    const { policies } = (await ask('pocketchain_sponsorStatus')) as Status
    const tight = policies.find(({ name }) => name === 'tight')
    const used = BigInt(tight?.use.reserved ?? 0) + BigInt(tight?.use.settled ?? 0)
    const wrong = [
      ...differences(entries, charges),
      ...(BigInt(String(balance)) === 100n * ETHER - sumOf(charges)
        ? []
        : [`the deposit is ${String(balance)} wei, ${sumOf(charges)} were charged`]),
      ...(used <= TIGHT ? [] : [`${used} wei of ${TIGHT} are used`]),
      ...(charges.length > 0 ? [] : ['nothing was charged']),
    ]
    if (wrong.length === 0) return
    if (performance.now() > endMs) expect(wrong).toEqual([])
  }
}

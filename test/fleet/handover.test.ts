import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Operations, ledgerOf } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import { handOver } from '../../src/fleet/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { caughtUp, startServers, until } from './fleet.fixture.ts'
import type { Member } from './fleet.fixture.ts'
import { NO_SERVERS } from './servers.fixture.ts'

const DEAD = '0x000000000000000000000000000000000000dEaD'
const WETH = '0x4200000000000000000000000000000000000006'
/** Enough for a few operations. */
const POLICIES = [{ name: 'tight', total: '3000000000000000' }]
/** Of a refused sponsorship. */
const REFUSED = '-32001'

describe.skipIf(NO_SERVERS !== null)(
  `a process that leads again after it followed another one${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`,
  () => {
    let servers: Awaited<ReturnType<typeof startServers>>
    let database = ''
    let first: Member
    let second: Member
    beforeAll(async () => {
      servers = await startServers()
      database = await servers.createDatabase()
      const cadence = { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 100 } as const
      first = await servers.start(database, 'sequencer', { cadence, wallet: { policy: 'approve' }, sponsor: { policies: POLICIES } })
      second = await servers.start(database, 'standby', { sponsor: { policies: POLICIES } })
    }, 60_000)
    afterAll(() => servers.stop())

    async function handedTo({ node }: Member): Promise<void> {
      await handOver({ nats: servers.nats.url, database })
      await until('the lease is handed over', () => node.fleet?.status().isSequencer === true)
      await caughtUp(first, second)
    }

    test('refuses the batches of its wallet while it follows, and knows the earlier ones afterwards', async () => {
      const { url } = await first.node.listen()
      const wallet = (method: string, params: unknown = []) => call(`${url}/wallet`, method, params, { origin: 'http://localhost:3000' })
      const [from] = (await wallet('eth_requestAccounts')).result as readonly string[]
      const sent = (id: string) =>
        wallet('wallet_sendCalls', [
          { version: '2.0.0', id, from, chainId: '0x7a69', atomicRequired: false, calls: [{ to: DEAD, value: '0x1' }] },
        ])
      expect(await sent('0x01')).toMatchObject({ result: { id: '0x01' } })
      await handedTo(second)
      expect(await sent('0x02')).toMatchObject({ error: { code: -32_000, data: { reason: 'not-sequencer' } } })
      await handedTo(first)
      expect(await sent('0x01')).toMatchObject({ error: { code: 5720 } })
      expect(await wallet('wallet_getCallsStatus', ['0x01'])).toMatchObject({ result: { status: 200 } })
      expect(await sent('0x02')).toMatchObject({ result: { id: '0x02' } })
      await until('two payments', async () => (await first.ask('eth_getBalance', DEAD, 'pending')) === '0x2')
      expect([...first.bugs, ...second.bugs]).toEqual([])
    })

    test('continues the ledger of the sponsor, whose policies and budgets hold in both processes', async () => {
      const urls = new Map([
        [first, (await first.node.listen()).url],
        [second, (await second.node.listen()).url],
      ])
      let count = 0
      /** Returns true if the sponsor pays for an operation, and reserves its cost. */
      const isGranted = async (member: Member): Promise<boolean> => {
        const operations = new Operations(
          { eth, rpc },
          {
            ask: member.ask,
            sponsor: async (method: string, ...params: readonly unknown[]) =>
              resultOf(await call(`${urls.get(member)}/paymaster`, method, params)),
          },
        )
        try {
          await operations.prepare(operations.sender(`grant ${count++}`), operations.callData([{ to: WETH }]), { policy: 'tight' })
          return true
        } catch (error) {
          if (error instanceof Error && error.message.startsWith(REFUSED)) return false
          throw error
        }
      }
      const entries = async (): Promise<number> => (await ledgerOf(first.ask)).filter(({ state }) => state !== 'refused').length
      expect(await isGranted(first)).toBe(true)
      await handedTo(second)
      let granted = 1
      while (granted < 20 && (await isGranted(second))) granted++
      expect(granted).toBeGreaterThan(1)
      expect(granted).toBeLessThan(20)
      await handedTo(first)
      expect(await isGranted(first)).toBe(false)
      expect(await entries()).toBe(granted)
      expect([...first.bugs, ...second.bugs]).toEqual([])
    })

    test('has no standby with other policies of the sponsor', async () => {
      await expect(servers.start(database, 'standby')).rejects.toThrow('with the same --sponsor-policies')
    })

    test('reverts to no snapshot of another sequencer, and to none of its own from before', async () => {
      const before = await first.ask('evm_snapshot')
      await handedTo(second)
      const between = await first.ask('evm_snapshot')
      expect(between).not.toBe(before)
      expect(await first.ask('evm_revert', before)).toBe(false)
      await handedTo(first)
      expect(await first.ask('evm_revert', between)).toBe(false)
      expect(await first.ask('evm_revert', before)).toBe(false)
      expect(await second.ask('evm_revert', await second.ask('evm_snapshot'))).toBe(true)
      expect([...first.bugs, ...second.bugs]).toEqual([])
    })
  },
)

interface Answer {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

async function call(url: string, method: string, params: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return (await response.json()) as Answer // JSON-RPC
}

function resultOf({ result, error }: Answer): unknown {
  if (error !== undefined) throw new Error(`${error.code} ${error.message}`)
  return result
}

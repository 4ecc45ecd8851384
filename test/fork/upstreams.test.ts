import { afterEach, describe, expect, it } from 'vitest'
import { Address, Hash, Hex } from '../../src/eth/index.ts'
import { ForkState, Upstream, resolveForkBlock } from '../../src/fork/index.ts'
import type { MissingKey } from '../../src/chain/index.ts'
import { createPocketchain } from '../../src/index.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const CONTRACT = Address.from('0x0000000000000000000000000000000000c0de00')
/** Reads the slots 99 … 0. */
const READER = '0x60645b600190038054508060025700'
const slotOf = (index: number): Hash => Hash.fromBigint(BigInt(index))
const slots: readonly MissingKey[] = Array.from({ length: 100 }, (_, i) => ({ kind: 'slot', address: CONTRACT, slot: slotOf(i) }))
const accounts: readonly MissingKey[] = Array.from({ length: 10 }, (_, i) => ({
  kind: 'account',
  address: i === 0 ? ALICE : i === 1 ? CONTRACT : Address.fromBigint(0xabc0_0000n + BigInt(i)),
}))

type Ask = (method: string, ...params: readonly unknown[]) => Promise<unknown>

const open: AsyncDisposable[] = []

afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

async function pocketchain(chainType: 'op' | 'l1'): Promise<{ url: string; ask: Ask }> {
  const node = await createPocketchain({ cadence: 'manual', workers: 0, chainType })
  open.push(node)
  const { port } = await node.listen()
  return { url: `http://127.0.0.1:${port}`, ask: (method, ...params) => node.request({ method, params }) }
}

async function anvil(): Promise<{ url: string; ask: Ask }> {
  const running = await startAnvil('--no-mining', '--order', 'fifo')
  open.push(running)
  return running
}

const UPSTREAMS = [
  { name: 'a pocketchain', start: () => pocketchain('op'), isOp: true, distance: 2, isPresent: true },
  { name: 'a pocketchain with the rules of L1', start: () => pocketchain('l1'), isOp: false, distance: 5, isPresent: true },
  { name: 'anvil', start: anvil, isOp: false, distance: 5, isPresent: ANVIL !== null },
]

describe.each(UPSTREAMS)('an upstream that is $name', ({ start, isOp, distance, isPresent }) => {
  it.skipIf(!isPresent)('gives 100 slots and 10 accounts in one request, and a call its slots in two', async () => {
    const { url, ask } = await start()
    await ask('anvil_setCode', CONTRACT, READER)
    for (let i = 0; i < 100; i++) await ask('anvil_setStorageAt', CONTRACT, slotOf(i), Hex.fromBytes32(BigInt(i * 3)))
    await ask('anvil_mine', '0x8')
    const head = Number(await ask('eth_blockNumber'))
    const upstream = new Upstream([url])
    const block = await resolveForkBlock(upstream)
    expect(block).toMatchObject({ number: head - distance, isOp })
    expect(upstream.stats.requests).toBe(2)

    const state = new ForkState({ upstream, block })
    await state.fetch([...slots, ...accounts])
    expect(upstream.stats.requests).toBe(3)
    for (let i = 0; i < 100; i++) expect(state.storage(CONTRACT, slotOf(i))).toBe(BigInt(i * 3))
    expect(state.account(ALICE)?.balance).toBe(BigInt((await ask('eth_getBalance', ALICE, 'latest')) as string))
    expect(Hex.fromBytes(state.code(state.account(CONTRACT)!.codeHash))).toBe(READER)

    const cold = new ForkState({ upstream, block })
    const call = { from: ALICE, to: CONTRACT, data: Uint8Array.of(1), value: 0n, gas: null }
    await cold.fetch(
      [
        { kind: 'account', address: ALICE },
        { kind: 'account', address: CONTRACT },
      ],
      call,
    )
    expect(upstream.stats).toEqual({ requests: 5, retries: 0, rateLimits: 0 })
    for (let i = 0; i < 100; i++) expect(cold.storage(CONTRACT, slotOf(i))).toBe(BigInt(i * 3))
  })

  it.skipIf(!isPresent)('gives the state before a transaction, and the transactions up to it', async () => {
    const { url, ask } = await start()
    const hashes: Hash[] = []
    for (const value of ['0x1', '0x2', '0x3']) {
      const transaction = { from: ALICE, to: CONTRACT, value, gas: '0x5208' }
      hashes.push((await ask('eth_sendTransaction', transaction)) as Hash)
    }
    await ask('evm_mine')
    const upstream = new Upstream([url])
    const block = await resolveForkBlock(upstream, { transactionHash: hashes[1]! })
    const { blockNumber } = (await ask('eth_getTransactionByHash', hashes[1])) as { blockNumber: string }
    expect(block.number).toBe(Number(blockNumber) - 1)
    const replayed = block.replay?.transactions.map((raw) => Hash.keccak(Hex.toBytes(raw)))
    expect(replayed?.slice(isOp ? 1 : 0)).toEqual(hashes.slice(0, 2))
  })
})

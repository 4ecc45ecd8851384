import { expect, it } from 'vitest'
import { testChain } from '../../chain/chain.fixture.ts'
import { RealClock } from '../../chain/index.ts'
import { COMPAT } from '../../compat.ts'
import { Hash } from '../../eth/index.ts'
import { DevAccounts } from '../accounts.ts'
import { createRpc } from '../noderpc.ts'
import { ALICE, GENESIS_SECONDS, PRECONF, testNode } from '../node.fixture.ts'

const GENESIS_MS = GENESIS_SECONDS * 1_000

it('pocketchain_tick advances one flashblock at a time, also across block boundaries', async () => {
  const { ask, send } = await testNode({ cadence: PRECONF })
  const hash = await send({ to: ALICE })
  expect(await ask('pocketchain_tick', 199)).toEqual({ nowMs: GENESIS_MS + 199, blockNumber: '0x0', flashblockIndex: 0 })
  expect(await ask('eth_getTransactionReceipt', hash)).toBeNull()
  expect(await ask('pocketchain_tick', 1)).toEqual({ nowMs: GENESIS_MS + 200, blockNumber: '0x0', flashblockIndex: 1 })
  expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ blockNumber: '0x1' })
  expect(await ask('pocketchain_tick', '0x708')).toEqual({ nowMs: GENESIS_MS + 2_000, blockNumber: '0x1', flashblockIndex: 0 })
})

it('concurrent ticks run sequentially', async () => {
  const { ask, chain } = await testNode({ cadence: PRECONF })
  await Promise.all([ask('pocketchain_tick', 3_000), ask('pocketchain_tick', 3_000)])
  expect(chain.clock.nowMs()).toBe(GENESIS_MS + 6_000)
  expect(chain.head.view.head.header.number).toBe(3)
})

it('pocketchain_tick rejects a real clock', async () => {
  const { chain } = testChain('manual', { clock: new RealClock() })
  const rpc = createRpc({
    chain,
    accounts: new DevAccounts([]),
    compat: COMPAT.default,
    clientVersion: 'x',
    devClientVersion: 'x',
    onBug: () => undefined,
  })
  await expect(rpc.request({ method: 'pocketchain_tick', params: [200] })).rejects.toMatchObject({
    code: -32_000,
    message: 'the clock of this node is the real one and cannot be moved: start it with --clock manual',
  })
  expect(await rpc.request({ method: 'pocketchain_info' })).toMatchObject({ clock: { kind: 'real' } })
  await rpc.close()
})

it('pocketchain_info describes the node', async () => {
  const { ask, chain, clock } = await testNode({ cadence: PRECONF })
  await clock.advance(2_400)
  await ask('evm_increaseTime', 100)
  const { hash, header } = chain.head.view.head
  expect(await ask('pocketchain_info')).toEqual({
    clientVersion: 'pocketchain/test',
    instanceId: Hash.zero,
    chainId: '0x7a69',
    genesisHash: chain.genesis.hash,
    cadence: { kind: 'preconf', blockTimeMs: 2_000, flashblockMs: 200 },
    clock: { kind: 'manual', nowMs: GENESIS_MS + 2_400, chainMs: GENESIS_MS + 102_400 },
    head: { number: '0x1', hash, timestamp: `0x${header.timestamp.toString(16)}` },
    flashblockIndex: 0,
    gasLimit: '0x3938700',
    tier1: 'on',
  })
})

it('a long tick and a long mining request yield to other requests', async () => {
  const { ask, chain } = await testNode({ cadence: PRECONF })
  const answered: string[] = []
  const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))
  const ticking = ask('pocketchain_tick', 60_000).then(() => answered.push('tick'))
  await nextTurn()
  answered.push(chain.head.view.head.header.number < 30 ? 'during the tick' : 'too late')
  await ticking
  const mining = ask('anvil_mine', 500).then(() => answered.push('mine'))
  await nextTurn()
  await nextTurn()
  answered.push('other')
  await mining
  expect(answered).toEqual(['during the tick', 'tick', 'other', 'mine'])
})

import { expect, test } from 'vitest'
import { GENESIS_SECONDS, hashesOf, rewindsOf, sealedOf, signed, testChain, testGenesis } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import { DEFAULT_FEE_PARAMETERS, defaultGenesis } from '../genesis/defaultgenesis.ts'
import { ChangeGap, ChangeRecorder } from './follower.ts'
import type { ChainChange } from './follower.ts'

const notSequencer = () => new Error('this chain follows another one')

/** The changes of a chain from now on, as the stream of a fleet has them. */
function changesOf({ chain }: TestChain): ChainChange[] {
  const recorder = new ChangeRecorder()
  const changes: ChainChange[] = []
  chain.head.subscribe((event) => changes.push(recorder.changeOf(event)))
  return changes
}

function following(): TestChain {
  const parts = testChain()
  parts.chain.beginFollowing(notSequencer)
  return parts
}

/** A chain that has promised a transaction, its changes, and a chain that has followed them. */
async function promised() {
  const sequencer = testChain()
  const changes = changesOf(sequencer)
  await sequencer.chain.start()
  const tx = signed()
  await sequencer.chain.submit(tx)
  await sequencer.clock.advance(200)
  const standby = following()
  for (const change of changes) await standby.chain.follow(change)
  expect(hashesOf(standby.chain.head.view.pending)).toEqual([tx.hash])
  return { standby, changes, tx }
}

/** The state of a chain's head, and the one that its header names. */
function roots({ chain: { sealed } }: TestChain) {
  return [sealed.history.stateRoot(sealed.headVersion), sealed.head.header.stateRoot]
}

test('a block that a standby seals as promised is announced with all its writes, for those who do not have its flashblocks', async () => {
  const { standby } = await promised()
  const changes = changesOf(standby)
  await standby.chain.takeOver()
  const replica = following()
  for (const change of changes) await replica.chain.follow(change)
  expect(replica.chain.sealed.head.hash).toBe(standby.chain.sealed.head.hash)
  const [root, named] = roots(replica)
  expect(root).toBe(named)
})

test('those who have its flashblocks keep the promises', async () => {
  const { standby, changes: before, tx } = await promised()
  const replica = following()
  for (const change of before) await replica.chain.follow(change)
  const changes = changesOf(standby)
  await standby.chain.takeOver()
  for (const change of changes) await replica.chain.follow(change)
  const [root, named] = roots(replica)
  expect(root).toBe(named)
  expect(sealedOf(replica.events).map(({ block }) => hashesOf(block))).toEqual([[tx.hash]])
  expect(rewindsOf(replica.events)).toEqual([])
})

/** An L1 chain: its flashblock 0 holds no transaction, but writes the slots of EIP-2935 and EIP-4788. */
function l1Chain(): TestChain {
  const { gasLimit, baseFeePerGas } = testGenesis()
  const genesis = defaultGenesis({
    chainId: 31_337,
    timestamp: GENESIS_SECONDS,
    hardfork: 'osaka',
    gasLimit,
    baseFeePerGas: baseFeePerGas ?? 0n,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    accounts: [],
    codeSizeLimit: null,
    transactionGasCap: null,
  })
  return testChain('preconf', { genesis })
}

function followingL1(): TestChain {
  const parts = l1Chain()
  parts.chain.beginFollowing(notSequencer)
  return parts
}

test('empty blocks of an L1 chain keep the writes of their flashblocks, also for those who have only some of them', async () => {
  const sequencer = l1Chain()
  const changes = changesOf(sequencer)
  await sequencer.chain.start()
  await sequencer.clock.advance(5_000)
  const replica = followingL1()
  for (const change of changes) await replica.chain.follow(change)
  expect(replica.chain.head.view.pending?.header.number).toBe(3)
  expect(replica.chain.sealed.head.hash).toBe(sequencer.chain.sealed.head.hash)
  expect(rewindsOf(replica.events)).toEqual([])
  await replica.chain.forgetPending()
  const [root, named] = roots(replica)
  expect(root).toBe(named)

  const late = followingL1()
  const [first, ...later] = changes
  expect(first).toMatchObject({ kind: 'flashblock', index: 0, firstTransaction: 0 })
  for (const change of later) {
    if (change.kind === 'flashblock' && change.block.header.number === 1) await expect(late.chain.follow(change)).rejects.toThrow(ChangeGap)
    else await late.chain.follow(change)
  }
  await late.chain.forgetPending()
  expect(late.chain.sealed.head.hash).toBe(replica.chain.sealed.head.hash)
  expect(roots(late)).toEqual(roots(replica))
})

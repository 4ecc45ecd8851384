import { expect, test } from 'vitest'
import { hashesOf, rewindsOf, sealedOf, signed, testChain } from '../chain.fixture.ts'
import type { TestChain } from '../chain.fixture.ts'
import { ChangeRecorder } from './follower.ts'
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

import { expect, it } from 'vitest'
import { Hash, UserOperation, entryPoint } from '../eth/index.ts'
import { Address } from '../eth/index.ts'
import { OUTCOMES, OUTCOME_BYTES } from './limits.ts'
import { Outcomes } from './outcomes.ts'

const at = entryPoint('0.8')
const outcomeOf = (id: number, callData = new Uint8Array()) => {
  const operation = UserOperation.of({ sender: Address.zero, nonce: BigInt(id), callData })
  const candidate = { entryPoint: at, operation, hash: Hash.fromBigint(BigInt(id)) }
  return { id, candidate, status: 'rejected', transaction: null, reason: null, failedBundles: 0, replacedBy: null } as const
}
const ids = (outcomes: Outcomes) => outcomes.all().map(({ id }) => id)

it('keeps the newest in number', () => {
  const outcomes = new Outcomes()
  for (let id = 1; id <= OUTCOMES + 2; id++) outcomes.set(outcomeOf(id))
  expect(ids(outcomes)).toHaveLength(OUTCOMES)
  expect(ids(outcomes)[0]).toBe(3)
})

it('keeps the newest in bytes, also after one was replaced or deleted', () => {
  const outcomes = new Outcomes()
  const large = new Uint8Array(OUTCOME_BYTES / 4)
  for (const id of [1, 2, 2, 3]) outcomes.set(outcomeOf(id, large))
  outcomes.delete(outcomeOf(3).candidate.hash)
  for (const id of [4, 5]) outcomes.set(outcomeOf(id, large))
  expect(ids(outcomes)).toEqual([1, 2, 4, 5])
  outcomes.set(outcomeOf(6, large))
  expect(ids(outcomes)).toEqual([2, 4, 5, 6])
})

import { expect, it } from 'vitest'
import { SPONSOR_METHODS } from './methods.ts'

it('marks every method that changes the sponsor, and no other', () => {
  const marked = Object.fromEntries(SPONSOR_METHODS.map(({ name, control }) => [name, control]))
  expect(marked).toEqual({
    pocketchain_sponsorStatus: undefined,
    pocketchain_sponsorLedger: undefined,
    pocketchain_sponsorFault: 'always',
    pocketchain_sponsorPolicies: 'with-arguments',
    pocketchain_sponsorDeposit: 'always',
  })
})

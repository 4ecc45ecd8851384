import { createPocketchain } from 'pocketchain'
import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { rightsWarnings, verifierWarnings } from './signedrights.ts'

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const BOB = Address.from('0xb0b0000000000000000000000000000000000b0b')
const TOKEN = Address.from('0x70ce000000000000000000000000000000000000')
const PERMIT2 = Address.from('0x000000000022d473030f116ddee9f6b43ac78ba3')
const WETH = Address.from('0x4200000000000000000000000000000000000006')
const ALL = (2n ** 256n - 1n).toString()

/** The types do not matter: they were checked when the data was read. */
function typed(
  primaryType: string,
  message: TypedData['message'],
  domain: TypedData['domain'] = { name: 'Coin', verifyingContract: TOKEN },
): TypedData {
  return { types: {}, primaryType, domain, message }
}

const codes = (data: TypedData) => rightsWarnings(data, ALICE).map(({ code, level }) => `${level} ${code}`)

describe('rightsWarnings', () => {
  it('says nothing of data that gives nothing away', () => {
    expect(codes(typed('Mail', { to: BOB, value: '1' }))).toEqual([])
    for (const name of ['constructor', '__proto__', 'toString', '']) expect(codes(typed(name, {}))).toEqual([])
  })

  it('names who may take what by a permit', () => {
    const [warning] = rightsWarnings(typed('Permit', { owner: ALICE, spender: BOB, value: '5', nonce: 0, deadline: 1 }), ALICE)
    expect(warning).toEqual({
      code: 'signed-permit',
      level: 'caution',
      text: `Whoever holds this signature can let ${BOB} take “Coin” (0x70cE…0000) from the account, without a transaction of yours.`,
    })
  })

  it.each([
    ['EIP-2612', typed('Permit', { spender: BOB, value: ALL })],
    ['EIP-2612 in hex', typed('Permit', { spender: BOB, value: `0x${'f'.repeat(64)}` })],
    ['DAI', typed('Permit', { holder: ALICE, spender: BOB, allowed: true })],
    [
      'Permit2',
      typed(
        'PermitSingle',
        { details: { token: TOKEN, amount: (2n ** 160n - 1n).toString() }, spender: BOB },
        { verifyingContract: PERMIT2 },
      ),
    ],
    [
      'Permit2, among others',
      typed(
        'PermitBatch',
        {
          details: [
            { token: TOKEN, amount: '1' },
            { token: WETH, amount: ALL },
          ],
          spender: BOB,
        },
        { verifyingContract: PERMIT2 },
      ),
    ],
  ])('tells a permit without limit: %s', (_, data) => {
    expect(codes(data)).toEqual(['caution signed-permit', 'caution unlimited-allowance'])
  })

  it('tells Permit2 from what only looks like it', () => {
    const message = { permitted: { token: TOKEN, amount: '1' }, spender: BOB, nonce: 0, deadline: 1 }
    expect(codes(typed('PermitTransferFrom', message, { verifyingContract: PERMIT2 }))).toEqual(['caution signed-permit'])
    expect(codes(typed('PermitTransferFrom', message, { verifyingContract: BOB }))).toEqual([
      'caution signed-permit',
      'caution other-permit2',
    ])
  })

  it('tells transfers by signature', () => {
    expect(codes(typed('ReceiveWithAuthorization', { from: ALICE, to: BOB, value: 1 }))).toEqual(['caution signed-permit'])
  })

  it('tells orders, and those that are for nothing', () => {
    const paid = {
      offer: [{ token: TOKEN }],
      consideration: [
        { startAmount: '5', recipient: ALICE },
        { startAmount: '1', recipient: BOB },
      ],
    }
    expect(codes(typed('OrderComponents', paid))).toEqual(['caution signed-order'])
    for (const consideration of [[], [{ startAmount: '5', recipient: BOB }], [{ startAmount: '0', recipient: ALICE }]]) {
      expect(codes(typed('OrderComponents', { ...paid, consideration }))).toEqual(['caution signed-order', 'danger order-for-nothing'])
    }
    expect(codes(typed('BulkOrder', { tree: [] }))).toEqual(['danger signed-order'])
  })

  it.each(['PackedUserOperation', 'ForwardRequest', 'Delegation'])('tells that others may act as the account: %s', (type) => {
    expect(codes(typed(type, {}))).toEqual(['danger signed-action'])
  })

  it.each([
    ['nothing in it', {}],
    ['null', { spender: null, value: null, details: null, offer: null, consideration: null }],
    ['numbers that are none', { value: '-1', details: [{ amount: 1e300 }, 7, 'x', null], permitted: { amount: {} } }],
    ['lists instead of values', { spender: [BOB], value: [ALL], offer: { length: 3 }, consideration: 'all' }],
  ])('takes messages with %s', (_, message) => {
    for (const type of [
      'Permit',
      'PermitSingle',
      'PermitBatchTransferFrom',
      'OrderComponents',
      'TransferWithAuthorization',
      'Delegation',
    ]) {
      for (const domain of [{}, { name: 5, verifyingContract: {}, chainId: 'x' }]) {
        expect(codes(typed(type, message, domain)).length).toBeGreaterThan(0)
      }
    }
  })

  it('shows names of contracts without what hides in them', () => {
    const [warning] = rightsWarnings(typed('Permit', { spender: BOB }, { name: 'US\u202eD\n', verifyingContract: TOKEN }), ALICE)
    expect(warning?.text).toContain('“US\\u{202e}D\\u{a}”')
  })
})

describe('verifierWarnings', () => {
  it('tells a contract that is not there', async () => {
    await using node = await createPocketchain({ cadence: 'instant' })
    const chain = embeddedChain(node)
    const asked = async (domain: TypedData['domain']) => (await verifierWarnings(chain, typed('Mail', {}, domain))).map(({ code }) => code)
    expect(await asked({ verifyingContract: WETH })).toEqual([])
    expect(await asked({ verifyingContract: BOB })).toEqual(['verifier-without-code'])
    expect(await asked({})).toEqual([])
    expect(await asked({ verifyingContract: 'nowhere' })).toEqual([])
    const gone = { ...chain, rpc: { ...node, request: () => Promise.reject(new Error('gone')) } }
    expect(await verifierWarnings(gone, typed('Mail', {}, { verifyingContract: BOB }))).toEqual([])
  })
})

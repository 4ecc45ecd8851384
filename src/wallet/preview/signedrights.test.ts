import { createPocketchain } from 'pocketchain'
import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { NO_FACTS } from './permits.ts'
import type { PermitFacts } from './permits.ts'
import { rightsFacts, rightsWarnings, verifierWarnings } from './signedrights.ts'
import type { Token } from './tokens.ts'

const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
const BOB = Address.from('0xb0b0000000000000000000000000000000000b0b')
const SHOWN_BOB = '0xb0B0000000000000000000000000000000000B0B'
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
  it('gives no warning for data that grants no rights', () => {
    expect(codes(typed('Mail', { to: BOB, value: '1' }))).toEqual([])
    for (const name of ['constructor', '__proto__', 'toString', '']) expect(codes(typed(name, {}))).toEqual([])
  })

  it('names spender and amount of a permit', () => {
    const [warning] = rightsWarnings(typed('Permit', { owner: ALICE, spender: BOB, value: '5', nonce: 0, deadline: 2_000_000_000 }), ALICE)
    expect(warning).toEqual({
      code: 'signed-permit',
      level: 'caution',
      text: `Anyone who holds this signature can, until 2033-05-18 03:33 UTC, let ${SHOWN_BOB} take 5 units of “Coin” (0x70cE…0000) from the account, without a transaction of yours.`,
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
    ['EIP-2612, in upper-case hex', typed('Permit', { spender: BOB, value: `0X${'F'.repeat(64)}` })],
    ['EIP-2612, just below what counts as all', typed('Permit', { spender: BOB, value: (2n ** 255n - 1n).toString() })],
    ['EIP-2612, more than any token has', typed('Permit', { spender: BOB, value: (2n ** 128n).toString() })],
    ['EIP-2612, negative', typed('Permit', { spender: BOB, value: '-1' })],
    [
      'EIP-2612, fields in another order',
      typed('Permit', { deadline: '0xffffffff', value: ALL, nonce: '0x0', spender: BOB, owner: ALICE }),
    ],
    ['DAI, as text', typed('Permit', { expiry: '0', allowed: 'true', spender: BOB })],
    ...['PermitTransferFrom', 'PermitWitnessTransferFrom'].map(
      (type) => [type, typed(type, { permitted: { amount: ALL, token: TOKEN }, spender: BOB }, { verifyingContract: PERMIT2 })] as const,
    ),
    [
      'PermitBatchTransferFrom',
      typed(
        'PermitBatchTransferFrom',
        {
          permitted: [
            { token: TOKEN, amount: 2 ** 40 },
            { token: TOKEN, amount: ALL },
          ],
          spender: BOB,
        },
        { verifyingContract: PERMIT2 },
      ),
    ],
    ['EIP-3009', typed('TransferWithAuthorization', { from: ALICE, to: BOB, value: ALL })],
    [
      'in the frame of a smart account (ERC-7739)',
      {
        ...typed('TypedDataSign', { contents: { spender: BOB, value: ALL }, name: 'Account' }),
        types: { TypedDataSign: [{ name: 'contents', type: 'Permit' }] },
      },
    ],
  ] as const)('warns of an unlimited permit: %s', (_, data) => {
    expect(codes(data)).toEqual(['caution signed-permit', 'danger unlimited-allowance'])
  })

  it('names an account of the wallet', () => {
    const [, , warning] = rightsWarnings(typed('Permit', { spender: BOB, value: ALL }), ALICE, { ...NO_FACTS, isSpenderEoa: true }, [
      { address: BOB, name: 'Account 2' },
    ])
    expect(warning?.text).toBe(
      'Your account 2 (0xb0B0…0B0B) is not a contract but an account with a key: its holder could take the tokens.',
    )
  })

  it('names the token with an unlimited amount', () => {
    const [, warning] = rightsWarnings(typed('Permit', { spender: BOB, value: ALL }), ALICE)
    expect(warning?.text).toBe(`${SHOWN_BOB} may take all “Coin” (0x70cE…0000) that the account has and will ever have.`)
  })

  it.each([
    ['no amount', { spender: BOB }],
    ['an amount that is none', { spender: BOB, value: {} }],
    ['an amount of more than 256 bits', { spender: BOB, value: '9'.repeat(90) }],
    ['an amount under another name', { spender: BOB, amount: '5' }],
    ['DAI, neither yes nor no', { spender: BOB, allowed: 1 }],
  ])('warns of a permit without an amount: %s', (_, message) => {
    expect(codes(typed('Permit', message))).toEqual(['caution signed-permit', 'danger unreadable-permit'])
  })

  it('warns of a permit without a spender', () => {
    for (const spender of [undefined, null, '', 'bob.eth', `0x${'b'.repeat(39)}`, [BOB]]) {
      expect(codes(typed('Permit', { spender, value: '5' }))).toEqual(['caution signed-permit', 'danger unknown-spender'])
    }
  })

  describe('with data from the chain', () => {
    const facts = {
      ...NO_FACTS,
      isSpenderEoa: true,
      tokens: new Map([[TOKEN, { address: TOKEN, symbol: 'COIN', decimals: 2, isCollection: false }]]),
    }
    const known = (data: TypedData, more: Partial<PermitFacts> = {}) => rightsWarnings(data, ALICE, { ...facts, ...more })
    const levels = (data: TypedData, more: Partial<PermitFacts> = {}) => known(data, more).map(({ code, level }) => `${level} ${code}`)
    const single = { details: { token: TOKEN, amount: '5', expiration: 2_000_000_000, nonce: 0 }, spender: BOB, sigDeadline: 1 }

    it.each([
      ['EIP-2612', typed('Permit', { spender: BOB, value: '5' })],
      ['EIP-2612, the spender in upper case', typed('Permit', { spender: `0x${BOB.slice(2).toUpperCase()}`, value: '5' })],
      ['ERC-721', typed('Permit', { spender: BOB, tokenId: '7', nonce: 0, deadline: 1 })],
      ['PermitSingle', typed('PermitSingle', single, { verifyingContract: PERMIT2 })],
      ['PermitBatch', typed('PermitBatch', { ...single, details: [single.details] }, { verifyingContract: PERMIT2 })],
      ['PermitTransferFrom', typed('PermitTransferFrom', { permitted: single.details, spender: BOB }, { verifyingContract: PERMIT2 })],
      ['EIP-3009', typed('ReceiveWithAuthorization', { from: ALICE, to: BOB, value: '5', validBefore: 1 })],
    ])('warns of a spender that is not a contract: %s', (_, data) => {
      expect(levels(data)).toEqual(['caution signed-permit', 'danger spender-without-code'])
    })

    it('gives no such warning for a revocation', () => {
      expect(levels(typed('Permit', { spender: BOB, value: '0x0' }))).toEqual(['caution signed-permit'])
      expect(levels(typed('Permit', { spender: BOB, allowed: false }))).toEqual(['caution signed-permit'])
      expect(levels(typed('Permit', { spender: Address.zero, value: '5' }))).toEqual(['caution signed-permit'])
    })

    it('treats an amount above the total supply as unlimited', () => {
      const supplies = new Map([[TOKEN, 500n]])
      const permit = (value: string) => levels(typed('Permit', { spender: BOB, value }), { supplies, isSpenderEoa: false })
      expect(permit('500')).toEqual(['caution signed-permit'])
      expect(permit('501')).toEqual(['caution signed-permit', 'danger unlimited-allowance'])
    })

    it('formats amounts and dates', () => {
      const texts = (data: TypedData): string => known(data)[0]?.text ?? ''
      expect(texts(typed('Permit', { spender: BOB, value: '123456', deadline: '2000000000' }))).toContain(
        `can, until 2033-05-18 03:33 UTC, let ${SHOWN_BOB} take 1,234.56 COIN of “Coin” (0x70cE…0000) from the account, without`,
      )
      expect(texts(typed('Permit', { spender: BOB, value: ALL, deadline: ALL }))).toContain(
        `can, at any time, let ${SHOWN_BOB} take all “Coin” (0x70cE…0000) from the account, without`,
      )
      expect(texts(typed('Permit', { spender: BOB, allowed: true, expiry: 0 }))).toContain('can, at any time, let')
      expect(texts(typed('PermitSingle', single, { verifyingContract: PERMIT2 }))).toContain(
        'take 0.05 COIN of 0x70cE…0000 from the account until 2033-05-18 03:33 UTC, without',
      )
      expect(texts(typed('Permit', { spender: BOB, tokenId: '7' }))).toContain('take #7 of “Coin” (0x70cE…0000) from')
      const worded = (value: string, token: Omit<Token, 'address' | 'isCollection'>) => {
        const tokens = new Map([[TOKEN, { address: TOKEN, isCollection: false, ...token }]])
        return known(typed('Permit', { spender: BOB, value }), { tokens })[0]?.text
      }
      expect(worded('1234567', { symbol: 'COIN', decimals: null })).toContain('take 1,234,567 units of “Coin” (0x70cE…0000) from')
      expect(worded('1234567', { symbol: null, decimals: 2 })).toContain('take 12,345.67 of “Coin” (0x70cE…0000) from')
      const many = { details: Array(5).fill(single.details) as unknown[], spender: BOB }
      expect(texts(typed('PermitBatch', many, { verifyingContract: PERMIT2 }))).toContain('0x70cE…0000 and 2 more from')
    })
  })

  it.each([
    ['a call', '0', []],
    ['a call, as a number', 0, []],
    ['a call, in hex', '0x00', []],
    ['a delegatecall', '1', ['danger safe-delegatecall']],
    ['a delegatecall, as a number', 1, ['danger safe-delegatecall']],
    ['a delegatecall, in hex', '0X01', ['danger safe-delegatecall']],
    ['a delegatecall, padded', '01', ['danger safe-delegatecall']],
    ['what is neither', 2, ['danger safe-delegatecall']],
    ['what is no number', true, ['danger safe-delegatecall']],
    ['nothing', undefined, ['danger safe-delegatecall']],
  ])('warns of a transaction of a Safe: %s', (_, operation, more) => {
    const safeTx = { data: '0x', operation, nonce: 1, to: BOB, value: '0', refundReceiver: Address.zero }
    expect(codes(typed('SafeTx', safeTx, { verifyingContract: TOKEN, chainId: 1 }))).toEqual(['caution signed-safe', ...more])
  })

  it('describes a Safe transaction, and a message that the Safe signs', () => {
    const safeTx = { to: BOB, value: '0x1bc16d674ec80000', data: '0x', operation: 1 }
    expect(rightsWarnings(typed('SafeTx', safeTx, { verifyingContract: TOKEN }), ALICE).map(({ text }) => text)).toEqual([
      `Anyone who holds this signature has the account’s consent that the Safe 0x70cE…0000 calls ${SHOWN_BOB} with 2 of the chain’s currency.`,
      `The Safe 0x70cE…0000 would run the code at ${SHOWN_BOB} as its own (delegatecall): that code can take everything it has and change its owners.`,
    ])
    expect(codes(typed('SafeMessage', { message: '0x' }))).toEqual(['caution signed-safe'])
  })

  it('distinguishes Permit2 from look-alikes', () => {
    const message = { permitted: { token: TOKEN, amount: '1' }, spender: BOB, nonce: 0, deadline: 1 }
    expect(codes(typed('PermitTransferFrom', message, { verifyingContract: PERMIT2 }))).toEqual(['caution signed-permit'])
    expect(codes(typed('PermitTransferFrom', message, { verifyingContract: BOB }))).toEqual([
      'caution signed-permit',
      'caution other-permit2',
    ])
  })

  it('warns of transfers by signature', () => {
    const data = typed('ReceiveWithAuthorization', { from: ALICE, to: BOB, value: 1, validBefore: 2_000_000_000 })
    expect(rightsWarnings(data, ALICE)).toMatchObject([{ code: 'signed-permit', level: 'caution' }])
    expect(rightsWarnings(data, ALICE, { ...NO_FACTS, isSpenderEoa: true }).map(({ text }) => text)).toEqual([
      `Anyone who holds this signature can, until 2033-05-18 03:33 UTC, send 1 units of “Coin” (0x70cE…0000) of the account to ${SHOWN_BOB}, without a transaction of yours.`,
      `${SHOWN_BOB} is not a contract but an account with a key: its holder receives the tokens.`,
    ])
  })

  it('warns of orders, and of orders without consideration', () => {
    const paid = {
      offer: [{ token: TOKEN }],
      consideration: [
        { startAmount: '5', endAmount: '5', recipient: ALICE },
        { startAmount: '1', endAmount: '1', recipient: BOB },
      ],
    }
    expect(codes(typed('OrderComponents', paid))).toEqual(['caution signed-order'])
    for (const consideration of [
      [],
      [{ startAmount: '5', recipient: BOB }],
      [{ startAmount: '0', endAmount: '5', recipient: ALICE }],
      [{ startAmount: '5', endAmount: '0', recipient: ALICE }],
    ]) {
      expect(codes(typed('OrderComponents', { ...paid, consideration }))).toEqual(['caution signed-order', 'danger order-for-nothing'])
    }
    expect(codes(typed('BulkOrder', { tree: [] }))).toEqual(['danger signed-order'])
  })

  it('warns of orders of CoW Protocol, and of those without a price for the account', () => {
    const sold = { sellToken: TOKEN, buyToken: WETH, receiver: Address.zero, sellAmount: '5', buyAmount: '3', kind: 'sell' }
    expect(rightsWarnings(typed('Order', sold), ALICE)).toEqual([
      {
        code: 'signed-order',
        level: 'caution',
        text: 'Anyone who holds this signature can take 5 units of 0x70cE…0000 from the account for 3 units of 0x4200…0006.',
      },
    ])
    expect(codes(typed('Order', { ...sold, receiver: ALICE }))).toEqual(['caution signed-order'])
    for (const change of [{ receiver: BOB }, { buyAmount: '0' }, { buyAmount: 'x' }])
      expect(codes(typed('Order', { ...sold, ...change }))).toEqual(['caution signed-order', 'danger order-for-nothing'])
    expect(codes(typed('Order', { id: 1 }))).toEqual([]) // the name is not one of a standard
  })

  it('warns of a delegation of credit (Aave)', () => {
    const delegation = { delegatee: BOB, value: '5', nonce: 0, deadline: 1 }
    expect(rightsWarnings(typed('DelegationWithSig', delegation), ALICE)).toEqual([
      {
        code: 'signed-credit',
        level: 'danger',
        text: `Anyone who holds this signature can let ${SHOWN_BOB} borrow through “Coin” (0x70cE…0000), which the account has to repay.`,
      },
    ])
    expect(codes(typed('DelegationWithSig', { ...delegation, value: '0' }))).toEqual([])
  })

  it('warns of a relayer (Balancer)', () => {
    expect(codes(typed('SetRelayerApproval', { calldata: '0x', sender: ALICE, nonce: 0, deadline: 1 }))).toEqual(['danger signed-action'])
  })

  it.each([
    ['operator', { owner: ALICE, operator: BOB, approved: true, nonce: 0, deadline: 1 }],
    ['spender', { owner: ALICE, spender: BOB, _approved: true, nonce: 0, deadline: 1 }],
    ['spender only', { owner: ALICE, spender: BOB, nonce: 0, deadline: 1 }],
  ])('warns of a permit for a whole collection: %s', (_, message) => {
    expect(rightsWarnings(typed('PermitForAll', message), ALICE)).toEqual([
      {
        code: 'approval-for-all',
        level: 'danger',
        text: `Anyone who holds this signature can let ${SHOWN_BOB} take everything of “Coin” (0x70cE…0000) that the account has and will ever have.`,
      },
    ])
    if ('approved' in message) expect(codes(typed('PermitForAll', { ...message, approved: false }))).toEqual([])
    if ('_approved' in message) expect(codes(typed('PermitForAll', { ...message, _approved: false }))).toEqual([])
  })

  it('warns of a Safe transaction that refunds its gas, by which a recipient can take everything', () => {
    const safeTx = {
      to: BOB,
      value: '0',
      data: '0x',
      operation: 0,
      baseGas: '1000000',
      gasPrice: '1',
      gasToken: TOKEN,
      refundReceiver: BOB,
    }
    const domain = { verifyingContract: TOKEN }
    expect(codes(typed('SafeTx', safeTx, domain))).toEqual(['caution signed-safe', 'danger safe-refund'])
    expect(codes(typed('SafeTx', { ...safeTx, gasPrice: 'x' }, domain))).toEqual(['caution signed-safe', 'danger safe-refund'])
    expect(codes(typed('SafeTx', { ...safeTx, gasPrice: '0' }, domain))).toEqual(['caution signed-safe'])
    expect(rightsWarnings(typed('SafeTx', safeTx, domain), ALICE)[1]?.text).toBe(
      `The Safe 0x70cE…0000 would also pay ${SHOWN_BOB} for gas, 1,000,000 units of 0x70cE…0000 or more, at a price that the data sets.`,
    )
  })

  it.each([
    ['Compound', { owner: ALICE, manager: BOB, isAllowed: true, nonce: 0, expiry: 1 }],
    ['Morpho', { authorizer: ALICE, authorized: BOB, isAuthorized: true, nonce: 0, deadline: 1 }],
    ['an unknown contract', {}],
  ])('warns of an authorization to manage a position: %s', (_, message) => {
    expect(codes(typed('Authorization', message, { verifyingContract: TOKEN }))).toEqual(['danger signed-authorization'])
  })

  it('does not warn of an authorization that is taken back', () => {
    expect(codes(typed('Authorization', { manager: BOB, isAllowed: false }))).toEqual([])
    expect(codes(typed('Authorization', { authorized: BOB, isAuthorized: false }))).toEqual([])
  })

  it('describes a delegation of votes, which lets nobody act as the account', () => {
    const votes = typed('Delegation', { delegatee: BOB, nonce: 0, expiry: 1 })
    expect(rightsWarnings(votes, ALICE)).toEqual([
      { code: 'signed-votes', level: 'caution', text: `Anyone who holds this signature can give the account’s votes to ${SHOWN_BOB}.` },
    ])
    expect(codes(typed('Delegation', { delegatee: BOB, delegate: BOB, authority: '0x' }))).toEqual(['danger signed-action'])
  })

  it.each(['PackedUserOperation', 'UserOperation', 'ForwardRequest', 'MetaTransaction', 'Delegation'])(
    'warns that others may act as the account: %s',
    (type) => {
      expect(codes(typed(type, {}))).toEqual(['danger signed-action'])
    },
  )

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

  it('shows names of contracts without invisible characters', () => {
    const [warning] = rightsWarnings(typed('Permit', { spender: BOB }, { name: 'US\u202eD\n', verifyingContract: TOKEN }), ALICE)
    expect(warning?.text).toContain('“US\\u{202e}D\\u{a}”')
  })
})

describe('verifierWarnings', () => {
  it('warns of a verifying contract without code', async () => {
    await using node = await createPocketchain({ cadence: 'instant' })
    const chain = embeddedChain(node)
    const sent = async (domain: TypedData['domain']) => (await verifierWarnings(chain, typed('Mail', {}, domain))).map(({ code }) => code)
    expect(await sent({ verifyingContract: WETH })).toEqual([])
    expect(await sent({ verifyingContract: BOB })).toEqual(['verifier-without-code'])
    expect(await sent({})).toEqual([])
    expect(await sent({ verifyingContract: 'nowhere' })).toEqual([])
    const gone = { ...chain, rpc: { ...node, request: () => Promise.reject(new Error('gone')) } }
    expect(await verifierWarnings(gone, typed('Mail', {}, { verifyingContract: BOB }))).toEqual([])
  })
})

describe('rightsFacts', () => {
  it('reads spender and token from the chain, and never fails', async () => {
    await using node = await createPocketchain({ cadence: 'instant' })
    const chain = embeddedChain(node)
    const delegated = Address.from(`0x${'7702'.repeat(10)}`)
    await node.request({ method: 'anvil_setCode', params: [delegated, `0xef0100${WETH.slice(2)}`] })
    const [whale] = node.accounts
    await node.request({
      method: 'eth_sendTransaction',
      params: [{ from: whale?.address, to: WETH, value: '0x5' }],
    })
    const factsOf = (spender: Address) => rightsFacts(chain, typed('Permit', { spender, value: '1' }, { verifyingContract: WETH }))
    expect(await factsOf(BOB)).toEqual({
      isSpenderEoa: true,
      tokens: new Map([[WETH, { address: WETH, symbol: 'WETH', decimals: 18, isCollection: false }]]),
      supplies: new Map([[WETH, 5n]]),
    })
    expect(await factsOf(delegated)).toMatchObject({ isSpenderEoa: true })
    expect(await factsOf(PERMIT2)).toMatchObject({ isSpenderEoa: false })
    expect(await rightsFacts(chain, typed('Mail', {}))).toEqual(NO_FACTS)
    const gone = { ...chain, rpc: { ...node, request: () => Promise.reject(new Error('gone')) } }
    expect(await rightsFacts(gone, typed('Permit', { spender: BOB, value: '1' }))).toEqual(NO_FACTS)
  })
})

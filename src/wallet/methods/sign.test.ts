import { Signature as EthersSignature, verifyMessage, verifyTypedData } from 'ethers'
import { describe, expect, it } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { SIGNED_BYTES } from '../limits.ts'
import type { Question } from '../question.ts'
import type { Wallet } from '../wallet.ts'
import { ORIGIN, connected, leavingAtFirstRead, openWallet, otherChain, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten

type SignQuestion = Extract<Question, { kind: 'sign' }>

async function approveNext(wallet: Wallet): Promise<SignQuestion> {
  const { question, approve } = await wallet.approvals.next()
  approve()
  if (question.kind !== 'sign') throw new Error(`unexpected question: ${question.kind}`)
  return question
}

/** Connects, calls personal_sign, and returns its question and result. */
async function signing(message: unknown, signer: unknown = alice, origin = ORIGIN) {
  const { wallet, errors } = openWallet(node)
  const provider = await connected(wallet, origin)
  const sent = provider.request({ method: 'personal_sign', params: [message, signer] })
  const question = await approveNext(wallet)
  return { question, signature: (await sent) as string, errors }
}

describe('personal_ecRecover', () => {
  const recover = (message: unknown, signature: unknown) =>
    openWallet(node)
      .wallet.provider('https://verifier.example')
      .request({ method: 'personal_ecRecover', params: [message, signature] })

  it('returns the signer, also to an origin that is not connected', async () => {
    const { signature } = await signing('to the letter')
    expect(await recover('to the letter', signature)).toBe(alice)
    expect(await recover('to the better', signature)).not.toBe(alice)
  })

  it('accepts a y parity as v', async () => {
    const { signature } = await signing('0xdeadbeef')
    const yParity = Number(`0x${signature.slice(-2)}`) - 27
    expect(await recover('0xdeadbeef', `${signature.slice(0, -2)}0${yParity}`)).toBe(alice)
  })

  it.each([
    ['too short', '0x1234'],
    ['of another v', `0x${'11'.repeat(64)}1d`],
    ['of no key', `0x${'00'.repeat(64)}1b`],
    ['no hex', 'signature'],
  ])('of a signature that is %s is -32602', async (_, signature) => {
    expect(await refusal(recover('0xdeadbeef', signature))).toMatchObject({ code: -32602 })
  })
})

describe('personal_sign', () => {
  it('signs hex as bytes', async () => {
    const { question, signature } = await signing('0xdeadbeef')
    expect(verifyMessage(Hex.toBytes('0xdeadbeef'), signature).toLowerCase()).toBe(alice)
    expect(question).toMatchObject({
      scheme: 'personal_sign',
      account: alice,
      message: '0xdeadbeef',
      text: null,
      typedData: null,
      origin: ORIGIN,
    })
  })

  it('signs anything else as UTF-8', async () => {
    const { question, signature } = await signing('Grüße 👋')
    expect(verifyMessage('Grüße 👋', signature).toLowerCase()).toBe(alice)
    expect(question).toMatchObject({ text: 'Grüße 👋', warnings: [] })
  })

  it('accepts message and address in either order, and an address as the message', async () => {
    expect(verifyMessage('hello', (await signing(bob, 'hello')).signature).toLowerCase()).toBe(bob)
    const { signature } = await signing(bob, alice)
    expect(verifyMessage(Address.toBytes(bob), signature).toLowerCase()).toBe(alice)
  })

  it('returns a low s and v 27 or 28', async () => {
    const { signature } = await signing('hello')
    const { v, s } = EthersSignature.from(signature)
    expect([27, 28]).toContain(v)
    expect(BigInt(s)).toBeLessThan(1n << 255n)
  })

  it('is 4001 if it is rejected, and signs nothing', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const sent = refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))
    ;(await wallet.approvals.next()).reject()
    expect(await sent).toMatchObject({ code: 4001, data: { reason: 'rejected' } })
  })

  it.each([
    ['before connecting', [], '0x00', 4100, 'not-connected'],
    ['for an account that is not permitted', [bob], '0x00', 4100, 'account-not-permitted'],
    ['of half a byte', [alice], '0x0', -32602, undefined],
    ['above SIGNED_BYTES', [alice], `0x${'00'.repeat(SIGNED_BYTES + 1)}`, -32602, 'message-too-large'],
  ] as const)('%s is rejected without a question', async (_, accounts, message, code, reason) => {
    const { wallet } = openWallet(node)
    const provider = accounts.length === 0 ? wallet.provider(ORIGIN) : await connected(wallet, ORIGIN, { accounts })
    const refused = await refusal(provider.request({ method: 'personal_sign', params: [message, alice] }))
    expect(refused.code).toBe(code)
    expect((refused.data as { reason?: string } | undefined)?.reason).toBe(reason)
    expect(wallet.approvals.pending).toEqual([])
  })

  it('with an invalid address is -32602', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    expect(await refusal(provider.request({ method: 'personal_sign', params: ['hello', '0x12'] }))).toMatchObject({ code: -32602 })
    expect(await refusal(provider.request({ method: 'personal_sign', params: [1, alice] }))).toMatchObject({ code: -32602 })
  })

  it('signs nothing if the permission was revoked while the question waited', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const sent = refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))
    const { approve } = await wallet.approvals.next()
    approve()
    wallet.sites.disconnect(ORIGIN)
    expect(await sent).toMatchObject({ code: 4100 })
  })

  it('is bound to no chain: a switch before the answer does not refuse it', async () => {
    const { wallet } = openWallet(node, { further: [otherChain(node)] })
    const provider = await connected(wallet)
    const sent = provider.request({ method: 'personal_sign', params: ['0x', alice] })
    const { approve } = await wallet.approvals.next()
    wallet.sites.selectChain(ORIGIN, 777)
    approve()
    expect(await sent).toMatch(/^0x[0-9a-f]{130}$/)
  })

  it('with a dev account is rejected on a real chain', async () => {
    const mainnet = { ...embeddedChain(node), chainId: 1, name: 'Ethereum', isEmbedded: false }
    const { wallet } = openWallet(node, { further: [mainnet] })
    const provider = await connected(wallet)
    wallet.sites.selectChain(ORIGIN, 1)
    const sent = provider.request({ method: 'personal_sign', params: ['0x', alice] })
    expect(await refusal(sent)).toMatchObject({ code: 4100, data: { reason: 'dev-account-on-real-chain' } })
    expect(wallet.approvals.pending).toEqual([])
  })
})

describe('warnings of personal_sign', () => {
  const codes = ({ warnings }: SignQuestion) => warnings.map(({ code, level }) => `${level} ${code}`)
  const signIn = (domain: string, account = alice, scheme = 'https') =>
    `${domain} wants you to sign in with your Ethereum account:\n${account}\n\nURI: ${scheme}://${domain}`

  it('name 32 bytes that may be a hash, and other bytes that are not readable', async () => {
    expect(codes((await signing(`0x${'ab'.repeat(32)}`)).question)).toEqual(['caution opaque-message'])
    expect(codes((await signing('0x00010203')).question)).toEqual(['caution unreadable-message'])
  })

  it('name invisible characters and ones that reverse the text', async () => {
    const { question } = await signing('pay \u202e001 ETH')
    expect(codes(question)).toEqual(['caution hidden-characters'])
    expect(question.text).toBe('pay \u202e001 ETH')
  })

  it('name a sign-in at another origin', async () => {
    expect(codes((await signing(signIn('app.example'))).question)).toEqual([])
    expect(codes((await signing(signIn('bank.example'))).question)).toEqual(['danger sign-in-domain', 'caution sign-in-uri'])
    expect(codes((await signing(signIn('localhost:3000', alice, 'http'), alice, 'http://localhost:3000')).question)).toEqual([])
    expect(codes((await signing(signIn('localhost:3001'), alice, 'http://localhost:3000')).question)).toEqual([
      'danger sign-in-domain',
      'caution sign-in-uri',
    ])
    expect(codes((await signing(signIn('anything.example'), alice, 'local')).question)).toEqual([])
  })

  it('name a sign-in for another chain, and an expired or future one', async () => {
    const terms = (chainId: number, from: number, until: number) =>
      `${signIn('app.example')}\nVersion: 1\nChain ID: ${chainId}\nExpiration Time: ${new Date(until).toISOString()}\nNot Before: ${new Date(from).toISOString()}`
    const [past, future] = [Date.now() - 60_000, Date.now() + 3_600_000]
    expect(codes((await signing(terms(31_337, past, future))).question)).toEqual([])
    expect(codes((await signing(terms(1, past, future))).question)).toEqual(['caution sign-in-chain'])
    expect(codes((await signing(terms(31_337, past, past))).question)).toEqual(['caution sign-in-expired'])
    expect(codes((await signing(terms(31_337, future, future))).question)).toEqual(['caution sign-in-not-yet'])
  })

  it('name a sign-in message with a deviating form', async () => {
    for (const before of ['\n', '\r\n', ' ', 'Hello!\n', '\ufeff', '\x0b']) {
      const { question } = await signing(`${before}${signIn('bank.example')}`)
      expect(codes(question)).toContain('danger sign-in-domain')
      expect(codes(question)).toContain('caution sign-in-form')
    }
  })

  it('name text behind a large gap, also in typed data', async () => {
    const { question } = await signing(`Welcome${'\n'.repeat(200_000)}I owe you everything`)
    expect(codes(question)).toEqual(['caution hidden-text'])
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const note = {
      types: { Note: [{ name: 'text', type: 'string' }] },
      primaryType: 'Note',
      domain: {},
      message: { text: ' '.repeat(999) },
    }
    const sent = provider.request({ method: 'eth_signTypedData_v4', params: [alice, note] })
    expect(codes(await approveNext(wallet))).toEqual(['caution hidden-text'])
    await sent
  })

  it('name a sign-in of another account', async () => {
    expect(codes((await signing(signIn('app.example', bob))).question)).toEqual(['caution sign-in-account'])
  })
})

describe('eth_signTypedData_v4', () => {
  const types = {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person[]' },
      { name: 'amount', type: 'uint256' },
    ],
  }
  const DOMAIN = [
    { name: 'name', type: 'string' },
    { name: 'version', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'verifyingContract', type: 'address' },
  ]
  const domain = { name: 'Mail', version: '1', chainId: 31_337, verifyingContract: '0x4200000000000000000000000000000000000006' }
  const message = { from: { name: 'Alice', wallet: alice }, to: [{ name: 'Bob', wallet: bob }], amount: '1000000000000000000000' }
  const data = { types: { EIP712Domain: DOMAIN, ...types }, primaryType: 'Mail', domain, message }

  async function sent(given: unknown, signer: unknown = alice) {
    const { wallet, errors } = openWallet(node)
    const provider = await connected(wallet)
    const answer = provider.request({ method: 'eth_signTypedData_v4', params: [signer, given] })
    return { wallet, answer, errors }
  }

  it.each([
    ['an object', data],
    ['JSON text', JSON.stringify(data)],
    ['an object with bigints and undefined keys', { ...data, message: { ...message, amount: 10n ** 21n, note: undefined } }],
  ])('signs %s', async (_, given) => {
    const { wallet, answer } = await sent(given)
    const question = await approveNext(wallet)
    expect(verifyTypedData(domain, types, message, (await answer) as string).toLowerCase()).toBe(alice)
    expect(question).toMatchObject({ scheme: 'eth_signTypedData_v4', message: null, text: null, typedData: data, warnings: [] })
    expect(JSON.parse(JSON.stringify(question))).toEqual(question)
  })

  it.each([
    ['4100: if the origin was disconnected', 4100, (wallet: Wallet) => wallet.sites.disconnect(ORIGIN)],
    ['-32602: if the origin left the chain', -32602, (wallet: Wallet) => wallet.sites.selectChain(ORIGIN, 777)],
  ])('%s while the wallet read the chain, without a question', async (_, code, leave) => {
    const { provider, questions } = leavingAtFirstRead(node, leave)
    expect(await refusal(provider.request({ method: 'eth_signTypedData_v4', params: [alice, data] }))).toMatchObject({ code })
    expect(questions).toEqual([])
  })

  it('signs nothing if the origin left the chain after the approval', async () => {
    const { wallet } = openWallet(node, { further: [otherChain(node)] })
    const provider = await connected(wallet)
    const sent = refusal(provider.request({ method: 'eth_signTypedData_v4', params: [alice, data] }))
    const { approve } = await wallet.approvals.next()
    approve()
    wallet.sites.selectChain(ORIGIN, 777)
    expect(await sent).toMatchObject({ code: -32602, data: { reason: 'chain-mismatch', selected: '0x309' } })
  })

  it('shows only signed fields', async () => {
    const padded = { ...message, total: 'nothing at all', from: { ...message.from, note: 'trust me' } }
    const { wallet, answer } = await sent({ ...data, message: padded, extra: 1 })
    const question = await approveNext(wallet)
    expect(question.typedData).toEqual(data)
    expect(verifyTypedData(domain, types, message, (await answer) as string).toLowerCase()).toBe(alice)
  })

  it('shows only signed fields of the domain, and warns if the chain is not signed', async () => {
    const partly = { ...types, EIP712Domain: [{ name: 'verifyingContract', type: 'address' }] }
    const { wallet, answer } = await sent({ ...data, types: partly })
    const question = await approveNext(wallet)
    const { verifyingContract } = domain
    expect(question.typedData).toEqual({ ...data, types: partly, domain: { verifyingContract } })
    expect(question.warnings).toMatchObject([{ code: 'every-chain' }])
    expect(verifyTypedData({ verifyingContract }, types, message, (await answer) as string).toLowerCase()).toBe(alice)
    const lone = await sent({ ...data, primaryType: 'EIP712Domain' })
    expect(await approveNext(lone.wallet)).toMatchObject({ typedData: { domain, message: {} } })
    await lone.answer
  })

  it.each([
    ['a number', 1],
    ['decimal text', '1'],
    ['a quantity', '0x1'],
  ])('of another chain, named by %s, is -32602 that names both', async (_, chainId) => {
    const { wallet, answer } = await sent({ ...data, domain: { ...domain, chainId } })
    expect(await refusal(answer)).toMatchObject({ code: -32602, data: { reason: 'chain-mismatch', requested: '0x1', selected: '0x7a69' } })
    expect(wallet.approvals.pending).toEqual([])
  })

  it.each([
    ['text that is no JSON', 'hello'],
    ['data that nests too deep', { ...data, domain: {}, types: { Mail: [{ name: 'in', type: 'Mail[]' }] }, message: nested(500) }],
    [
      'text that nests too deep',
      `{"types":{"A":[{"name":"n","type":"A"}]},"primaryType":"A","domain":{},"message":${'{"n":'.repeat(9_000)}null${'}'.repeat(9_000)}}`,
    ],
    ['a cyclic object', circular()],
    ['a type name that encodes as two types', { ...data, types: { ...types, 'Mail(uint8 x)Person': [] } }],
    [
      'a member that is spelled like two',
      { ...data, types: { ...types, Mail: [{ name: 'a,uint8 b', type: 'uint8' }] }, message: { 'a,uint8 b': 1 } },
    ],
    ['null', null],
    ['no types', { primaryType: 'Mail', domain, message }],
    ['a domain with members but without its type', { ...data, types }],
    ['an unknown type', { ...data, primaryType: 'Letter' }],
    ['a value that does not fit its type', { ...data, message: { ...message, amount: '-1' } }],
    ['an invalid chain id', { ...data, domain: { ...domain, chainId: 'mainnet' } }],
    ['data above SIGNED_BYTES', { ...data, message: { ...message, from: { name: 'x'.repeat(SIGNED_BYTES), wallet: alice } } }],
  ])('of %s is -32602 without a question', async (_, given) => {
    const { wallet, answer, errors } = await sent(given)
    expect(await refusal(answer)).toMatchObject({ code: -32602 })
    expect(wallet.approvals.pending).toEqual([])
    expect(errors).toEqual([])
  })

  it('says which members of the domain wallets disagree on if its type is missing, and signs an empty domain without it', async () => {
    const { answer } = await sent({ ...data, types })
    expect((await refusal(answer)).message).toMatch(
      /types lacks EIP712Domain.*MetaMask leaves out name, version, chainId, verifyingContract of the domain/,
    )
    const empty = { ...data, types, domain: { name: null, note: 'not a member' } }
    const { wallet, answer: signed } = await sent(empty)
    await approveNext(wallet)
    expect(verifyTypedData({}, types, message, (await signed) as string).toLowerCase()).toBe(alice)
  })

  it('of eth_signTypedData_v3 is that of v4 without arrays and absent structs, and -32602 with one', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const ask = (method: string, given: unknown) => provider.request({ method, params: [alice, given] })
    expect(await refusal(ask('eth_signTypedData_v3', data))).toMatchObject({
      code: -32602,
      message: expect.stringContaining('has the array "to"'),
    })
    const Letter = [
      { name: 'from', type: 'Person' },
      { name: 'reply', type: 'Letter' },
    ]
    const { Person } = types
    const letter = { ...data, types: { EIP712Domain: DOMAIN, Person, Letter }, primaryType: 'Letter', message: { from: message.from } }
    expect(await refusal(ask('eth_signTypedData_v3', letter))).toMatchObject({
      code: -32602,
      message: expect.stringContaining('message.reply is missing (Letter), which eth_signTypedData_v3 signs with another hash'),
    })
    const flat = { types: { EIP712Domain: DOMAIN, Person }, primaryType: 'Person', domain, message: message.from }
    const signatures: unknown[] = []
    for (const method of ['eth_signTypedData_v3', 'eth_signTypedData_v4']) {
      const answer = ask(method, flat)
      expect(await approveNext(wallet)).toMatchObject({ method, scheme: 'eth_signTypedData_v4' })
      signatures.push(await answer)
    }
    expect(signatures[0]).toBe(signatures[1])
    expect(verifyTypedData(domain, { Person }, message.from, String(signatures[0])).toLowerCase()).toBe(alice)
  })

  it('shows only the names and types of the members of a type', async () => {
    const types = { Mail: [{ name: 'text', type: 'string', note: [[['unsigned']]] }] }
    const { wallet, answer } = await sent({ types, primaryType: 'Mail', domain: {}, message: { text: 'hi' } })
    const { typedData } = await approveNext(wallet)
    expect(await answer).toMatch(/^0x[0-9a-f]{130}$/)
    expect(typedData).toEqual({
      types: { Mail: [{ name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      domain: {},
      message: { text: 'hi' },
    })
  })

  it('warns of a signature that allows token transfers, and of one without a chain', async () => {
    const permit = {
      types: {
        EIP712Domain: [{ name: 'verifyingContract', type: 'address' }],
        Permit: [
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
        ],
      },
      primaryType: 'Permit',
      domain: { verifyingContract: domain.verifyingContract },
      message: { spender: bob, value: '1' },
    }
    const { wallet, answer } = await sent(permit)
    const { warnings, tokens } = await approveNext(wallet)
    await answer
    expect(warnings.map(({ code }) => code)).toEqual(['signed-permit', 'spender-without-code', 'every-chain'])
    // For the unit of the amount, also in the activity.
    expect(tokens).toEqual([{ address: domain.verifyingContract, symbol: 'WETH', decimals: 18 }])
    expect(wallet.activities.page({}).activities[0]?.signature).toMatchObject({ typedData: permit, tokens })
  })

  it('names no tokens of other data, and of a permit whose token is none', async () => {
    const permit = {
      types: { EIP712Domain: [{ name: 'verifyingContract', type: 'address' }], Permit: [{ name: 'value', type: 'uint256' }] },
      primaryType: 'Permit',
      domain: { verifyingContract: bob },
      message: { value: '1' },
    }
    for (const given of [data, permit]) {
      const { wallet, answer } = await sent(given)
      const question = await approveNext(wallet)
      await answer
      expect('tokens' in question).toBe(false)
      expect('tokens' in (wallet.activities.page({}).activities[0]?.signature ?? {})).toBe(false)
    }
  })
})

function nested(levels: number): unknown {
  return levels === 0 ? { in: [] } : { in: [nested(levels - 1)] }
}

function circular(): unknown {
  const round: Record<string, unknown> = {}
  round['in'] = round
  return round
}

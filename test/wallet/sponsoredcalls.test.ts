import { setTimeout as delay } from 'node:timers/promises'
import { encodeDeployData, encodeFunctionData, getContractAddress, keccak256, numberToHex, pad } from 'viem'
import type { Hex as ViemHex } from 'viem'
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Address, ENTRY_POINTS } from '../../src/eth/index.ts'
import type { Hex } from '../../src/eth/index.ts'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain } from '../../src/index.ts'
import { createRemoteRpc } from '../../src/rpc/index.ts'
import { without } from '../../src/wallet/batches/calls.fixture.ts'
import { BURNER, LOGGER, REVERTER, creating, deploy, sender } from '../../src/wallet/batches/sender.fixture.ts'
import type { Sender } from '../../src/wallet/batches/sender.fixture.ts'
import { Keyring, embeddedChain } from '../../src/wallet/index.ts'
import type { BatchQuestion, Question, WalletOptions } from '../../src/wallet/index.ts'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import { ORIGIN, refusal } from '../../src/wallet/wallet.fixture.ts'
import { startProxy } from '../sponsor/sponsor.fixture.ts'

// Sponsored batches through a real node, its bundler and its sponsor. A proxy before the sponsor adds faults that the sponsor does not have.

const node = await createPocketchain({ cadence: 'instant', accounts: 150, onNote: () => {} })
const proxy = await startProxy(node)
afterAll(() => node.close())

const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
const RECIPIENT = Address.from('0xdeaddeaddeaddeaddeaddeaddeaddeaddeaddead')
const [LOGS, REVERTS, BURNS] = [
  await deploy(node, creating(LOGGER)),
  await deploy(node, creating(REVERTER)),
  await deploy(node, creating(BURNER)),
]
const paymaster = await deployedPaymaster()
const GIFT = { to: RECIPIENT, value: '0x1' }

beforeEach(() => proxy.reset())
afterEach(async () => {
  await ask('pocketchain_sponsorFault', null)
  await ask('debug_bundler_clearState')
  await ask('debug_bundler_setBundlingMode', 'auto')
})

async function deployedPaymaster(): Promise<Address> {
  const { paymasters } = (await ask('pocketchain_sponsorStatus')) as { paymasters: readonly { version: string; address: string }[] }
  return Address.from(paymasters.find(({ version }) => version === '0.8')?.address ?? '')
}

// --- accounts and wallets -----------------------------------------------------------------------------------------------

/** Each test has an unused account. */
let used = 9
function nextAccount() {
  const account = node.accounts[(used += 1)]
  if (account === undefined) throw new Error('give the node more accounts')
  return account
}

interface TestSite extends Omit<Sender, 'send'> {
  readonly account: Address
  /** the questions, oldest first */
  readonly questions: Question[]
  /** Calls wallet_sendCalls, by default with one sponsored transfer. Returns the id. */
  readonly send: (request?: Readonly<Record<string, unknown>>) => Promise<string>
}

type SiteOptions = Partial<WalletOptions> & { readonly key?: Hex }

/** A site connected to one account, in a wallet that approves everything and allows loopback sponsors. */
function openSite({ key = nextAccount().privateKey, ...options }: SiteOptions = {}, at: Pocketchain = node): TestSite {
  const opened = sender(at, { allowHttpLoopback: true, keyring: Keyring.of({ dev: [key] }), ...options })
  const { wallet, ask: request } = opened
  const account = wallet.keyring.accounts[0]?.address as Address // the keyring has one key
  wallet.sites.connect(ORIGIN, [account])
  const questions: Question[] = []
  onTestFinished(wallet.approvals.subscribe((event) => void (event.type === 'asked' && questions.push(event.question))))
  const send = async (more: Readonly<Record<string, unknown>> = {}) => {
    const batch = { version: '2.0.0', chainId: '0x7a69', atomicRequired: false, calls: [GIFT], capabilities: sponsoredBy(), ...more }
    return (await request<{ id: string }>('wallet_sendCalls', batch)).id
  }
  return { ...opened, account, questions, send }
}

function sponsoredBy(more: Readonly<Record<string, unknown>> = {}) {
  return { paymasterService: { url: proxy.url, ...more } }
}

/** With an upgraded account, so that the batch is the only question. */
async function upgraded(options: SiteOptions = {}): Promise<TestSite> {
  const opened = openSite(options)
  await opened.settled(await opened.send())
  // The wallet reports inclusion as soon as it is pre-confirmed; the bundler removes the operation when it processes the same flashblock.
  await vi.waitFor(async () => expect(await ask('debug_bundler_dumpMempool', ENTRY_POINTS['0.8'])).toEqual([]))
  opened.questions.length = 0
  proxy.reset()
  return opened
}

function batchIn(questions: readonly Question[]): BatchQuestion {
  const found = questions.findLast((question) => question.kind === 'batch')
  if (found?.kind !== 'batch') throw new Error('there was no question about a batch')
  return found
}

const codes = ({ warnings }: Question) => warnings.map(({ code }) => code)
const kinds = (questions: readonly Question[]) => questions.map(({ kind }) => kind)
const balanceOf = async (address: Address) => BigInt((await ask('eth_getBalance', address, 'pending')) as string)
const codeOf = async (address: Address) => ask('eth_getCode', address, 'pending')

/** Returns the state that any sent transaction would change. */
async function visibleState({ wallet, account }: TestSite): Promise<unknown> {
  await poolIsEmpty()
  return {
    balance: await balanceOf(account),
    nonce: await ask('eth_getTransactionCount', account, 'pending'),
    code: await codeOf(account),
    pool: await ask('txpool_status'),
    operations: await ask('debug_bundler_dumpMempool', ENTRY_POINTS['0.8']),
    batches: wallet.batches.latest(100).length,
    deposit: await depositOf(paymaster),
  }
}

/** Transactions of earlier tests may be in the pool for a moment. */
async function poolIsEmpty(): Promise<void> {
  for (const endMs = performance.now() + 2_000; performance.now() < endMs; await delay(20)) {
    const { pending, queued } = (await ask('txpool_status')) as { readonly pending: string; readonly queued: string }
    if (Number(pending) + Number(queued) === 0) return
  }
}

/** Operation, EntryPoint, chain id and context. */
type SponsorParams = readonly [Readonly<Record<string, string>>, string, string, unknown]

// --- success ----------------------------------------------------------------------------------------------------------------

describe('a sponsored batch', () => {
  it('of a plain account costs it nothing, with an upgrade question, a batch question and one operation', async () => {
    const opened = openSite()
    const { account, questions, errors } = opened
    const before = await balanceOf(account)
    const id = await opened.send({ calls: [GIFT, { to: LOGS, data: `0x${'07'.padStart(64, '0')}` }] })
    const status = await opened.settled(id)
    expect(status).toMatchObject({ status: 200, atomic: true, capabilities: { userOperation: { success: true, reason: null } } })
    expect(status.receipts).toHaveLength(1)
    expect(status.receipts?.[0]?.logs).toContainEqual({ address: LOGS, data: `0x${'07'.padStart(64, '0')}`, topics: [] })
    expect(await balanceOf(account)).toBe(before - 1n)
    expect(await codeOf(account)).toMatch(/^0xef0100/)
    expect(kinds(questions)).toEqual(['upgrade', 'batch'])
    const question = batchIn(questions)
    expect(question).toMatchObject({
      execution: 'sponsored',
      atomic: true,
      account,
      preview: { status: 'success', changes: [{ asset: 'native', amount: '-1' }], allowances: [] },
      fee: { l1Fee: '0x0', expected: '0x0', most: '0x0', sponsor: { name: 'Pocketchain', host: proxy.host, paymaster } },
    })
    expect(BigInt(question.fee.gas)).toBeGreaterThan(100_000n)
    const { activities } = opened.wallet.activities.page({})
    const { actualGasCost } = (await ask('eth_getUserOperationReceipt', status.capabilities.userOperation?.userOpHash)) as {
      readonly actualGasCost: string
    }
    const batch = activities.find(({ kind }) => kind === 'batch')
    expect(batch).toMatchObject({ sponsor: 'Pocketchain', outcome: { transactions: [{ fee: null, sponsorFee: actualGasCost }] } })
    expect(errors).toEqual([])
  })

  it('of an upgraded account causes one question, and a single call is an operation too', async () => {
    const opened = await upgraded()
    const status = await opened.settled(await opened.send())
    expect(status).toMatchObject({ status: 200, atomic: true })
    expect(kinds(opened.questions)).toEqual(['batch'])
    expect(batchIn(opened.questions)).toMatchObject({ execution: 'sponsored', warnings: [] })
  })

  it('of an account without ether succeeds, and leaves it without ether', async () => {
    const opened = openSite()
    await ask('anvil_setBalance', opened.account, '0x0')
    const id = await opened.send({ calls: [{ to: LOGS, data: '0x01' }] })
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(await balanceOf(opened.account)).toBe(0n)
    expect(codes(batchIn(opened.questions))).toEqual([])
  })

  it('sends the sponsor the four parameters of ERC-7677, without signature, and with gas in the final request', async () => {
    const opened = openSite()
    await opened.send({ capabilities: sponsoredBy({ context: { policy: 'everything', mine: [1, null] } }) })
    await opened.send()
    expect(proxy.methods).toEqual(['pm_getPaymasterStubData', 'pm_getPaymasterData', 'pm_getPaymasterStubData', 'pm_getPaymasterData'])
    const [stub, final, second] = proxy.params as unknown as readonly SponsorParams[] // as asserted
    expect(stub?.slice(1)).toEqual([ENTRY_POINTS['0.8'], '0x7a69', { policy: 'everything', mine: [1, null] }])
    expect(second?.slice(1)).toEqual([ENTRY_POINTS['0.8'], '0x7a69', {}])
    for (const params of proxy.params) expect(params[0]).not.toHaveProperty('signature')
    for (const gas of ['callGasLimit', 'verificationGasLimit', 'preVerificationGas']) {
      expect(BigInt(stub?.[0][gas] ?? -1)).toBe(0n)
      expect(BigInt(final?.[0][gas] ?? 0)).toBeGreaterThan(10_000n)
    }
  })

  it('whose calls revert is shown with the reason, and is 500 if it is approved', async () => {
    const opened = await upgraded()
    const before = await balanceOf(opened.account)
    const id = await opened.send({ calls: [GIFT, { to: REVERTS, value: '0x0' }] })
    const question = batchIn(opened.questions)
    expect(question).toMatchObject({ preview: { status: 'reverted', failedCall: 1 }, fee: { most: '0x0' } })
    expect(codes(question)).toContain('simulation-reverts')
    expect(await opened.settled(id)).toMatchObject({
      status: 500,
      receipts: [{ status: '0x0' }],
      capabilities: { status: { reason: 'reverted' }, userOperation: { success: false } },
    })
    expect(await balanceOf(opened.account)).toBe(before)
  })

  it('that sends more than the account has, or burns all gas, is shown with a warning', async () => {
    const poor = await upgraded()
    await ask('anvil_setBalance', poor.account, '0x0')
    const id = await poor.send()
    expect(codes(batchIn(poor.questions))).toEqual(expect.arrayContaining(['simulation-reverts', 'insufficient-balance']))
    expect(await poor.settled(id)).toMatchObject({ status: 500 })
    const burning = await upgraded()
    const burnt = await burning.send({ calls: [{ to: BURNS, data: '0x' }] })
    expect(batchIn(burning.questions)).toMatchObject({ preview: { status: 'reverted' } })
    expect(await burning.settled(burnt)).toMatchObject({ status: 500 })
  })

  it('has the gasLimitOverride of its calls', async () => {
    const opened = await upgraded()
    const plain = batchIn((await opened.settled(await opened.send()), opened.questions)).fee.gas
    const id = await opened.send({ calls: [{ ...GIFT, capabilities: { gasLimitOverride: { value: '0x100000' } } }] })
    const chosen = batchIn(opened.questions).fee.gas
    expect(BigInt(chosen) - BigInt(plain)).toBeGreaterThan(0x100000n)
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
  })

  it.each([
    ['one call', 1, 12_000_000n],
    ['several calls together', 4, 3_000_000n],
  ])(
    'with a gasLimitOverride of %s that no bundle has room for is refused before the question, and an optional sponsor replaced',
    async (_, count, limit) => {
      const opened = await upgraded()
      const limited = { ...GIFT, capabilities: { gasLimitOverride: { value: numberToHex(limit) } } }
      const calls = Array.from({ length: count }, () => limited)
      const before = await visibleState(opened)
      expect(await refusal(opened.send({ calls }))).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/^The wallet cannot parse the request: gasLimitOverride: .* at most 12000000/),
      })
      expect(opened.questions).toEqual([])
      expect(await visibleState(opened)).toEqual(before)
      expect(await opened.settled(await opened.send({ calls, capabilities: sponsoredBy({ optional: true }) }))).toMatchObject({
        status: 200,
      })
      expect(batchIn(opened.questions)).toMatchObject({ preview: { status: 'success' }, fee: { sponsor: null } })
      expect(codes(batchIn(opened.questions))).toContain('sponsor-failed')
    },
  )

  it('is simulated with the real gas price, though the account has no ether', async () => {
    const opened = await upgraded()
    await ask('anvil_setBalance', opened.account, '0x0')
    // One contract reverts if the gas price is zero, the other if it is not.
    const [priced, free] = [await deploy(node, creating('3a60095760006000fd5b00')), await deploy(node, creating('3a600557005b60006000fd'))]
    await opened.send({ calls: [{ to: priced }] })
    expect(batchIn(opened.questions)).toMatchObject({ preview: { status: 'success' } })
    await opened.send({ calls: [{ to: free }] })
    expect(batchIn(opened.questions)).toMatchObject({ preview: { status: 'reverted' } })
  })

  it('uses the present delegate of the account if the wallet supports it', async () => {
    const opened = openSite()
    const simple = Address.from('0xe6cae83bde06e4c305530e199d7217f42808555b')
    const { default: artifact } = await import('aa08/artifacts/Simple7702Account.json', { with: { type: 'json' } })
    const data = `0x${'0'.repeat(64)}${artifact.bytecode.slice(2)}`
    await ask('eth_sendTransaction', {
      from: node.accounts[0]?.address,
      to: '0x4e59b44847b379578588920ca78fbf26c0b4956c',
      data,
      gas: '0x4c4b40',
    })
    await ask('anvil_setCode', opened.account, `0xef0100${simple.slice(2)}`)
    expect(await opened.settled(await opened.send({ calls: [GIFT, GIFT] }))).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch'])
    expect(await codeOf(opened.account)).toBe(`0xef0100${simple.slice(2)}`)
  })

  it('follows a pending one, with or without an upgrade', async () => {
    const opened = openSite()
    const ids = [await opened.send(), await opened.send(), await opened.send()]
    for (const id of ids) expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['upgrade', 'batch', 'batch', 'batch'])
    await ask('debug_bundler_setBundlingMode', 'manual')
    const before = await balanceOf(opened.account)
    const waiting = [await opened.send(), await opened.send()]
    expect(await balanceOf(opened.account)).toBe(before)
    await ask('debug_bundler_setBundlingMode', 'auto')
    await ask('debug_bundler_sendBundleNow')
    await ask('debug_bundler_sendBundleNow')
    for (const id of waiting) expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(await balanceOf(opened.account)).toBe(before - 2n)
  })

  it('is planned again if another transaction of the account is included meanwhile, or removes its code', async () => {
    const account = nextAccount()
    const [opened, beside] = [await upgraded({ key: account.privateKey }), openSite({ key: account.privateKey })]
    let meanwhile: (() => Promise<unknown>) | null = async () => beside.settled(await beside.send())
    proxy.after = async (_, result) => {
      const work = meanwhile
      meanwhile = null
      await work?.()
      return result
    }
    expect(await opened.settled(await opened.send())).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch'])
    meanwhile = async () => beside.wallet.control.request({ method: 'pocketchain_downgradeAccount', params: [beside.account] })
    expect(await opened.settled(await opened.send())).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch', 'upgrade', 'batch'])
  })

  it('succeeds for five accounts concurrently, with two batches each', async () => {
    const guests = Array.from({ length: 5 }, () => openSite())
    const before = await balanceOf(RECIPIENT)
    const sent = await Promise.all(guests.flatMap((each) => [each.send(), each.send()].map(async (id) => each.settled(await id))))
    expect(sent.map(({ status }) => status)).toEqual(Array(10).fill(200))
    expect(await balanceOf(RECIPIENT)).toBe(before + 10n)
    expect(guests.flatMap(({ errors }) => errors)).toEqual([])
  })

  it('that the user rejects fails with 4001, and its id is free', async () => {
    const opened = await upgraded({ policy: 'approve' })
    opened.wallet.approvals.setPolicy('reject')
    const before = await visibleState(opened)
    expect(await refusal(opened.send({ id: 'mine' }))).toMatchObject({ code: 4001 })
    expect(await visibleState(opened)).toEqual(before)
    opened.wallet.approvals.setPolicy('approve')
    expect(await opened.settled(await opened.send({ id: 'mine' }))).toMatchObject({ status: 200 })
    expect(await refusal(opened.send({ id: 'mine' }))).toMatchObject({ code: 5720 })
  })

  it('whose upgrade the user rejects fails with 5750, and leaves the account unchanged', async () => {
    const opened = openSite()
    opened.wallet.approvals.rule((question) => (question.kind === 'upgrade' ? 'reject' : null))
    const before = await visibleState(opened)
    expect(await refusal(opened.send())).toMatchObject({ code: 5750 })
    expect(kinds(opened.questions)).toEqual(['upgrade'])
    expect(await visibleState(opened)).toEqual(before)
  })

  it('works with a node over HTTP', async () => {
    const server = await node.listen()
    onTestFinished(() => server.close())
    const opened = openSite({ chains: [{ ...embeddedChain(node), rpc: createRemoteRpc(server.url), isEmbedded: false }] })
    expect(await opened.settled(await opened.send())).toMatchObject({ status: 200 })
    expect(await opened.settled(await opened.send())).toMatchObject({ status: 200 })
    expect(opened.errors).toEqual([])
  })

  it('works with a node without eth_simulateV1, with a warning in the question', async () => {
    const opened = await upgraded({ chains: [{ ...embeddedChain(node), rpc: without(node, 'eth_simulateV1') }] })
    const gift = await opened.send()
    expect(batchIn(opened.questions)).toMatchObject({ preview: { status: 'success', changes: [{ amount: '-1' }] }, warnings: [] })
    expect(await opened.settled(gift)).toMatchObject({ status: 200 })
    const two = await opened.send({ calls: [GIFT, GIFT] })
    expect(codes(batchIn(opened.questions))).toEqual(['simulation-unavailable'])
    expect(await opened.settled(two)).toMatchObject({ status: 200 })
    await opened.send({ calls: [{ to: REVERTS }] })
    expect(codes(batchIn(opened.questions))).toContain('simulation-reverts')
    expect(BigInt(batchIn(opened.questions).fee.gas)).toBeGreaterThan(500_000n)
  })

  it('causes no question if its request was aborted', async () => {
    const opened = await upgraded()
    const gone = new AbortController()
    proxy.before = () => {
      gone.abort()
      return undefined
    }
    const batch = {
      version: '2.0.0',
      chainId: '0x7a69',
      atomicRequired: false,
      calls: [GIFT],
      capabilities: sponsoredBy({ optional: true }),
    }
    const sent = opened.provider.request({ method: 'wallet_sendCalls', params: [batch] }, { signal: gone.signal })
    expect(await refusal(sent)).toMatchObject({ code: 4001, data: { reason: 'withdrawn' } })
    expect(opened.questions).toEqual([])
  })

  it('is not signed by a dev account on a real chain', async () => {
    const opened = openSite({ chains: [{ ...embeddedChain(node), isEmbedded: false, chainId: 8453, name: 'Base' }] })
    opened.wallet.sites.selectChain(ORIGIN, 8453)
    expect(await refusal(opened.send({ chainId: '0x2105' }))).toMatchObject({ code: 4100, data: { reason: 'dev-account-on-real-chain' } })
    expect(proxy.methods).toEqual([])
  })
})

// --- refusals -----------------------------------------------------------------------------------------------------------------

interface Wrong {
  readonly why: string
  readonly code: number
  readonly message: string | RegExp
  readonly data: object
  /** fields that replace those of the capability */
  readonly capability?: Readonly<Record<string, unknown>>
  readonly request?: Readonly<Record<string, unknown>>
  readonly options?: SiteOptions
  readonly prepare?: (opened: TestSite) => unknown
}

const INVALID_URL = { code: 4200, message: 'Invalid paymaster URL' }
const FAILED = { code: 4300, message: 'Paymaster service error' }
const REQUIRED = { code: 5700, message: 'Paymaster capability required' }
const OFF = { code: 4100, message: 'Paymaster service not supported' }

const fault =
  (kind: string, more: object = {}) =>
  () =>
    ask('pocketchain_sponsorFault', { kind, ...more })
const spoil = (change: (result: Readonly<Record<string, unknown>>) => object, only?: string) => () => {
  proxy.after = (method, result) => (only === undefined || method === only ? { ...result, ...change(result) } : result)
}
const STUB = 'pm_getPaymasterStubData'
const FINAL = 'pm_getPaymasterData'

/** Failures of a service, which an optional sponsor tolerates. */
const UNUSABLE: readonly Wrong[] = [
  { why: 'an invalid url', ...INVALID_URL, data: { reason: 'url' }, capability: { url: 'no url' } },
  { why: 'an http url', ...INVALID_URL, data: { reason: 'scheme' }, capability: { url: 'http://sponsor.example/rpc' } },
  { why: 'a loopback url', ...INVALID_URL, data: {}, options: { allowHttpLoopback: false } },
  { why: 'a url in a private network', ...INVALID_URL, data: { reason: 'forbidden' }, capability: { url: 'https://10.0.0.1/rpc' } },
  { why: 'a url without a server', ...INVALID_URL, data: { reason: 'unreachable' }, capability: { url: 'http://127.0.0.1:1023/rpc' } },
  { why: 'a sponsor that refuses', ...FAILED, data: { reason: 'refused', cause: { code: -32001 } }, prepare: fault('refuse') },
  {
    why: 'a sponsor without such a policy',
    ...FAILED,
    data: { reason: 'refused' },
    capability: { context: { policy: 'unknown' } },
  },
  { why: 'a sponsor with an internal error', ...FAILED, data: { status: 500 }, prepare: fault('http-500') },
  {
    why: 'a response that is no JSON',
    ...FAILED,
    data: { reason: 'malformed' },
    prepare: () => (proxy.before = () => ({ status: 200, body: '<html>' })),
  },
  {
    why: 'a sponsor with an invalid signature',
    ...FAILED,
    data: { reason: 'paymaster-refused', cause: { message: 'AA34 signature error' } },
    prepare: fault('wrong-signature'),
  },
  {
    why: 'a sponsor whose validity has ended',
    ...FAILED,
    data: { reason: 'paymaster-refused', cause: { message: 'AA32 paymaster expired or not due' } },
    prepare: fault('expired'),
  },
  { why: 'final data of another length', ...FAILED, data: { reason: 'length-changed' }, prepare: fault('differ') },
  {
    why: 'longer final data',
    ...FAILED,
    data: { reason: 'length-changed', stubBytes: 77, finalBytes: 78 },
    prepare: spoil(({ paymasterData }) => ({ paymasterData: `${String(paymasterData)}00` }), FINAL),
  },
  {
    why: 'a sponsor whose paymaster has no deposit',
    ...FAILED,
    data: { reason: 'paymaster-refused', cause: { code: -32501 } },
    prepare: fault('empty-deposit'),
  },
  {
    why: 'another paymaster in the final data',
    ...FAILED,
    data: { reason: 'paymaster-changed', final: RECIPIENT },
    prepare: spoil(() => ({ paymaster: RECIPIENT }), FINAL),
  },
  {
    why: 'a paymaster that is no contract',
    ...FAILED,
    data: { reason: 'paymaster-refused' },
    prepare: spoil(() => ({ paymaster: RECIPIENT })),
  },
  {
    why: 'the zero address as paymaster',
    ...FAILED,
    data: { reason: 'malformed' },
    prepare: spoil(() => ({ paymaster: Address.zero })),
  },
  {
    why: 'too much paymaster verification gas',
    ...FAILED,
    data: { reason: 'too-much-gas', field: 'paymasterVerificationGasLimit' },
    prepare: spoil(() => ({ paymasterVerificationGasLimit: '0xffffffffffffffffffffffffffffff' })),
  },
  {
    why: 'too much postOp gas in the final data',
    ...FAILED,
    data: { reason: 'too-much-gas', field: 'paymasterPostOpGasLimit' },
    prepare: spoil(() => ({ paymasterPostOpGasLimit: '0x4c4b41' }), FINAL),
  },
  {
    why: 'a gas limit of more than 120 bits',
    ...FAILED,
    data: { reason: 'malformed' },
    prepare: spoil(() => ({ paymasterPostOpGasLimit: `0x${'f'.repeat(64)}` }), STUB),
  },
  {
    why: 'too little paymaster gas',
    ...FAILED,
    data: { reason: 'paymaster-refused' },
    prepare: spoil(() => ({ paymasterVerificationGasLimit: '0x100' }), FINAL),
  },
]

const REFUSED: readonly Wrong[] = [
  ...UNUSABLE,
  {
    why: 'a sponsor without a url',
    code: -32602,
    message: /^The wallet cannot parse the request: .*paymasterService\.url/,
    data: { reason: 'invalid-request' },
    capability: { url: undefined },
  },
  {
    why: 'a url that is no string',
    code: -32602,
    message: /^The wallet cannot parse the request: .*paymasterService\.url/,
    data: { reason: 'invalid-request' },
    capability: { url: 1 },
  },
  { why: 'a sponsor in a wallet without sponsorship', ...OFF, data: { reason: 'sponsorship-off' }, options: { sponsorship: false } },
  {
    why: 'a sponsor for a site without sponsorship',
    ...OFF,
    data: { reason: 'sponsorship-off-for-site' },
    prepare: ({ wallet }) => wallet.sites.setSponsorship(false, ORIGIN),
  },
  {
    why: 'a sponsor on an excluded chain',
    ...REQUIRED,
    data: { reason: 'unsupported-capability', why: 'chain-excluded' },
    options: { unsponsoredChains: [31_337] },
  },
  {
    why: 'a sponsor for an account with an unknown delegate',
    ...REQUIRED,
    data: { why: 'foreign-delegate' },
    prepare: ({ account }) => ask('anvil_setCode', account, `0xef0100${LOGS.slice(2)}`),
  },
  {
    why: 'a sponsor of one call',
    ...REQUIRED,
    data: { why: 'call-level' },
    request: { calls: [{ ...GIFT, capabilities: { paymasterService: { url: 'https://sponsor.example' } } }] },
  },
  {
    why: 'calls that exceed the operation size of bundlers',
    code: 5740,
    message: 'The batch is too large for the wallet to process',
    data: { reason: 'transaction-too-large' },
    request: { calls: [{ to: LOGS, data: `0x${'07'.repeat(121_000)}` }] },
  },
  {
    why: 'calls that are too large, also with an invalid sponsor',
    code: 5740,
    message: 'The batch is too large for the wallet to process',
    data: { reason: 'transaction-too-large' },
    capability: { url: 'no url' },
    request: { calls: [{ to: LOGS, data: `0x${'07'.repeat(121_000)}` }] },
  },
  {
    why: 'a sponsor whose data leaves no room for the calls',
    ...FAILED,
    data: { reason: 'too-much-data', limit: 120_000 },
    request: { calls: [{ to: LOGS, data: `0x${'07'.repeat(110_000)}` }] },
    prepare: spoil(() => ({ paymasterData: `0x${'07'.repeat(10_000)}` })),
  },
]

describe('wallet_sendCalls rejects', () => {
  it.each(REFUSED)('$why with $code, without a question and without effect', async (row) => {
    const { code, message, data, capability, request, options, prepare } = row
    const opened = openSite(options)
    await prepare?.(opened)
    const before = await visibleState(opened)
    const refused = await refusal(opened.send({ id: 'mine', capabilities: sponsoredBy(capability), ...request }))
    expect(refused).toMatchObject({ code, message: typeof message === 'string' ? message : expect.stringMatching(message), data })
    expect(opened.questions).toEqual([])
    expect(await visibleState(opened)).toEqual(before)
    expect(opened.wallet.batches.has({ origin: ORIGIN, from: opened.account, id: 'mine' }), 'its id is free').toBe(false)
    expect(opened.errors).toEqual([])
  })

  it('a sponsor that does not respond for five seconds with 4300', async () => {
    const opened = openSite()
    await fault('slow', { delayMs: 20_000, times: 1 })()
    expect(await refusal(opened.send())).toMatchObject({ ...FAILED, data: { reason: 'timeout' } })
    expect(opened.questions).toEqual([])
  })

  it('a sponsor without a bundler, or without one for EntryPoint 0.8, with 5700', async () => {
    const bare = await createPocketchain({ cadence: 'instant', bundler: false })
    onTestFinished(() => bare.close())
    const { privateKey } = bare.accounts[0] as { privateKey: Hex } // a node has ten
    const opened = openSite({ key: privateKey }, bare)
    expect(await refusal(opened.send())).toMatchObject({ ...REQUIRED, data: { why: 'no-bundler' } })
    expect(proxy.methods).toEqual([])
  })
})

describe('an optional sponsor', () => {
  it.each(UNUSABLE)('is replaced by the account for $why, with a warning', async ({ capability, options, prepare }) => {
    const opened = openSite(options)
    await prepare?.(opened)
    const before = await balanceOf(opened.account)
    const id = await opened.send({ capabilities: sponsoredBy({ ...capability, optional: true }) })
    const question = batchIn(opened.questions)
    expect(question).toMatchObject({ execution: 'single', fee: { sponsor: null } })
    expect(question.warnings).toContainEqual({
      code: 'sponsor-failed',
      level: 'caution',
      text: expect.stringMatching(/^The sponsor does not pay, so the account does: ./),
    })
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(await balanceOf(opened.account)).toBeLessThan(before - 1n)
    expect(opened.errors).toEqual([])
  })

  it.each(UNUSABLE)('returns error 4300 for $why if the account cannot pay either', async ({ capability, options, prepare }) => {
    const opened = openSite(options)
    await ask('anvil_setBalance', opened.account, '0x0')
    await prepare?.(opened)
    const before = await visibleState(opened)
    const refused = await refusal(
      opened.send({ calls: [{ to: LOGS, data: '0x' }], capabilities: sponsoredBy({ ...capability, optional: true }) }),
    )
    expect(refused).toMatchObject({ ...FAILED, data: { reason: 'cannot-pay', cause: { code: expect.any(Number) } } })
    expect(opened.questions).toEqual([])
    expect(await visibleState(opened)).toEqual(before)
  })

  it.each(REFUSED.filter(({ code, why }) => [4100, 5700].includes(code) && why !== 'a sponsor of one call'))(
    'is not used with $why, and the question has no warning',
    async ({ capability, options, prepare }) => {
      const opened = openSite(options)
      await prepare?.(opened)
      const id = await opened.send({ capabilities: sponsoredBy({ ...capability, optional: true }) })
      expect(batchIn(opened.questions)).toMatchObject({ execution: 'single', fee: { sponsor: null } })
      expect(codes(batchIn(opened.questions))).not.toContain('sponsor-failed')
      expect(await opened.settled(id)).toMatchObject({ status: 200 })
      expect(proxy.methods).toEqual([])
    },
  )

  it('that fails leaves the batch as without a sponsor: atomic if required, else sequential', async () => {
    await fault('refuse')()
    const opened = openSite()
    const request = { calls: [GIFT, GIFT], capabilities: sponsoredBy({ optional: true }) }
    expect(await opened.settled(await opened.send(request))).toMatchObject({ status: 200, atomic: false })
    expect(await opened.settled(await opened.send({ ...request, atomicRequired: true }))).toMatchObject({ status: 200, atomic: true })
    expect(kinds(opened.questions)).toEqual(['batch', 'upgrade', 'batch'])
  })

  it('that pays equals a required one', async () => {
    const opened = await upgraded()
    const id = await opened.send({ capabilities: sponsoredBy({ optional: true }) })
    expect(batchIn(opened.questions)).toMatchObject({ execution: 'sponsored', warnings: [] })
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
  })
})

// --- changes before the answer ----------------------------------------------------------------------------------------------

describe('after the approval', () => {
  /** Sends a batch and returns its waiting question. */
  async function asking(opened: TestSite, capability: object = {}) {
    opened.wallet.approvals.setPolicy('ask')
    const sent = opened.send({ capabilities: sponsoredBy(capability as Readonly<Record<string, unknown>>) })
    sent.catch(() => {}) // awaited by the test
    return { sent, prompt: await opened.wallet.approvals.next({ kind: 'batch' }) }
  }

  it('the quote of the sponsor is used unchanged', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    prompt.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
    expect(proxy.methods).toEqual([STUB, FINAL])
  })

  it('a new quote is requested if the fees have risen, without another question', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    const fee = BigInt(batchIn(opened.questions).fee.maxFeePerGas)
    await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(fee * 3n))
    await ask('evm_mine')
    onTestFinished(async () => {
      await ask('anvil_setNextBlockBaseFeePerGas', '0x3b9aca00')
      await ask('evm_mine')
    })
    prompt.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch'])
    expect(proxy.methods).toEqual([STUB, FINAL, STUB, FINAL])
    const signed = proxy.params.map(([operation]) => BigInt((operation as { maxFeePerGas: string }).maxFeePerGas))
    expect(signed[3]).toBeGreaterThan(fee * 3n)
  })

  it('a new quote is requested if the nonce was used meanwhile', async () => {
    const account = nextAccount()
    const [opened, beside] = [await upgraded({ key: account.privateKey }), openSite({ key: account.privateKey })]
    const { sent, prompt } = await asking(opened)
    await beside.settled(await beside.send())
    proxy.reset()
    prompt.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
    expect(proxy.methods).toEqual([STUB, FINAL])
    expect(kinds(opened.questions)).toEqual(['batch'])
  })

  it('a new quote with the next nonce is requested if another operation waits in the bundler', async () => {
    const account = nextAccount()
    const [opened, beside] = [await upgraded({ key: account.privateKey }), openSite({ key: account.privateKey })]
    await ask('debug_bundler_setBundlingMode', 'manual')
    const { sent, prompt } = await asking(opened)
    const other = await beside.send()
    prompt.approve()
    const id = await sent
    await ask('debug_bundler_setBundlingMode', 'auto')
    await ask('debug_bundler_sendBundleNow')
    await ask('debug_bundler_sendBundleNow')
    expect(await beside.settled(other)).toMatchObject({ status: 200 })
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch'])
  })

  it('a rejection by the sponsor is error 4300, and nothing is sent', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    await fault('refuse')()
    await outdate(opened)
    const before = await visibleState(opened)
    prompt.approve()
    expect(await refusal(sent)).toMatchObject({ ...FAILED, data: { reason: 'refused' } })
    expect(await visibleState(opened)).toEqual(before)
    expect(kinds(opened.questions)).toEqual(['batch'])
  })

  it('a rejection by an optional sponsor leads to another question, in which the account pays', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened, { optional: true })
    await fault('refuse')()
    await outdate(opened)
    prompt.approve()
    const second = await opened.wallet.approvals.next({ kind: 'batch' })
    expect(second.question).toMatchObject({ replaces: prompt.question.id, execution: 'single', fee: { sponsor: null } })
    expect(codes(second.question)).toContain('sponsor-failed')
    second.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
  })

  it('another sponsor at the same url leads to another question', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    await outdate(opened)
    proxy.after = (method, result) => (method === STUB ? { ...result, sponsor: { name: 'Somebody else' } } : result)
    prompt.approve()
    const second = await opened.wallet.approvals.next({ kind: 'batch' })
    expect(second.question).toMatchObject({ replaces: prompt.question.id, fee: { sponsor: { name: 'Somebody else' } } })
    second.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
  })

  it('calls that have another outcome now lead to another question', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    await ask('anvil_setBalance', opened.account, '0x0')
    prompt.approve()
    const second = await opened.wallet.approvals.next({ kind: 'batch' })
    expect(second.question).toMatchObject({ replaces: prompt.question.id, execution: 'sponsored', preview: { status: 'reverted' } })
    second.reject()
    expect(await refusal(sent)).toMatchObject({ code: 4001 })
  })

  it('a withdrawn deposit is error 4300, also with a valid quote', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    const deposit = await setDeposit(0n)
    onTestFinished(async () => {
      await setDeposit(deposit)
    })
    const before = await visibleState(opened)
    prompt.approve()
    expect(await refusal(sent)).toMatchObject({ ...FAILED, data: { reason: expect.stringMatching(/refused/) } })
    expect(await visibleState(opened)).toEqual(before)
  })

  it('a sponsor that the bundler rejects is error 4300; an optional one leads to another question', async () => {
    const opened = await upgraded()
    const banned = [{ address: paymaster, opsSeen: 100_000, opsIncluded: 0 }]
    await ask('debug_bundler_setReputation', banned, ENTRY_POINTS['0.8'])
    await ask('pocketchain_bundlerRules', { rules: 'strict' })
    const before = await visibleState(opened)
    expect(await refusal(opened.send({ id: 'mine' }))).toMatchObject({
      ...FAILED,
      data: { reason: 'paymaster-refused', cause: { code: -32504, data: { paymaster } } },
    })
    expect(await visibleState(opened)).toEqual(before)
    const id = await opened.send({ id: 'mine', capabilities: sponsoredBy({ optional: true }) })
    expect(opened.questions.map((question) => question.kind === 'batch' && question.execution)).toEqual([
      'sponsored',
      'sponsored',
      'single',
    ])
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
    await ask('pocketchain_bundlerRules', { rules: 'relaxed' })
  })

  it('sponsorship that was switched off meanwhile is error 4100', async () => {
    const opened = await upgraded()
    const { sent, prompt } = await asking(opened)
    opened.wallet.sites.setSponsorship(false, ORIGIN)
    prompt.approve()
    expect(await refusal(sent)).toMatchObject(OFF)
  })

  /** Requests a new quote, and delays its final response until the returned function is called. */
  async function held(opened: TestSite): Promise<() => void> {
    const prompt = await opened.wallet.approvals.next({ kind: 'batch' })
    await outdate(opened)
    let answer = (): void => {}
    const later = new Promise<void>((resolve) => (answer = resolve))
    const reached = new Promise<void>((resolve) => {
      proxy.after = async (method, result) => {
        if (method !== FINAL) return result
        resolve()
        await later
        return result
      }
    })
    prompt.approve()
    await reached
    return answer
  }

  it('sponsorship that is switched off during the new request is error 4100', async () => {
    const opened = await upgraded()
    opened.wallet.approvals.setPolicy('ask')
    const sent = opened.send({ id: 'mine' })
    sent.catch(() => {}) // awaited below
    const answer = await held(opened)
    opened.wallet.sites.setSponsorship(false, ORIGIN)
    const before = await visibleState(opened)
    answer()
    expect(await refusal(sent)).toMatchObject(OFF)
    expect(await visibleState(opened)).toEqual(before)
    expect(opened.wallet.batches.has({ origin: ORIGIN, from: opened.account, id: 'mine' })).toBe(false)
  })

  it('an optional sponsor that is switched off during the new request leads to another question', async () => {
    const opened = await upgraded()
    opened.wallet.approvals.setPolicy('ask')
    const sent = opened.send({ capabilities: sponsoredBy({ optional: true }) })
    const answer = await held(opened)
    opened.wallet.sites.setSponsorship(false, ORIGIN)
    answer()
    const second = await opened.wallet.approvals.next({ kind: 'batch' })
    expect(second.question).toMatchObject({ execution: 'single', fee: { sponsor: null } })
    second.approve()
    expect(await opened.settled(await sent)).toMatchObject({ status: 200 })
  })

  it('a wallet that is closed during the new request signs nothing', async () => {
    const opened = await upgraded()
    opened.wallet.approvals.setPolicy('ask')
    const sent = opened.send()
    sent.catch(() => {}) // awaited below
    const answer = await held(opened)
    const before = await visibleState(opened)
    await opened.wallet.close()
    answer()
    expect(await refusal(sent)).toMatchObject({ code: 4900, data: { reason: 'wallet-closed' } })
    expect(await visibleState(opened)).toEqual(before)
  })

  /** Makes the quote's nonce a used one. */
  async function outdate({ account }: TestSite): Promise<void> {
    const slot = nonceSlot(account)
    const now = BigInt((await ask('eth_getStorageAt', ENTRY_POINTS['0.8'], slot, 'pending')) as string)
    await ask('anvil_setStorageAt', ENTRY_POINTS['0.8'], slot, numberToHex(now + 1n, { size: 32 }))
  }
})

/** EntryPoint 0.8 has the nonces of an account in slot 1, a mapping of mappings. */
function nonceSlot(account: Address): ViemHex {
  return keccak256(`${pad('0x00')}${keccak256(`${pad(account)}${numberToHex(1, { size: 32 }).slice(2)}`).slice(2)}`)
}

/** Returns the previous value. */
async function setDeposit(wei: bigint, holder: Address = paymaster): Promise<bigint> {
  const before = await depositOf(holder)
  await ask('anvil_setStorageAt', ENTRY_POINTS['0.8'], depositSlot(holder), numberToHex(wei, { size: 32 }))
  return before
}

async function depositOf(holder: Address): Promise<bigint> {
  return BigInt((await ask('eth_getStorageAt', ENTRY_POINTS['0.8'], depositSlot(holder), 'pending')) as string)
}

/** EntryPoint 0.8 has the deposits in slot 0, a mapping. */
function depositSlot(holder: Address): ViemHex {
  return keccak256(`${pad(holder)}${pad('0x00').slice(2)}`)
}

// --- other sponsors ---------------------------------------------------------------------------------------------------------

describe('a sponsor', () => {
  it('whose stub data is final gets one request only', async () => {
    const generous = await generousPaymaster()
    const opened = await upgraded()
    proxy.before = () => result({ paymaster: generous, paymasterData: '0x', paymasterPostOpGasLimit: '0x1', isFinal: true })
    expect(await opened.settled(await opened.send())).toMatchObject({ status: 200 })
    expect(proxy.methods).toEqual([STUB])
    expect(batchIn(opened.questions).fee.sponsor).toMatchObject({ name: null, icon: null, paymaster: generous })
  })

  it('without deposit drops a waiting batch; the next one uses its nonce, and later ones proceed', async () => {
    const generous = await generousPaymaster()
    const opened = await upgraded()
    await ask('debug_bundler_setBundlingMode', 'manual')
    proxy.before = () => result({ paymaster: generous, paymasterData: '0x', paymasterPostOpGasLimit: '0x1', isFinal: true })
    const first = await opened.send()
    proxy.before = undefined
    const second = await opened.send()
    await setDeposit(0n, generous)
    await ask('debug_bundler_sendBundleNow')
    expect(await opened.status(first)).toMatchObject({ status: 400 })
    const third = await opened.send()
    await ask('debug_bundler_sendBundleNow')
    await ask('debug_bundler_sendBundleNow')
    for (const id of [second, third]) expect(await opened.settled(id)).toMatchObject({ status: 200 })
  })

  it('with an upgrade behind a dropped operation delays nothing', async () => {
    const opened = await upgraded()
    await ask('debug_bundler_setBundlingMode', 'manual')
    const first = await opened.send()
    await opened.wallet.control.request({ method: 'pocketchain_downgradeAccount', params: [opened.account] })
    const second = await opened.send()
    await ask('debug_bundler_sendBundleNow')
    expect(await opened.status(first)).toMatchObject({ status: 400 })
    const third = await opened.send()
    await ask('debug_bundler_sendBundleNow')
    await ask('debug_bundler_sendBundleNow')
    for (const id of [second, third]) expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(kinds(opened.questions)).toEqual(['batch', 'upgrade', 'batch', 'upgrade', 'batch'])
  })

  it('that takes a token in payment is shown with the amount, and a warning', async () => {
    const opened = await upgraded()
    const { coin, toll } = await tollPaymaster(opened.account)
    proxy.before = () => result({ paymaster: toll, paymasterData: '0x', paymasterPostOpGasLimit: '0x186a0' })
    const allow = { to: coin, data: encodeFunctionData({ abi: built.Coin.abi, functionName: 'approve', args: [toll, 5n] }) }
    const id = await opened.send({ calls: [allow, GIFT] })
    const question = batchIn(opened.questions)
    expect(question.preview.changes).toContainEqual(expect.objectContaining({ asset: 'erc20', token: coin, amount: '-5' }))
    expect(question.warnings).toContainEqual({
      code: 'sponsor-takes',
      level: 'danger',
      text: `The sponsor at ${proxy.host} pays the fee and takes COIN from the account for it.`,
    })
    expect(await opened.settled(id)).toMatchObject({ status: 200 })
    expect(await coinsOf(coin, toll)).toBe(5n)
  })

  it('with an allowance for a token has a warning, whether the allowance is new or old', async () => {
    const opened = await upgraded()
    const { coin, toll } = await tollPaymaster(opened.account)
    const generous = await generousPaymaster(toll)
    const approve = { to: coin, data: encodeFunctionData({ abi: built.Coin.abi, functionName: 'approve', args: [generous, 9n] }) }
    proxy.before = () => result({ paymaster: generous, paymasterData: '0x', paymasterPostOpGasLimit: '0x1' })
    expect(await opened.settled(await opened.send({ calls: [approve] }))).toMatchObject({ status: 200 })
    const warning = {
      code: 'sponsor-allowance',
      level: 'danger',
      text: `The sponsor at ${proxy.host} may take COIN from the account, now and later.`,
    }
    expect(batchIn(opened.questions).warnings).toContainEqual(warning)
    await opened.send({ capabilities: sponsoredBy({ context: { token: coin } }) })
    expect(batchIn(opened.questions).warnings).toEqual([warning])
    await opened.send()
    expect(batchIn(opened.questions).warnings).toEqual([])
  })

  it('that is slow delays other questions of the site no longer than SPONSOR_HOLD_MS', async () => {
    const opened = await upgraded()
    opened.wallet.approvals.setPolicy('ask')
    let answer = (): void => {}
    const later = new Promise<void>((resolve) => (answer = resolve))
    proxy.after = async (_, each) => {
      await later
      return each
    }
    const first = opened.send({ id: 'first' })
    const second = opened.ask<{ id: string }>('eth_sendTransaction', { from: opened.account, ...GIFT })
    ;(await opened.wallet.approvals.next()).approve()
    await second
    expect(kinds(opened.questions)).toEqual(['send'])
    answer()
    ;(await opened.wallet.approvals.next()).approve()
    await first
    expect(kinds(opened.questions)).toEqual(['send', 'batch'])
  })

  const built = contracts()

  function result(fields: object) {
    return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: fields }) }
  }

  /** A paymaster that pays for every operation: returns an empty context, and 0. */
  async function generousPaymaster(at: Address | null = null): Promise<Address> {
    const address = at ?? Address.from(`0x${(used += 1).toString(16).padStart(40, '7')}`)
    await ask('anvil_setCode', address, '0x60406000526000602052600060405260606000f3')
    await setDeposit(10n ** 18n, address)
    return address
  }

  async function tollPaymaster(holder: Address): Promise<{ coin: Address; toll: Address }> {
    const from = node.accounts[1]?.address as Address // a node has ten
    const create = async (data: ViemHex): Promise<Address> => {
      const nonce = BigInt((await ask('eth_getTransactionCount', from, 'pending')) as string)
      await ask('eth_sendTransaction', { from, data })
      return Address.from(getContractAddress({ from, nonce }))
    }
    const coin = await create(encodeDeployData({ ...built.Coin, args: ['Coin', 'COIN', 6] }))
    const toll = await create(encodeDeployData({ ...built.Toll, args: [coin] }))
    await ask('eth_sendTransaction', {
      from,
      to: coin,
      data: encodeFunctionData({ abi: built.Coin.abi, functionName: 'transfer', args: [holder, 100n] }),
    })
    await setDeposit(10n ** 18n, toll)
    return { coin, toll }
  }

  async function coinsOf(coin: Address, holder: Address): Promise<bigint> {
    const data = encodeFunctionData({ abi: built.Coin.abi, functionName: 'balanceOf', args: [holder] })
    return BigInt((await ask('eth_call', { to: coin, data }, 'pending')) as string)
  }
})

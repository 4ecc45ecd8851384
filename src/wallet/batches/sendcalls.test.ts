import { describe, expect, it } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain } from '../../index.ts'
import { embeddedChain } from '../chains/chain.ts'
import { DELEGATE } from '../delegate.ts'
import { REVERTER, questionKinds, batchOf, answerNext, sender, visibleState } from './sender.fixture.ts'
import type { Sender } from './sender.fixture.ts'
import { ORIGIN, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
const other = await startNode({ chainId: 777 })
const real = await startNode({ chainId: 8453 })
const older = await startNode({ chainId: 778, hardfork: 'holocene' })
const bare = await startNode({ chainId: 779 })
const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten
for (const address of [DELEGATE.address, DELEGATE.deployer]) await bare.request({ method: 'anvil_setCode', params: [address, '0x'] })
const ZERO = Address.zero
const call = { to: bob, value: '0x1' }
const atomic = { atomicRequired: true, calls: [call, call] }

/** On the chain of `node`, with the other nodes as further chains. */
function open(options: Parameters<typeof sender>[1] = {}): Sender {
  const further = [other, older, bare].map((each) => embeddedChain(each))
  const remote = { ...embeddedChain(real), name: 'Base', isEmbedded: false }
  return sender(node, { further: [...further, remote], ...options })
}

describe('wallet_sendCalls rejects', () => {
  const rows: readonly {
    readonly why: string
    readonly code: number
    readonly message: string | RegExp
    readonly data: object
    readonly request: Readonly<Record<string, unknown>>
    readonly options?: Parameters<typeof sender>[1]
    readonly prepare?: (sender: Sender) => unknown
  }[] = [
    {
      why: 'a request that it cannot parse',
      code: -32602,
      message: /^The wallet cannot parse the request: .*calls\[0\]\.to: missing value/,
      data: { reason: 'invalid-request' },
      request: { calls: [{ value: '0x1' }] },
    },
    {
      why: 'another version, before any other check',
      code: -32000,
      message: 'Version not supported',
      data: { reason: 'version' },
      request: { version: '1.0', chainId: 1, calls: null },
      prepare: ({ wallet }) => wallet.sites.disconnect(ORIGIN),
    },
    {
      why: 'an origin that is not connected, before it checks the chain',
      code: 4100,
      message: /^The requested account and\/or method has not been authorized by the user/,
      data: { reason: 'not-connected' },
      request: { chainId: '0x1', calls: [call] },
      prepare: ({ wallet }) => wallet.sites.disconnect(ORIGIN),
    },
    {
      why: 'an account that the origin may not use',
      code: 4100,
      message: /^The requested account and\/or method has not been authorized by the user/,
      data: { reason: 'account-not-permitted', account: bob },
      request: { from: bob, calls: [call] },
      prepare: ({ wallet }) => wallet.sites.connect(ORIGIN, [alice]),
    },
    {
      why: 'a dev account on a real chain',
      code: 4100,
      message: /^The requested account and\/or method has not been authorized by the user/,
      data: { reason: 'dev-account-on-real-chain' },
      request: { chainId: '0x2105', calls: [call] },
      prepare: ({ wallet }) => wallet.sites.selectChain(ORIGIN, 8453),
    },
    {
      why: 'a chain that the wallet does not have',
      code: 5710,
      message: 'EIP-7702 not supported on the specified chain ID',
      data: { reason: 'unknown-chain', chainId: '0x1' },
      request: { chainId: '0x1', calls: [call] },
    },
    {
      why: 'a chain id above the maximum',
      code: 5710,
      message: 'EIP-7702 not supported on the specified chain ID',
      data: { reason: 'unknown-chain' },
      request: { chainId: `0x1${'0'.repeat(60)}7a69`, calls: [call] },
    },
    {
      why: 'a chain that the site has not selected',
      code: -32602,
      message: /^The wallet cannot parse the request: chainId 0x309 is not the chain that the site is on, 0x7a69/,
      data: { reason: 'chain-mismatch', selected: '0x7a69', requested: '0x309' },
      request: { chainId: '0x309', calls: [call] },
    },
    {
      why: 'more gas for a call than a block has',
      code: -32602,
      message: /^The wallet cannot parse the request: calls\[1\]\.capabilities\.gasLimitOverride\.value: 60000001 gas/,
      data: { reason: 'invalid-request' },
      request: { calls: [call, { ...call, capabilities: { gasLimitOverride: { value: '0x3938701' } } }] },
    },
    {
      why: 'too many calls',
      code: 5740,
      message: 'The batch is too large for the wallet to process',
      data: { reason: 'too-many-calls', limit: 2, got: 3 },
      request: { calls: [call, call, call] },
      options: { maxCalls: 2 },
    },
    {
      why: 'too much call data',
      code: 5740,
      message: 'The batch is too large for the wallet to process',
      data: { reason: 'too-much-call-data', limit: 4, got: 5 },
      request: {
        calls: [
          { to: bob, data: '0x010203' },
          { to: bob, data: '0x0102' },
        ],
      },
      options: { maxCallDataBytes: 4 },
    },
    {
      why: 'an unsupported capability',
      code: 5700,
      message: 'The wallet does not support a capability that was not marked as optional',
      data: { reason: 'unsupported-capability', capability: 'auxiliaryFunds' },
      request: { calls: [call], capabilities: { auxiliaryFunds: { supported: true } } },
    },
    {
      why: 'an unsupported capability of a call',
      code: 5700,
      message: 'The wallet does not support a capability that was not marked as optional',
      data: { reason: 'unsupported-capability', capability: 'flowControl' },
      request: { calls: [call, { ...call, capabilities: { flowControl: { optional: false } } }] },
    },
    {
      why: 'a sponsor where the chain lacks EIP-7702',
      code: 5700,
      message: 'Paymaster capability required',
      data: { reason: 'unsupported-capability', capability: 'paymasterService', why: 'no-eip-7702' },
      request: { chainId: '0x30a', calls: [call], capabilities: { paymasterService: { url: 'https://sponsor.example' } } },
      prepare: ({ wallet }) => wallet.sites.selectChain(ORIGIN, 778),
    },
    {
      why: 'an atomic batch on a chain without EIP-7702',
      code: 5710,
      message: 'EIP-7702 not supported on the specified chain ID',
      data: { reason: 'no-eip-7702', chainId: '0x30a' },
      request: { ...atomic, chainId: '0x30a' },
      prepare: ({ wallet }) => wallet.sites.selectChain(ORIGIN, 778),
    },
    {
      why: 'an atomic batch on a chain where the delegate cannot be deployed',
      code: 5710,
      message: 'EIP-7702 not supported on the specified chain ID',
      data: { reason: 'no-eip-7702', chainId: '0x30b' },
      request: { ...atomic, chainId: '0x30b' },
      prepare: ({ wallet }) => wallet.sites.selectChain(ORIGIN, 779),
    },
    {
      why: 'a batch that the user rejects',
      code: 4001,
      message: 'User rejected the request',
      data: { reason: 'rejected' },
      request: { calls: [call] },
      prepare: ({ wallet }) => wallet.approvals.rule((question) => (question.kind === 'batch' ? 'reject' : null)),
    },
    {
      why: 'a batch whose upgrade the user rejects',
      code: 5750,
      message: 'EIP-7702 upgrade rejected for this chain and account',
      data: { reason: 'upgrade-rejected' },
      request: atomic,
      prepare: ({ wallet }) => wallet.approvals.rule((question) => (question.kind === 'upgrade' ? 'reject' : null)),
    },
    {
      why: 'a batch that the user rejects after its upgrade',
      code: 4001,
      message: 'User rejected the request',
      data: { reason: 'rejected' },
      request: atomic,
      prepare: ({ wallet }) => wallet.approvals.rule((question) => (question.kind === 'batch' ? 'reject' : null)),
    },
  ]

  it.each(rows)('$why with $code, without effect', async ({ code, message, data, request, options, prepare }) => {
    const open_ = open(options)
    await prepare?.(open_)
    const before = await visibleState(node, open_)
    const [chosen] = [other, older, bare, real].map((each) => each.request({ method: 'txpool_status' }))
    const refused = await refusal(open_.send({ id: 'mine', ...request }))
    expect(refused).toMatchObject({ code, message: typeof message === 'string' ? message : expect.stringMatching(message), data })
    expect(await visibleState(node, open_)).toEqual(before)
    for (const each of [other, older, bare, real]) {
      expect(await each.request({ method: 'txpool_status' })).toEqual(await chosen)
      expect(await each.request({ method: 'eth_blockNumber' })).toBe('0x0')
    }
    expect(open_.wallet.batches.has({ origin: ORIGIN, from: alice, id: 'mine' }), 'its id is free').toBe(false)
    expect(await refusal(open_.status('mine'))).toMatchObject({ code: 5730 })
    expect(open_.errors).toEqual([])
  })

  it('an id that was submitted with 5720, without effect, but not for another account or origin', async () => {
    const mine = open()
    const id = await mine.send({ id: 'twice', calls: [call] })
    await mine.settled(id)
    const before = await visibleState(node, mine)
    expect(await refusal(mine.send({ id, calls: [call] }))).toMatchObject({
      code: 5720,
      message: 'There is already a batch submitted with the specified batch ID',
      data: { reason: 'duplicate-id', id },
    })
    expect(await visibleState(node, mine)).toEqual(before)
    expect(await mine.send({ id, from: bob, calls: [call] })).toBe(id)
    mine.wallet.sites.connect('https://other.example', [alice])
    const theirs = mine.wallet.provider('https://other.example')
    await theirs.request({ method: 'wallet_sendCalls', params: [{ ...batchOf(), id, calls: [call] }] })
    expect((await mine.settled(id)).status).toBe(200)
  })

  it('the second of two waiting batches with one id with 5720', async () => {
    const { wallet, send, settled } = open({ policy: 'ask' })
    const sent = [send({ id: 'same', calls: [call] }), send({ id: 'same', calls: [call] })]
    const prompts = [await wallet.approvals.next(), await wallet.approvals.next()]
    for (const prompt of prompts) prompt.approve()
    const outcomes = await Promise.allSettled(sent)
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(outcomes).toContainEqual({ status: 'rejected', reason: expect.objectContaining({ code: 5720 }) })
    expect((await settled('same')).status).toBe(200)
  })

  it('an atomic batch with 5760 if the account delegates to unknown code', async () => {
    const mine = open()
    await delegate(node, mine.alice, '0x00000000000000000000000000000000000000aa')
    try {
      const before = await visibleState(node, mine)
      expect(await refusal(mine.send({ id: 'foreign', ...atomic }))).toMatchObject({
        code: 5760,
        data: { reason: 'foreign-delegate', delegate: '0x00000000000000000000000000000000000000aa' },
      })
      expect(await visibleState(node, mine)).toEqual(before)
      const id = await mine.send({ id: 'foreign', ...atomic, atomicRequired: false })
      expect(await mine.settled(id)).toMatchObject({ status: 200, atomic: false })
    } finally {
      await node.request({ method: 'anvil_setCode', params: [mine.alice, '0x'] })
    }
  })

  it('a batch whose transaction exceeds the limit of pools with 5740, without a question', async () => {
    const mine = open()
    const kinds = questionKinds(mine.wallet)
    const before = await visibleState(node, mine)
    const half = { to: bob, data: `0x${'00'.repeat(65_536)}` }
    const data = { reason: 'transaction-too-large', limit: 131_072 }
    const single = { calls: [{ to: bob, data: `0x${'00'.repeat(131_072)}` }] }
    expect(await refusal(mine.send(single))).toMatchObject({ code: 5740, data })
    expect(await refusal(mine.send({ from: mine.bob, atomicRequired: true, calls: [half, half] }))).toMatchObject({ code: 5740, data })
    expect(kinds).toEqual([])
    expect(await visibleState(node, mine)).toEqual(before)
    expect(await mine.settled(await mine.send({ from: node.accounts[8]?.address, calls: [half, half] }))).toMatchObject({ status: 200 })
  })

  const limited = (gas: bigint) => ({ ...call, capabilities: { gasLimitOverride: { value: Hex.fromQuantity(gas) } } })
  const CAP = 2n ** 24n // EIP-7825
  it.each([
    ['its only call', { calls: [limited(CAP - 21_000n + 1n)] }],
    ['one of several calls', { calls: [call, limited(CAP)] }],
    ['all calls of an atomic batch', { atomicRequired: true, calls: [limited(CAP / 2n), limited(CAP / 2n)] }],
  ])('a gasLimitOverride that makes the gas of %s more than a transaction may have, before the question', async (_, request) => {
    const mine = open()
    const kinds = questionKinds(mine.wallet)
    const before = await visibleState(node, mine)
    const refused = await refusal(mine.send(request))
    expect(refused).toMatchObject({ code: -32602, message: expect.stringMatching(/^The wallet cannot parse the request: .* 16777216 gas/) })
    expect(kinds).toEqual([])
    expect(await visibleState(node, mine)).toEqual(before)
  })

  it('no gasLimitOverride with all the gas that a transaction may have', async () => {
    const mine = open()
    expect(await mine.settled(await mine.send({ calls: [limited(CAP - 21_000n)] }))).toMatchObject({ status: 200 })
  })

  it('no call with all the gas of a block', async () => {
    const mine = sender(older) // without EIP-7825, which limits the gas of a transaction
    const { gasLimit } = await mine.ask<{ gasLimit: string }>('eth_getBlockByNumber', 'latest', false)
    const greedy = { ...call, capabilities: { gasLimitOverride: { value: gasLimit } } }
    expect(await mine.settled(await mine.send({ chainId: '0x30a', calls: [greedy] }))).toMatchObject({ status: 200 })
  })

  it('a transaction that the node rejects, with its message, and the id is free', async () => {
    const mine = open()
    const before = await visibleState(node, mine)
    const refused = await refusal(mine.send({ id: 'rich', calls: [{ to: bob, value: '0xffffffffffffffffffffffff' }] }))
    expect(refused).toMatchObject({ code: -32000, message: expect.stringContaining('insufficient funds') })
    expect(await visibleState(node, mine)).toEqual(before)
    expect(await mine.settled(await mine.send({ id: 'rich', calls: [call] }))).toMatchObject({ status: 200 })
  })

  it('no optional capability and no gasLimitOverride', async () => {
    const { send, settled } = open()
    const capabilities = { paymasterService: { url: 'http://x', optional: true }, dataSuffix: { value: '0x', optional: true } }
    const calls = [{ ...call, capabilities: { gasLimitOverride: { value: '0x7530' }, flowControl: { optional: true } } }]
    const id = await send({ capabilities, calls })
    const { receipts } = await settled(id)
    expect(receipts).toHaveLength(1)
    expect(await node.request({ method: 'eth_getTransactionByHash', params: [receipts?.[0]?.transactionHash] })).toMatchObject({
      gas: `0x${(0x7530 + 21_000).toString(16)}`,
    })
  })
})

describe('wallet_sendCalls', () => {
  it('returns a random id under both names', async () => {
    const { ask } = open()
    const results = await Promise.all([1, 2].map(() => ask<Record<string, string>>('wallet_sendCalls', { ...batchOf(), calls: [call] })))
    for (const result of results) {
      expect(result).toEqual({ id: expect.stringMatching(/^0x[0-9a-f]{64}$/), batchId: result['id'], status: 'pending' })
    }
    expect(results[0]).not.toEqual(results[1])
  })

  it('sends one call as an ordinary transaction of the selected account, after one question', async () => {
    const { wallet, send, settled } = open()
    const kinds = questionKinds(wallet)
    const { receipts, atomic: isAtomic } = await settled(await send({ atomicRequired: true, calls: [call] }))
    expect(isAtomic).toBe(true)
    expect(kinds).toEqual(['batch'])
    const tx = await node.request({ method: 'eth_getTransactionByHash', params: [receipts?.[0]?.transactionHash] })
    expect(tx).toMatchObject({ from: alice, to: bob, value: '0x1', type: '0x2', gas: '0x5208' })
  })

  it('sends the calls of a plain account as transactions in their order', async () => {
    const { send, settled } = open()
    const values = ['0x1', '0x2', '0x3', '0x4']
    const first = BigInt((await node.request({ method: 'eth_getTransactionCount', params: [bob, 'pending'] })) as string) // a quantity
    const { receipts, atomic: isAtomic } = await settled(await send({ from: bob, calls: values.map((value) => ({ to: alice, value })) }))
    expect(isAtomic).toBe(false)
    const sent = await Promise.all(
      (receipts ?? []).map((each) => node.request({ method: 'eth_getTransactionByHash', params: [each.transactionHash] })),
    )
    expect(sent).toMatchObject(values.map((value, i) => ({ value, from: bob, nonce: `0x${(first + BigInt(i)).toString(16)}` })))
  })

  it('sends to the zero address, also through the delegate', async () => {
    const { ask, send, settled } = open()
    const before = BigInt(await ask<string>('eth_getBalance', ZERO, 'latest'))
    const burns = [
      { to: ZERO, value: '0x5' },
      { to: ZERO, value: '0x6' },
    ]
    expect(await settled(await send({ calls: burns }))).toMatchObject({ status: 200, atomic: false })
    expect(await settled(await send({ atomicRequired: true, calls: burns }))).toMatchObject({ status: 200, atomic: true })
    expect(BigInt(await ask<string>('eth_getBalance', ZERO, 'latest')) - before).toBe(22n)
  })

  it("upgrades an account once, with a signature for this chain and the nonce after the transaction's", async () => {
    await using fresh = await createPocketchain({ cadence: 'instant' })
    const { wallet, send, settled } = sender(fresh)
    const kinds = questionKinds(wallet)
    const { receipts } = await settled(await send(atomic))
    expect(kinds).toEqual(['upgrade', 'batch'])
    const hash = receipts?.[0]?.transactionHash
    const tx = (await fresh.request({ method: 'eth_getTransactionByHash', params: [hash] })) as { nonce: string; to: string; from: string }
    expect(tx).toMatchObject({ type: '0x4', from: alice, to: alice, value: '0x0', authorizationList: [{ chainId: '0x7a69' }] })
    expect(tx).toMatchObject({ authorizationList: [{ nonce: `0x${(Number(tx.nonce) + 1).toString(16)}` }] })
    const again = await settled(await send({ calls: [call, call] }))
    expect(again).toMatchObject({ status: 200, atomic: true })
    expect(kinds).toEqual(['upgrade', 'batch', 'batch'])
    const second = await fresh.request({ method: 'eth_getTransactionByHash', params: [again.receipts?.[0]?.transactionHash] })
    expect(second).toMatchObject({ type: '0x2', to: alice })
  })

  it('creates the upgrade question again after a rejection', async () => {
    await using fresh = await createPocketchain({ cadence: 'instant' })
    const { wallet, send, settled } = sender(fresh, { policy: 'ask' })
    const first = send(atomic)
    await answerNext(wallet, 'upgrade', 'reject')
    expect(await refusal(first)).toMatchObject({ code: 5750 })
    const second = send(atomic)
    await answerNext(wallet, 'upgrade', 'approve')
    await answerNext(wallet, 'batch', 'approve')
    expect(await settled(await second)).toMatchObject({ status: 200, atomic: true })
  })

  it('shows exactly what it sends', async () => {
    const { wallet, send, settled } = open({ policy: 'ask' })
    const sent = send({ id: 'shown', from: bob, calls: [{ to: alice, value: '0x7', data: '0x1234' }] })
    const prompt = await wallet.approvals.next()
    expect(prompt.question).toMatchObject({
      kind: 'batch',
      origin: ORIGIN,
      method: 'wallet_sendCalls',
      account: bob,
      batchId: 'shown',
      atomic: true,
      execution: 'single',
      chain: { chainId: '0x7a69' },
      calls: [{ to: alice, value: '0x7', data: '0x1234' }],
    })
    prompt.approve()
    const { receipts } = await settled(await sent)
    const tx = (await node.request({ method: 'eth_getTransactionByHash', params: [receipts?.[0]?.transactionHash] })) as Record<
      string,
      string
    >
    const { fee } = prompt.question as unknown as { fee: Record<string, string> }
    expect(tx).toMatchObject({ gas: fee['gas'], maxFeePerGas: fee['maxFeePerGas'], maxPriorityFeePerGas: fee['maxPriorityFeePerGas'] })
    expect(BigInt(fee['most'] ?? 0)).toBeGreaterThanOrEqual(BigInt(fee['expected'] ?? 0))
  })

  /** Returns the ether of the call. */
  const BACK = '5b600060006000600034335af100'

  it.each([
    ['for nothing', `3a1560065700${BACK}`],
    ['in a block without a base fee', `481560065700${BACK}`],
    ['with an excessive gas limit', `5a6298968010600a5700${BACK}`],
  ])('shows what a contract spends that returns ether if it runs %s', async (_, code) => {
    const honest = '0x00000000000000000000000000000000000c0de2'
    await node.request({ method: 'anvil_setCode', params: [honest, `0x${code}`] })
    const { wallet, send } = open({ policy: 'ask' })
    const calls = [{ to: honest, value: '0x5', data: '0x01' }]
    const requests = [send({ calls }), send({ calls: [...calls, ...calls] })]
    for (const [i, amount] of ['-5', '-10'].entries()) {
      const { question, reject } = await wallet.approvals.next()
      reject()
      expect(await refusal(requests[i]!)).toMatchObject({ code: 4001 })
      expect(question).toMatchObject({ preview: { status: 'success', changes: [{ asset: 'native', amount }] } })
    }
  })

  it('accepts answers to the questions of one account in any order', async () => {
    const { wallet, send, settled } = open({ policy: 'ask' })
    const sent = ['one', 'two', 'three'].map((id) => send({ id, calls: [call] }))
    const prompts = [await wallet.approvals.next(), await wallet.approvals.next(), await wallet.approvals.next()]
    prompts[2]?.approve()
    prompts[0]?.reject()
    prompts[1]?.approve()
    const outcomes = await Promise.allSettled(sent)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') expect((await settled(outcome.value)).status).toBe(200)
  })

  it('replaces the question if the call has begun to fail meanwhile', async () => {
    const { wallet, ask, alice: from } = open({ policy: 'ask' })
    const target = '0x00000000000000000000000000000000000c0de1'
    const sent = ask<string>('eth_sendTransaction', { from, to: target })
    const first = await wallet.approvals.next()
    await node.request({ method: 'anvil_setCode', params: [target, `0x${REVERTER}`] })
    const nonce = await ask('eth_getTransactionCount', from, 'pending')
    first.approve()
    const second = await wallet.approvals.next()
    expect(second.question).toMatchObject({ replaces: first.question.id, preview: { status: 'reverted' } })
    expect(await ask('eth_getTransactionCount', from, 'pending')).toBe(nonce)
    second.reject()
    expect(await refusal(sent)).toMatchObject({ code: 4001 })
    expect(await ask('eth_getTransactionCount', from, 'pending')).toBe(nonce)
  })

  it('replaces the question if the base fee has exceeded the fee cap', async () => {
    const { wallet, ask, alice: from } = open({ policy: 'ask' })
    const sent = ask<string>('eth_sendTransaction', { from, to: bob })
    const first = await wallet.approvals.next()
    await node.request({ method: 'anvil_setNextBlockBaseFeePerGas', params: ['0x174876e800'] })
    await node.request({ method: 'evm_mine', params: [] })
    first.approve()
    const second = await wallet.approvals.next()
    expect(second.question.replaces).toBe(first.question.id)
    second.approve()
    const hash = await sent
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  it('creates questions in the order of the requests, whether or not earlier ones fail', async () => {
    const { wallet, ask, send } = open({ policy: 'ask' })
    const many = Array.from({ length: 40 }, () => call)
    const requests = [
      send({ id: 'long', from: bob, calls: many }),
      send({ id: 'refused', calls: [] }),
      ask('eth_sendTransaction', { to: bob }),
      send({ id: 'last', calls: [call] }),
    ]
    const questions = [await wallet.approvals.next(), await wallet.approvals.next(), await wallet.approvals.next()]
    expect(questions.map(({ question }) => ('batchId' in question ? question.batchId : question.kind))).toEqual(['long', 'send', 'last'])
    for (const prompt of questions) prompt.reject()
    for (const outcome of await Promise.allSettled(requests)) expect(outcome.status).toBe('rejected')
  })

  it('creates one question if a limit was too low from the start', async () => {
    const { wallet, ask, send, settled } = open()
    const kinds = questionKinds(wallet)
    await ask('eth_sendTransaction', { from: bob, to: bob, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1' })
    await node.request({ method: 'anvil_dropAllTransactions', params: [] })
    const starving = { to: bob, capabilities: { gasLimitOverride: { value: '0x1' } } }
    const batch = await settled(await send({ atomicRequired: true, calls: [{ to: ZERO, value: '0x1' }, starving] }))
    expect([200, 500]).toContain(batch.status)
    expect(kinds.filter((kind) => kind !== 'upgrade')).toHaveLength(2)
  })

  it('creates new questions, first for the upgrade, if the account has lost its code meanwhile', async () => {
    await using fresh = await createPocketchain({ cadence: 'instant' })
    const { wallet, send, settled } = sender(fresh, { policy: 'ask' })
    wallet.approvals.setPolicy('approve')
    await settled(await send(atomic))
    wallet.approvals.setPolicy('ask')
    const sent = send(atomic)
    const first = await wallet.approvals.next()
    await fresh.request({ method: 'anvil_setCode', params: [alice, '0x'] })
    first.approve()
    await answerNext(wallet, 'upgrade', 'approve')
    const second = await wallet.approvals.next({ kind: 'batch' })
    expect(second.question.replaces).toBe(first.question.id)
    second.approve()
    expect(await settled(await sent)).toMatchObject({ status: 200, atomic: true })
  })
})

describe('a chain without the delegate', () => {
  it('is 5710 without a question if it cannot be deployed', async () => {
    await using fresh = await createPocketchain({ cadence: 'instant' })
    // The occupied address prevents the deployment.
    await fresh.request({ method: 'anvil_setCode', params: [DELEGATE.address, '0x'] })
    const { wallet, send } = sender(fresh)
    const kinds = questionKinds(wallet)
    expect(await refusal(send(atomic))).toMatchObject({ code: 5710 })
    expect(kinds).toEqual([])
  })

  it('gets it by a preceding transaction that the question shows and the status leaves out', async () => {
    await using fresh = await createPocketchain({ cadence: 'instant' })
    await fresh.request({ method: 'anvil_setCode', params: [DELEGATE.address, '0x'] })
    await fresh.request({ method: 'anvil_setNonce', params: [DELEGATE.address, '0x0'] })
    const { wallet, ask, send, settled } = sender(fresh, { policy: 'ask' })
    expect(await ask('wallet_getCapabilities', alice)).toMatchObject({ '0x7a69': { atomic: { status: 'ready' } } })
    const sent = send(atomic)
    const upgrade = await wallet.approvals.next({ kind: 'upgrade' })
    expect(upgrade.question).toMatchObject({ deploys: true, delegate: DELEGATE.address, delegateBefore: null, account: alice })
    upgrade.approve()
    await answerNext(wallet, 'batch', 'approve')
    const { status, receipts } = await settled(await sent)
    expect(status).toBe(200)
    expect(receipts).toHaveLength(1)
    expect(await ask('eth_getTransactionCount', alice, 'latest')).toBe('0x3')
    expect(await ask<string>('eth_getCode', DELEGATE.address, 'latest')).not.toBe('0x')
    wallet.approvals.setPolicy('approve')
    expect(await settled(await send(atomic))).toMatchObject({ status: 200, atomic: true })
  })
})

async function delegate(to: Pocketchain, account: string, code: string): Promise<void> {
  await to.request({ method: 'anvil_setCode', params: [account, `0xef0100${code.slice(2)}`] })
}

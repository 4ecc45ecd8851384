import { createWalletClient, custom, zeroHash } from 'viem'
import { describe, expect, it } from 'vitest'
import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { RpcError, memoryRecords } from '../../jsonrpc/index.ts'
import type { RpcRequest } from '../../jsonrpc/index.ts'
import { embeddedChain } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { answering } from '../batches/operations.fixture.ts'
import { LOGGER, REVERTER, questionKinds, creating, deploy, sender, visibleState } from '../batches/sender.fixture.ts'
import { ORIGIN, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
const real = await startNode({ chainId: 8453 })
const reverter = await deploy(node, creating(REVERTER))
const bob = node.accounts[1]?.address ?? Address.zero
const to = bob

function open(options: Parameters<typeof sender>[1] = {}) {
  return sender(node, { further: [{ ...embeddedChain(real), isEmbedded: false }], ...options })
}

async function sent(hash: string): Promise<Record<string, unknown>> {
  return (await node.request({ method: 'eth_getTransactionByHash', params: [hash] })) as Record<string, unknown> // of a transaction that was just sent
}

describe('eth_sendTransaction', () => {
  it.each([
    ['no parameter', undefined, -32602],
    ['a string', 'text', -32602],
    ['neither target nor data', {}, -32602],
    ['a target that is no address', { to: 'bob' }, -32602],
    ['a value in decimal', { to, value: '1' }, -32602],
    ['data and input that differ', { to, data: '0x01', input: '0x02' }, -32602],
    ['a gas price beside a fee cap', { to, gasPrice: '0x1', maxFeePerGas: '0x1' }, -32602],
    ['a tip above the fee cap', { to, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }, -32602],
    ['another chain', { to, chainId: '0x1' }, -32602],
    ['an authorization', { to, authorizationList: [{ chainId: '0x7a69', address: to, nonce: '0x0' }] }, -32602],
    ['blobs', { to, blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }, -32602],
    ['an unknown type', { to, type: '0x5' }, -32602],
    ['an unknown type with leading zeros', { to, type: '0x05' }, -32602],
    ['the type of a rollup deposit', { to, type: '0x7e' }, -32602],
    ['a type that is a number', { to, type: 2 }, -32602],
    ['a type that is no number', { to, type: 'legacy' }, -32602],
    ['a type in capital letters', { to, type: '0X2' }, -32602],
    ['the type of blobs', { to, type: '0x3' }, -32602],
    ['the type of authorizations without any', { to, type: '0x4' }, -32602],
    ['the type of authorizations with an empty list', { to, type: '0x4', authorizationList: [] }, -32602],
    ['a gas price in type 2', { to, type: '0x2', gasPrice: '0x77359400' }, -32602],
    ['a fee cap in type 0', { to, type: '0x0', maxFeePerGas: '0x77359400' }, -32602],
    ['a tip in type 1', { to, type: '0x1', maxPriorityFeePerGas: '0x1' }, -32602],
    ['an access list in type 0', { to, type: '0x0', accessList: [{ address: bob, storageKeys: [] }] }, -32602],
    ['an account that the wallet lacks', { to, from: `0x${'12'.repeat(20)}` }, 4100],
  ])('with %s is rejected without a question and without effect', async (_, transaction, code) => {
    const mine = open()
    const kinds = questionKinds(mine.wallet)
    const before = await visibleState(node, mine)
    const params = transaction === undefined ? [] : [transaction]
    expect(await refusal(mine.ask('eth_sendTransaction', ...params))).toMatchObject({ code })
    expect(await visibleState(node, mine)).toEqual(before)
    expect(kinds).toEqual([])
    expect(mine.errors).toEqual([])
  })

  it.each([
    ['the type', { type: '0x3' }],
    ['the hashes', { blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }],
    ['the fee', { maxFeePerBlobGas: '0x1' }],
    ['the blobs alone', { blobs: ['0x00'] }],
    ['the sidecars of viem', { sidecars: [{ blob: '0x00', commitment: '0x00', proof: '0x00' }] }],
    ['their proofs', { commitments: ['0x00'], proofs: ['0x00'] }],
  ])('with blobs says where they can be sent instead, known by %s', async (_, fields) => {
    const mine = open()
    const kinds = questionKinds(mine.wallet)
    const before = await visibleState(node, mine)
    for (const method of ['eth_sendTransaction', 'eth_fillTransaction']) {
      expect(await refusal(mine.ask(method, { to, ...fields })), method).toMatchObject({
        code: -32602,
        message: expect.stringMatching(/blob transactions \(EIP-4844\) .* eth_sendRawTransaction/),
      })
    }
    // viem sends a refused request under this name, and shows the first error only if the answer is -32601.
    expect(await refusal(mine.ask('wallet_sendTransaction', { to, ...fields }))).toMatchObject({ code: -32601 })
    expect(await visibleState(node, mine)).toEqual(before)
    expect(kinds).toEqual([])
  })

  it('with empty lists for blobs is an ordinary one', async () => {
    const mine = open()
    const hash = await mine.ask<string>('eth_sendTransaction', { to, blobs: [], blobVersionedHashes: [], sidecars: null, type: '0x2' })
    expect(await sent(hash)).toMatchObject({ type: '0x2' })
  })

  it('is rejected in viem with the message of the wallet', async () => {
    const { provider, alice } = open()
    const client = createWalletClient({ account: alice, transport: custom(provider) })
    const authorization = { address: alice, chainId: 31_337, nonce: 0, r: zeroHash, s: zeroHash, yParity: 0 }
    const sending = client.sendTransaction({ to, chain: null, authorizationList: [authorization] })
    await expect(sending).rejects.toThrow('(EIP-7702), which this wallet does not sign')
  })

  it('returns the hash of an accepted transaction although it cannot be recorded', async () => {
    const records = memoryRecords()
    let isFull = false
    const put: typeof records.put = (key, value) => {
      if (isFull) throw new Error('no space left')
      records.put(key, value)
    }
    const rpc = answering(node, (method) => {
      if (method === 'eth_sendRawTransaction') isFull = true
      return undefined
    })
    const mine = open({ chains: [{ ...embeddedChain(node), rpc }], records: { ...records, put } })
    const hash = await mine.ask<Hash>('eth_sendTransaction', { to, value: '0x1' })
    expect(await sent(hash)).toMatchObject({ hash })
    expect(mine.errors).toContainEqual(new Error('no space left'))
  })

  it('rejects an authorization of an app with the reason', async () => {
    const request = { to, authorizationList: [{}] }
    const { message, data } = await refusal(open().ask('eth_sendTransaction', request))
    expect(message).toMatch(/EIP-7702.*wallet_sendCalls/)
    expect(data).toEqual({ reason: 'authorization-list' })
  })

  it('names a type that it does not support', async () => {
    const message = async (type: string) => (await refusal(open().ask('eth_sendTransaction', { to, type }))).message
    expect(await message('0x5')).toBe(
      'The wallet cannot parse the request: invalid argument 0 (transaction).type: transaction type 0x5 is unknown; use 0x0, 0x1 or 0x2, or leave the type out',
    )
    expect(await message('0x4')).toMatch(/type 0x4 \(EIP-7702\) needs an authorizationList/)
  })

  it.each(['gas', 'gasLimit', 'nonce'])('rejects more than 64 bits as %s', async (name) => {
    const { message } = await refusal(open().ask('eth_sendTransaction', { to, [name]: '0x10000000000000000' }))
    expect(message).toBe(`The wallet cannot parse the request: invalid argument 0 (transaction).${name}: hex number > 64 bits`)
  })

  it('sends the type that the app requests', async () => {
    const { ask } = open()
    const accessList = [{ address: reverter, storageKeys: [] }]
    const typeOf = async (fields: object) => (await sent(await ask('eth_sendTransaction', { from: bob, to: bob, ...fields })))['type']
    expect(await typeOf({ type: '0x0' })).toBe('0x0')
    expect(await typeOf({ type: '0x1', accessList })).toBe('0x1')
    expect(await typeOf({ type: '0x1' })).toBe('0x1')
    expect(await typeOf({ type: '0x1', gasPrice: '0x12a05f2000' })).toBe('0x1')
    expect(await typeOf({ type: '0x2', accessList })).toBe('0x2')
    expect(await typeOf({ type: null })).toBe('0x2')
    expect(await typeOf({ type: '0x0', gasPrice: '0x12a05f2000' })).toBe('0x0')
  })

  it('is -32602 without a question if the node suggests a gas price that is no quantity, unless the app names one', async () => {
    const rpc = answering(node, (method) => (method === 'eth_gasPrice' ? 'many' : undefined))
    const mine = sender(node, { chains: [{ ...embeddedChain(node), rpc }] })
    const kinds = questionKinds(mine.wallet)
    for (const type of ['0x0', '0x1']) {
      const { code, message } = await refusal(mine.ask('eth_sendTransaction', { to, type }))
      expect([code, message]).toEqual([-32602, expect.stringContaining('gasPrice: the node answered eth_gasPrice with "many"')])
    }
    expect(kinds).toEqual([])
    expect(mine.errors).toEqual([])
    expect(await mine.ask('eth_sendTransaction', { from: bob, to, type: '0x1', gasPrice: '0x12a05f2000' })).toMatch(/^0x/)
  })

  it('of a site that is not connected is 4100', async () => {
    const mine = open()
    mine.wallet.sites.disconnect(ORIGIN)
    expect(await refusal(mine.ask('eth_sendTransaction', { to }))).toMatchObject({ code: 4100, data: { reason: 'not-connected' } })
  })

  it('with a dev account on a real chain is 4100 without a question', async () => {
    const mine = open()
    mine.wallet.sites.selectChain(ORIGIN, 8453)
    const kinds = questionKinds(mine.wallet)
    expect(await refusal(mine.ask('eth_sendTransaction', { to }))).toMatchObject({
      code: 4100,
      data: { reason: 'dev-account-on-real-chain' },
    })
    expect(kinds).toEqual([])
    expect(await real.request({ method: 'eth_blockNumber', params: [] })).toBe('0x0')
  })

  it('that the user rejects is 4001 without effect', async () => {
    const mine = open({ policy: 'reject' })
    const before = await visibleState(node, mine)
    expect(await refusal(mine.ask('eth_sendTransaction', { to }))).toMatchObject({ code: 4001, message: 'User rejected the request' })
    expect(await visibleState(node, mine)).toEqual(before)
  })

  it('that the node rejects has the message of the node, without effect', async () => {
    const mine = open()
    const before = await visibleState(node, mine)
    const refused = await refusal(mine.ask('eth_sendTransaction', { to, value: `0x${'f'.repeat(30)}` }))
    expect(refused).toMatchObject({ code: -32000, message: expect.stringContaining('insufficient funds') })
    expect(await visibleState(node, mine)).toEqual(before)
  })

  it('creates one question, adds missing fields and returns the hash', async () => {
    const mine = open()
    const kinds = questionKinds(mine.wallet)
    const hash = await mine.ask<string>('eth_sendTransaction', { to, value: '0x3', somethingElse: true, type: '0x2' })
    expect(await sent(hash)).toMatchObject({ from: mine.alice, to, value: '0x3', type: '0x2', gas: '0x5208', chainId: '0x7a69' })
    expect(kinds).toEqual(['send'])
  })

  it('warns once of a new recipient, and of one that resembles a known recipient', async () => {
    const records = memoryRecords()
    const warned = async (recipient: Address) => {
      const { ask, wallet } = open({ records })
      const codes: string[] = []
      wallet.approvals.subscribe(({ question, type }) => {
        if (type === 'asked') codes.push(...question.warnings.map(({ code }) => code))
      })
      await ask('eth_sendTransaction', { to: recipient, value: '0x1' })
      return codes
    }
    const friend = Address.from(`0xfa${'12'.repeat(18)}ce`)
    expect(await warned(friend)).toEqual(['first-interaction'])
    expect(await warned(friend)).toEqual([])
    expect(await warned(Address.from(`0xfa12${'77'.repeat(16)}12ce`))).toEqual(['address-poisoning'])
  })

  it('has the gas, fees, sender, chain and access list of the app', async () => {
    const { ask } = open()
    const accessList = [{ address: reverter, storageKeys: [`0x${'00'.repeat(32)}`] }]
    const fees = { gasLimit: '0xc350', maxFeePerGas: '0x12a05f2000', maxPriorityFeePerGas: '0x3b9aca00' }
    const hash = await ask<string>('eth_sendTransaction', { from: bob, to: bob, input: '0x1234', chainId: '0x07a69', accessList, ...fees })
    expect(await sent(hash)).toMatchObject({
      from: bob,
      type: '0x2',
      gas: '0xc350',
      maxFeePerGas: fees.maxFeePerGas,
      maxPriorityFeePerGas: fees.maxPriorityFeePerGas,
      input: '0x1234',
      accessList,
    })
    const legacy = await ask<string>('eth_sendTransaction', { from: bob, to: bob, gasPrice: '0x12a05f2000' })
    expect(await sent(legacy)).toMatchObject({ type: '0x0', gasPrice: '0x12a05f2000', chainId: '0x7a69' })
    const listed = await ask<string>('eth_sendTransaction', { from: bob, to: bob, gasPrice: '0x12a05f2000', accessList })
    expect(await sent(listed)).toMatchObject({ type: '0x1', accessList })
  })

  it('creates contracts', async () => {
    const { ask, alice } = open()
    const hash = await ask<string>('eth_sendTransaction', { data: creating(LOGGER) })
    const { contractAddress } = await ask<{ contractAddress: string }>('eth_getTransactionReceipt', hash)
    expect(await ask('eth_getCode', contractAddress, 'latest')).toBe(`0x${LOGGER}`)
    expect(await sent(hash)).toMatchObject({ from: alice, to: null })
  })

  it('sends a transaction that reverts if the user approves it', async () => {
    const { wallet, ask } = open({ policy: 'ask' })
    const answer = ask<string>('eth_sendTransaction', { to: reverter })
    const prompt = await wallet.approvals.next()
    expect(prompt.question).toMatchObject({ kind: 'send', preview: { status: 'reverted' } })
    prompt.approve()
    expect(await ask('eth_getTransactionReceipt', await answer)).toMatchObject({ status: '0x0' })
  })

  it('has the nonce of the app, which may replace another transaction', async () => {
    const { ask, alice } = open()
    const nonce = await ask<string>('eth_getTransactionCount', alice, 'pending')
    expect(await sent(await ask('eth_sendTransaction', { to, nonce }))).toMatchObject({ nonce })
    expect(await refusal(ask('eth_sendTransaction', { to, nonce }))).toMatchObject({ message: expect.stringContaining('nonce too low') })
  })

  it.each([
    ['a gas price', { gasPrice: Hex.fromQuantity(10n ** 14n), gas: '0x5208' }, ['danger chosen-fee']],
    ['a tip', { maxFeePerGas: Hex.fromQuantity(10n ** 14n), maxPriorityFeePerGas: Hex.fromQuantity(10n ** 14n) }, ['danger chosen-fee']],
    ['a price with which much gas is offered', { gasPrice: Hex.fromQuantity(10n ** 11n), gas: '0xf42400' }, ['danger chosen-fee']],
    ['a cap that is not reached', { maxFeePerGas: Hex.fromQuantity(10n ** 14n), maxPriorityFeePerGas: '0x1' }, []],
    ['a high price of a small fee', { gasPrice: Hex.fromQuantity(10n ** 11n), gas: '0x5208' }, []],
    ['none', {}, []],
  ])('warns of a fee far above that of the chain, chosen by the app: %s', async (_, fields, expected) => {
    const { wallet, ask } = open({ policy: 'ask' })
    const sending = refusal(ask('eth_sendTransaction', { to, ...fields }))
    const { question, reject } = await wallet.approvals.next()
    expect(question.warnings.map(({ level, code }) => `${level} ${code}`)).toEqual(expected)
    reject()
    expect(await sending).toMatchObject({ code: 4001 })
  })

  it('warns of a nonce of the app, and of insufficient gas', async () => {
    const { wallet, ask, alice } = open({ policy: 'ask' })
    const next = Number(await ask('eth_getTransactionCount', alice, 'pending'))
    const rows = [
      { fields: { nonce: Hex.fromQuantity(next) }, warnings: [], preview: { status: 'success' } },
      { fields: { nonce: Hex.fromQuantity(next + 2) }, warnings: [{ code: 'chosen-nonce' }], preview: { status: 'success' } },
      { fields: { nonce: Hex.fromQuantity(next - 1) }, warnings: [{ code: 'chosen-nonce' }], preview: { status: 'success' } },
      { fields: { gas: '0x0' }, warnings: [{ code: 'simulation-reverts' }], preview: { status: 'reverted' } },
      {
        fields: { data: creating(LOGGER), to: null, gas: '0xd000' },
        warnings: [{ code: 'simulation-reverts' }, {}],
        preview: { status: 'reverted' },
      },
      { fields: { gas: '0xffffffffffffff' }, warnings: [{ code: 'simulation-reverts' }, {}], preview: { status: 'reverted' } },
    ]
    for (const { fields, warnings, preview } of rows) {
      const answer = ask('eth_sendTransaction', { to, ...fields })
      const { question, reject } = await wallet.approvals.next()
      reject()
      expect(await refusal(answer)).toMatchObject({ code: 4001 })
      expect(question, JSON.stringify(fields)).toMatchObject({ warnings, preview })
    }
  })

  it('sends ten at once with ten nonces', async () => {
    const { ask } = open()
    const hashes = await Promise.all(Array.from({ length: 10 }, () => ask<string>('eth_sendTransaction', { from: bob, to: bob })))
    const nonces = await Promise.all(hashes.map(async (hash) => Number((await sent(hash))['nonce'])))
    expect(new Set(nonces).size).toBe(10)
    expect(Math.max(...nonces) - Math.min(...nonces)).toBe(9)
  })

  it('uses the next nonce if another program has used the planned one', async () => {
    const [account] = node.accounts
    let isTaken = false
    const chain = between(async ({ method }) => {
      if (method !== 'eth_sendRawTransaction' || isTaken) return
      isTaken = true
      await node.request({ method: 'eth_sendTransaction', params: [{ from: account?.address, to }] })
    })
    const { ask } = sender(node, { chains: [chain] })
    const hash = await ask<string>('eth_sendTransaction', { to, value: '0x9' })
    expect(await sent(hash)).toMatchObject({ value: '0x9' })
    expect(isTaken).toBe(true)
  })

  it('reports an unknown result if the response of the node was lost', async () => {
    const chain = between(async ({ method }) => {
      if (method === 'eth_sendRawTransaction') throw new RpcError(-32000, 'no answer within 10 s', { reason: 'timeout' })
    })
    const mine = sender(node, { chains: [chain] })
    const { message, data } = await refusal(mine.ask('eth_sendTransaction', { to }))
    expect(message).toMatch(/may have taken the transaction 0x[0-9a-f]{64} or not/)
    expect(data).toMatchObject({ reason: 'unsure', hash: expect.stringMatching(/^0x/) as Hash })
  })
})

/** The node's chain, with `look` called before each request. */
function between(look: (request: RpcRequest) => Promise<void>): WalletChain {
  const rpc = {
    subscribe: node.subscribe,
    request: async (request: RpcRequest) => {
      await look(request)
      return node.request(request)
    },
  }
  return { ...embeddedChain(node), rpc }
}

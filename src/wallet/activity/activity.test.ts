import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ManualClock } from '../../chain/index.ts'
import { ManualClock as Clock } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain } from '../../index.ts'
import { RpcError, memoryRecords } from '../../jsonrpc/index.ts'
import type { Call } from '../batches/call.ts'
import { Deployed, raw } from '../batches/calls.fixture.ts'
import { answering } from '../batches/operations.fixture.ts'
import { answerNext, sender } from '../batches/sender.fixture.ts'
import type { Sender } from '../batches/sender.fixture.ts'
import { embeddedChain } from '../chains/chain.ts'
import { ACTIVITIES, ACTIVITY_BYTES, FOLLOWED_TRANSACTIONS } from '../limits.ts'
import { contracts } from '../preview/contracts.fixture.ts'
import { putForgers } from '../preview/forger.fixture.ts'
import { ORIGIN, connected, openWallet, refusal, startNode } from '../wallet.fixture.ts'
import type { Wallet } from '../wallet.ts'
import type { ActivityView } from './activities.ts'
import type { OpenAllowance } from './allowances.ts'
import { holdingsOf } from './holdings.ts'

const node = await startNode()
const [dev] = node.accounts.map(({ address }) => address) as [Address] // a node has ten
const deployed = await Deployed.on(node, dev)

const requestOf = ({ to, value, data }: Call) => ({ to, value: Hex.fromQuantity(value), data: Hex.fromBytes(data) })

/** Resolves with the newest activity once it satisfies `isDue`. */
async function newest({ activities }: Wallet, isDue: (activity: ActivityView) => boolean): Promise<ActivityView> {
  const read = () => activities.page({}).activities[0]
  const first = read()
  if (first !== undefined && isDue(first)) return first
  return new Promise((resolve) => {
    const end = activities.subscribe(() => {
      const now = read()
      if (now === undefined || !isDue(now)) return
      end()
      resolve(now)
    })
  })
}

const isSealed = ({ outcome }: ActivityView) => outcome?.state === 'sealed' && outcome.transactions.every(({ isSealed: is }) => is)

async function manual(): Promise<{ readonly own: Pocketchain; readonly clock: ManualClock; readonly alice: Sender }> {
  const clock = new Clock(1_700_000_000_000)
  const own = await createPocketchain({ clock, timestamp: 1_700_000_000 })
  onTestFinished(() => own.close())
  return { own, clock, alice: sender(own) }
}

describe('the activities', () => {
  it('have each approved question and no rejected one, newest first', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet, ORIGIN, { accounts: [dev] })
    const refused = refusal(provider.request({ method: 'personal_sign', params: ['0x6869', dev] }))
    ;(await wallet.approvals.next()).reject()
    expect((await refused).code).toBe(4001)
    const signed = provider.request({ method: 'personal_sign', params: ['0x6869', dev] })
    const { question, approve } = await wallet.approvals.next()
    approve()
    await signed
    const { activities, next } = wallet.activities.page({})
    expect(next).toBeNull()
    expect(activities).toMatchObject([
      {
        id: question.id,
        kind: 'sign',
        origin: ORIGIN,
        account: dev,
        by: 'manual',
        outcome: null,
        signature: { scheme: 'personal_sign', text: 'hi' },
      },
      { kind: 'connect', origin: ORIGIN, accounts: [dev], chain: { name: 'Pocketchain' }, outcome: null },
    ])
  })

  it('follow a transaction from its signature to the sealed block, with fee and time to the pre-confirmation', async () => {
    const { own, clock, alice } = await manual()
    const { wallet, ask, alice: from, bob } = alice
    const states: (string | undefined)[] = []
    wallet.activities.subscribe((changed) => states.push(...changed.map(({ outcome }) => outcome?.state)))
    const hash = await ask<Hash>('eth_sendTransaction', { from, to: bob, value: '0x1' })
    await newest(wallet, ({ outcome }) => outcome?.state === 'sent')
    await clock.advance(200)
    const promised = await newest(wallet, ({ outcome }) => outcome?.state === 'preconfirmed')
    const [transaction] = promised.outcome?.transactions ?? []
    expect(transaction).toMatchObject({ hash, isSuccess: true, isSealed: false, promise: { afterMs: 200 } })
    await clock.advance(2_000)
    const sealed = await newest(wallet, isSealed)
    const receipt = (await own.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as Record<string, Hex>
    const paid = BigInt(receipt['gasUsed'] ?? 0) * BigInt(receipt['effectiveGasPrice'] ?? 0) + BigInt(receipt['l1Fee'] ?? 0)
    expect(sealed.outcome?.transactions).toMatchObject([
      { hash, fee: Hex.fromQuantity(paid), blockNumber: receipt['blockNumber'], promise: transaction?.promise, contractAddress: null },
    ])
    expect([...new Set(states)]).toEqual(['signing', 'sent', 'preconfirmed', 'sealed'])
  })

  it('follow a transaction whose response was lost, and do not list it as not sent', async () => {
    const { own, clock } = await manual()
    let isDown = true
    const request: Pocketchain['request'] = async (asked) => {
      const result = await own.request(asked)
      if (isDown && /^eth_(sendRawTransaction|getTransactionByHash)$/.test(asked.method)) {
        throw new RpcError(-32000, 'no answer within 10 s', { reason: 'timeout' })
      }
      return result
    }
    const remote = { ...embeddedChain(own), isEmbedded: false, rpc: { subscribe: own.subscribe, request } }
    const { wallet, ask, bob } = sender(own, { chains: [remote] })
    const { data } = await refusal(ask('eth_sendTransaction', { to: bob, value: '0x1' }))
    expect(data).toMatchObject({ reason: 'unsure' })
    isDown = false
    expect((await newest(wallet, () => true)).outcome).toMatchObject({
      state: 'sent',
      transactions: [{ hash: (data as { hash: Hash }).hash }],
    })
    await clock.advance(2_200)
    expect((await newest(wallet, isSealed)).outcome?.transactions).toMatchObject([{ isSuccess: true }])
  })

  it('do not send a transaction again whose response was lost: its site may do so', async () => {
    const { own } = await manual()
    const submissions: unknown[] = []
    const request: Pocketchain['request'] = async (asked) => {
      if (asked.method !== 'eth_sendRawTransaction') return own.request(asked)
      submissions.push(asked)
      throw new RpcError(-32000, 'no answer within 10 s', { reason: 'timeout' })
    }
    const chains = [{ ...embeddedChain(own), isEmbedded: false, rpc: { subscribe: own.subscribe, request } }]
    const records = memoryRecords()
    const { wallet, ask, bob } = sender(own, { chains, records })
    await refusal(ask('eth_sendTransaction', { to: bob, value: '0x1' }))
    expect((await newest(wallet, () => true)).outcome).toMatchObject({ state: 'sent' })
    await wallet.close()
    const { wallet: restarted } = openWallet(own, { chains, records })
    expect((await newest(restarted, ({ outcome }) => outcome?.state !== 'sent')).outcome).toMatchObject({ state: 'not-included' })
    expect(submissions).toHaveLength(1)
  })

  it('show a retraction, and what follows', async () => {
    const { own, clock, alice } = await manual()
    const { wallet, ask, alice: from, bob } = alice
    const hash = await ask<Hash>('eth_sendTransaction', { from, to: bob, value: '0x1' })
    await clock.advance(200)
    await newest(wallet, ({ outcome }) => outcome?.state === 'preconfirmed')
    await own.request({ method: 'pocketchain_retract', params: [hash] })
    await own.request({ method: 'pocketchain_hold', params: [hash] })
    await clock.advance(200)
    await newest(wallet, ({ outcome }) => outcome?.state === 'retracted')
    await own.request({ method: 'pocketchain_drop', params: [hash] })
    await clock.advance(200)
    const gone = await newest(wallet, ({ outcome }) => outcome?.state === 'not-included')
    expect(gone.outcome).toMatchObject({ status: 400, reason: 'dropped' })
  })

  it('name the address of a created contract', async () => {
    const { wallet, ask, alice } = sender(node)
    const hash = await ask<Hash>('eth_sendTransaction', { from: alice, data: contracts().Card.bytecode })
    const { contractAddress } = (await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as {
      contractAddress: Address
    }
    expect((await newest(wallet, isSealed)).outcome?.transactions).toMatchObject([{ contractAddress }])
  })

  it('say why a transaction failed', async () => {
    const { wallet, ask, alice } = sender(node)
    await ask('eth_sendTransaction', { from: alice, gas: '0x186a0', ...requestOf(deployed.call('Faults', 'text', ['too late'])) })
    expect((await newest(wallet, isSealed)).outcome).toMatchObject({ status: 500, message: 'too late', failedCall: 0 })
  })

  it('name the failing call of a batch with its reason and data, as its status does', async () => {
    const { wallet, send, settled, alice } = sender(node)
    const calls = [deployed.call('Coin', 'transfer', [dev, 1n]), deployed.call('Faults', 'custom', [])].map(requestOf)
    const id = await send({ from: alice, atomicRequired: true, calls })
    const failure = { reason: 'it reverts with an unknown error, 0x8131bba8', data: expect.stringMatching(/^0x[0-9a-f]{136}$/) }
    const { status, capabilities } = await settled(id)
    expect(status).toBe(500)
    expect(capabilities.status).toMatchObject({
      reason: 'reverted',
      calls: [{ outcome: 'reverted' }, { outcome: 'reverted', failure: { data: failure.data } }],
    })
    expect(capabilities.status.calls[0]).not.toHaveProperty('failure')
    expect(capabilities.status.message).toMatch(/^call 2 failed, so that none had an effect: /)
    const activity = await newest(wallet, isSealed)
    expect(activity).toMatchObject({ kind: 'batch', batchId: id, outcome: { status: 500, failedCall: 1 } })
    expect(activity.calls).toHaveLength(2)
  })

  it('name the call that failed among separate transactions', async () => {
    const { wallet, send, settled, bob } = sender(node)
    await wallet.batches.waitForUpgrade(wallet.chains.default, bob)
    const calls = [deployed.call('Faults', 'text', ['no']), { to: dev, value: 1n, data: new Uint8Array(), gasLimitOverride: null }].map(
      requestOf,
    )
    const { status, capabilities } = await settled(await send({ from: bob, calls }))
    expect(status).toBe(600)
    expect(capabilities.status.calls).toMatchObject([{ outcome: 'reverted', failure: { reason: 'no' } }, { outcome: 'success' }])
  })

  it('keep what the node refused, with its reason', async () => {
    const { wallet, ask, alice, bob } = sender(node)
    const error = await refusal(ask('eth_sendTransaction', { from: alice, to: bob, nonce: '0x0', gas: '0x5208' }))
    const [first] = wallet.activities.page({}).activities
    expect(first).toMatchObject({ kind: 'send', failure: error.message, outcome: { state: 'not-sent', message: error.message } })
  })

  it('have an upgrade with the outcome of its batch: waiting, not sent, or included', async () => {
    const { own, clock, alice } = await manual()
    const { wallet, ask, alice: from, bob } = alice
    wallet.approvals.setPolicy('ask')
    const failing = { to: bob, value: Hex.fromQuantity(10n ** 30n) }
    const calls = [
      { to: bob, value: '0x1' },
      { to: bob, value: '0x2' },
    ]
    const send = (list: readonly object[]) =>
      ask('wallet_sendCalls', { version: '2.0.0', chainId: '0x7a69', from, atomicRequired: true, calls: list })
    const upgrades = () => wallet.activities.page({}).activities.filter(({ kind }) => kind === 'upgrade')

    const refused = refusal(send(calls))
    await answerNext(wallet, 'upgrade', 'approve')
    const batch = await wallet.approvals.next({ kind: 'batch' })
    expect(upgrades()).toMatchObject([{ outcome: { state: 'awaiting-batch', status: null } }])
    batch.reject()
    const { message } = await refused
    expect(upgrades()).toMatchObject([{ outcome: { state: 'not-sent', message: `its batch was not sent: ${message}` } }])

    // The authorization takes effect although the calls revert.
    const sent = send([failing, ...calls])
    await answerNext(wallet, 'upgrade', 'approve')
    await answerNext(wallet, 'batch', 'approve')
    await sent
    await clock.advance(200)
    const failed = await newest(wallet, ({ outcome }) => outcome?.state === 'preconfirmed')
    expect(failed).toMatchObject({ kind: 'batch', outcome: { status: 500 } })
    expect(upgrades()[0]?.outcome).toMatchObject({ state: 'preconfirmed', status: 200, message: null, failedCall: null })
    const code = await own.request({ method: 'eth_getCode', params: [from, 'pending'] })
    expect(code).toMatch(/^0xef0100/)
  })

  it('have the typed data that was signed', async () => {
    const { wallet, ask, alice } = sender(node)
    const data = { types: { Mail: [{ name: 'text', type: 'string' }] }, primaryType: 'Mail', domain: {}, message: { text: 'hi' } }
    await ask('eth_signTypedData_v4', alice, data)
    const [signed] = wallet.activities.page({}).activities
    expect(signed?.signature).toMatchObject({ text: 'Mail', typedData: { primaryType: 'Mail', message: { text: 'hi' } } })
    await ask('eth_signTypedData_v4', alice, { ...data, message: { text: 'x'.repeat(ACTIVITY_BYTES) } })
    const [long] = wallet.activities.page({}).activities
    expect(long?.signature).toMatchObject({ text: 'Mail', typedData: null })
  })

  it('survive a restart', async () => {
    const records = memoryRecords()
    const first = sender(node, { records })
    await first.ask('eth_sendTransaction', { from: first.alice, to: first.bob, value: '0x1' })
    await newest(first.wallet, isSealed)
    const before = first.wallet.activities.page({})
    await first.wallet.close()
    const { wallet } = openWallet(node, { records })
    expect(wallet.activities.page({})).toEqual(before)
  })

  it('are filtered by account and site, and paged', async () => {
    const { wallet } = openWallet(node, { policy: 'approve' })
    const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address] // a node has ten
    for (const origin of ['https://a.example', 'https://b.example']) {
      wallet.sites.connect(origin, [alice, bob])
      const provider = wallet.provider(origin)
      for (const account of [alice, bob]) await provider.request({ method: 'personal_sign', params: ['0x00', account] })
    }
    const all = wallet.activities.page({}).activities
    expect(all.map(({ origin }) => origin)).toEqual(['https://b.example', 'https://b.example', 'https://a.example', 'https://a.example'])
    expect(wallet.activities.page({ account: bob }).activities.map(({ account }) => account)).toEqual([bob, bob])
    expect(wallet.activities.page({ origin: 'https://a.example' }).activities).toEqual(all.slice(2))
    const first = wallet.activities.page({ limit: 3 })
    expect(first).toEqual({ activities: all.slice(0, 3), next: all[2]?.id })
    expect(wallet.activities.page({ limit: 3, before: first.next ?? '' })).toEqual({ activities: all.slice(3), next: null })
    expect(wallet.activities.page({ before: 'nonsense' })).toEqual({ activities: [], next: null })
  })

  it('are the newest only, and a long one is kept without arguments and data', async () => {
    const records = memoryRecords()
    const { wallet } = openWallet(node, { policy: 'approve', records })
    wallet.sites.connect(ORIGIN, [dev])
    const provider = wallet.provider(ORIGIN)
    for (let i = 0; i < ACTIVITIES + 3; i++)
      await provider.request({ method: 'personal_sign', params: [Hex.fromQuantity(0x1000 + i), dev] })
    expect([...records.entries('wallet/activity/')]).toHaveLength(ACTIVITIES)
    const data = encodeFunctionData({ abi: contracts().Faults.abi, functionName: 'text', args: ['x'.repeat(30_000)] })
    await provider.request({ method: 'eth_sendTransaction', params: [{ from: dev, to: dev, data, gas: '0x200000' }] })
    const [long] = wallet.activities.page({}).activities
    expect(long?.calls).toMatchObject([{ to: dev, args: null, data: '0x' }])
    expect(JSON.stringify(long).length).toBeLessThan(ACTIVITY_BYTES)
  })

  it('keep the allowances and changes of a long batch, its first calls and their number', async () => {
    const { wallet, send, alice, bob } = sender(node)
    const calls = [
      deployed.call('Coin', 'approve', [bob, 2n ** 256n - 1n]),
      ...Array.from({ length: 99 }, () => deployed.call('Coin', 'transfer', [deployed.at.Taker, 1n])),
    ]
    await send({ from: alice, atomicRequired: true, calls: calls.map(requestOf) })
    const [long] = wallet.activities.page({}).activities
    expect(long).toMatchObject({
      kind: 'batch',
      changes: [{ token: deployed.at.Coin, amount: '-99' }],
      allowances: [{ token: deployed.at.Coin, spender: bob, amount: null }],
    })
    const kept = long?.calls ?? []
    expect(kept.length + (long?.omittedCalls ?? 0)).toBe(100)
    expect(kept[0]).toMatchObject({ to: deployed.at.Coin, signature: 'approve(address,uint256)' })
    expect(JSON.stringify(kept).length).toBeLessThanOrEqual(ACTIVITY_BYTES)
  })

  it('do not follow more than FOLLOWED_TRANSACTIONS at once, and send all', async () => {
    const { own, alice } = await manual()
    const hashes: Hash[] = []
    for (let i = 0; i < FOLLOWED_TRANSACTIONS + 2; i++) {
      hashes.push(await alice.ask<Hash>('eth_sendTransaction', { from: alice.alice, to: alice.bob, value: '0x1', gas: '0x5208' }))
    }
    const [last] = alice.wallet.activities.page({}).activities
    expect(last?.outcome).toMatchObject({ state: 'unknown', transactions: [{ hash: hashes.at(-1) }] })
    expect(await own.request({ method: 'eth_getTransactionByHash', params: [hashes.at(-1)] })).not.toBeNull()
    expect(alice.wallet.batches.latest(1_000)).toEqual([])
  })
})

describe('pocketchain_revokeAllowance', () => {
  const allowance = async (owner: Address, spender: Address) => {
    const { abi } = contracts().Coin
    const data = encodeFunctionData({ abi, functionName: 'allowance', args: [owner, spender] })
    const result = (await node.request({ method: 'eth_call', params: [{ to: deployed.at.Coin, data }, 'latest'] })) as Hex // bytes
    return decodeFunctionResult({ abi, functionName: 'allowance', data: result })
  }

  it('takes the allowance back, and is an activity', async () => {
    const { wallet, ask, alice } = sender(node)
    const spender = deployed.at.Taker
    await ask('eth_sendTransaction', { from: alice, ...requestOf(deployed.call('Coin', 'approve', [spender, 5n])) })
    expect(await allowance(alice, spender)).toBe(5n)
    const [given] = wallet.activities.page({}).activities
    expect(given?.allowances).toMatchObject([{ kind: 'erc20', amount: '5' }])
    const hash = await wallet.control.request({ method: 'pocketchain_revokeAllowance', params: [given?.id, 0] })
    const revoked = await newest(wallet, isSealed)
    expect(revoked).toMatchObject({
      kind: 'revoke',
      calls: [
        { label: 'token COIN', signature: 'approve(address,uint256)', summary: expect.stringContaining('Revoke the allowance of COIN') },
      ],
    })
    expect(revoked).toMatchObject({ kind: 'revoke', origin: 'local', outcome: { transactions: [{ hash, isSuccess: true }] } })
    expect(await allowance(alice, spender)).toBe(0n)
  })

  it('returns the hash of an accepted transaction although it cannot be recorded', async () => {
    const records = memoryRecords()
    let isFull = false
    const put: typeof records.put = (key, value) => {
      if (isFull) throw new Error('no space left')
      records.put(key, value)
    }
    const { wallet, ask, alice, errors } = sender(node, { records: { ...records, put } })
    await ask('eth_sendTransaction', { from: alice, ...requestOf(deployed.call('Coin', 'approve', [deployed.at.Taker, 5n])) })
    const [given] = wallet.activities.page({}).activities
    isFull = true
    const hash = await wallet.control.request({ method: 'pocketchain_revokeAllowance', params: [given?.id, 0] })
    expect(await node.request({ method: 'eth_getTransactionByHash', params: [hash] })).toMatchObject({ hash })
    expect(errors).toContainEqual(new Error('no space left'))
  })

  it('takes back an operator of all cards, and an approved card', async () => {
    const { wallet, ask, alice } = sender(node)
    const spender = deployed.at.Taker
    for (const call of [deployed.call('Card', 'setApprovalForAll', [spender, true]), deployed.call('Card', 'approve', [spender, 7n])]) {
      await ask('eth_sendTransaction', { from: alice, ...requestOf(call) })
      const [given] = wallet.activities.page({}).activities
      expect(given?.allowances).toHaveLength(1)
      await wallet.control.request({ method: 'pocketchain_revokeAllowance', params: [given?.id, 0] })
      expect((await newest(wallet, isSealed)).outcome).toMatchObject({ status: 200 })
    }
    const read = async (functionName: string, args: readonly unknown[]) => {
      const data = encodeFunctionData({ abi: contracts().Card.abi, functionName, args })
      return node.request({ method: 'eth_call', params: [{ to: deployed.at.Card, data }, 'latest'] })
    }
    expect(BigInt((await read('isApprovedForAll', [alice, spender])) as Hex)).toBe(0n)
    expect(BigInt((await read('getApproved', [7n])) as Hex)).toBe(0n)
  })

  it('refuses an unknown allowance, and sends nothing', async () => {
    const { wallet, ask, alice, bob } = sender(node)
    await ask('eth_sendTransaction', { from: alice, to: bob, value: '0x1' })
    const [given] = wallet.activities.page({}).activities
    const nonce = await node.request({ method: 'eth_getTransactionCount', params: [alice, 'pending'] })
    for (const params of [
      ['none', 0],
      [given?.id, 0],
      [given?.id, 7],
    ]) {
      const error = await refusal(wallet.control.request({ method: 'pocketchain_revokeAllowance', params }))
      expect(error).toMatchObject({ code: -32602, data: { reason: 'unknown-allowance' } })
    }
    expect(await node.request({ method: 'eth_getTransactionCount', params: [alice, 'pending'] })).toBe(nonce)
  })

  it('is not for apps', async () => {
    const { wallet } = sender(node)
    for (const method of ['pocketchain_walletActivity', 'pocketchain_revokeAllowance']) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })
      const answer = await wallet.api.handle(body, { origin: ORIGIN, isControl: false, signal: null })
      expect(JSON.parse(answer ?? '')).toMatchObject({ error: { code: 4100 } })
    }
  })
})

describe('pocketchain_walletAllowances', () => {
  it('has what calls allowed and the chain still allows, with the present amount', async () => {
    const { wallet, ask, alice } = sender(node)
    const spender = deployed.at.Taker
    const open = () => wallet.control.request({ method: 'pocketchain_walletAllowances', params: [alice] })
    const allow = async (name: 'Coin' | 'Card', method: string, args: readonly unknown[]) => {
      await ask('eth_sendTransaction', { from: alice, ...requestOf(deployed.call(name, method, args)) })
      return wallet.activities.page({}).activities[0]?.id
    }
    await allow('Coin', 'approve', [spender, 5n])
    const coins = await allow('Coin', 'approve', [spender, 2n ** 256n - 1n])
    const all = await allow('Card', 'setApprovalForAll', [spender, true])
    const one = await allow('Card', 'approve', [spender, 7n])
    const coin = { kind: 'erc20', token: deployed.at.Coin, spender, symbol: 'COIN', amount: null }
    expect(await open()).toMatchObject([
      { activity: one, index: 0, allowance: { kind: 'nft', tokenId: '0x7', spender } },
      { activity: coins, index: 0, allowance: coin },
      { activity: all, index: 0, allowance: { kind: 'allNfts', token: deployed.at.Card, spender } },
    ])
    for (const activity of [one, all]) {
      await wallet.control.request({ method: 'pocketchain_revokeAllowance', params: [activity, 0] })
      await newest(wallet, isSealed)
    }
    expect(await open()).toMatchObject([{ activity: coins, allowance: coin }])
    // A contract that does not respond may still have the allowance.
    const code = await node.request({ method: 'eth_getCode', params: [deployed.at.Coin, 'latest'] })
    await node.request({ method: 'anvil_setCode', params: [deployed.at.Coin, '0x'] })
    expect(await open()).toMatchObject([{ activity: coins, allowance: coin }])
    await node.request({ method: 'anvil_setCode', params: [deployed.at.Coin, code] })
    // By another way than an activity: the chain decides.
    await node.request({
      method: 'eth_sendTransaction',
      params: [{ from: alice, ...requestOf(deployed.call('Coin', 'approve', [spender, 3n])) }],
    })
    expect(await open()).toMatchObject([{ activity: coins, allowance: { ...coin, amount: '3' } }])
    await wallet.control.request({ method: 'pocketchain_revokeAllowance', params: [coins, 0] })
    await newest(wallet, isSealed)
    expect(await open()).toEqual([])
  })

  it.each([
    ['one contract', async () => deployed.call('Liar', 'allowances', [500n, 7n])],
    ['500 contracts', async () => raw(await putForgers(node, 500, 0x5f), '0x')],
  ])('begins with the allowances of the tokens that the account called: 500 forged by %s cannot displace them', async (_, forge) => {
    const { wallet, ask, send, alice } = sender(node)
    const spender = deployed.at.Taker
    const [forged, approve] = [await forge(), deployed.call('Coin', 'approve', [spender, 5n])]
    await send({ from: alice, atomicRequired: true, calls: [forged, approve].map(requestOf) })
    const [first] = wallet.activities.page({}).activities
    expect(first?.allowances).toContainEqual(expect.objectContaining({ token: deployed.at.Coin, spender, amount: '5' }))
    await ask('eth_sendTransaction', { from: alice, ...requestOf(forged) })
    await ask('eth_sendTransaction', { from: alice, ...requestOf(await otherForgery()) })
    const open = async () =>
      (await wallet.control.request({ method: 'pocketchain_walletAllowances', params: [alice] })) as readonly OpenAllowance[]
    const found = (await open()).findIndex(({ allowance }) => allowance.token === deployed.at.Coin)
    expect(found, 'one of each called token comes first').toBeOneOf([0, 1])
    // It is among those that are read: without it on the chain it is gone.
    await node.request({
      method: 'eth_sendTransaction',
      params: [{ from: alice, ...requestOf(deployed.call('Coin', 'approve', [spender, 0n])) }],
    })
    expect((await open()).filter(({ allowance }) => allowance.token === deployed.at.Coin)).toEqual([])
  })

  it('leaves out an allowance of Permit2 after its end', async () => {
    const { wallet, ask, alice } = sender(node)
    const spender = deployed.at.Taker
    const approve = async (expiration: number) => {
      const args = [deployed.at.Coin, spender, 5n, expiration] as const
      const data = encodeFunctionData({ abi: PERMIT2_APPROVE, functionName: 'approve', args })
      await ask('eth_sendTransaction', { from: alice, to: '0x000000000022D473030F116dDEE9F6B43aC78BA3', data })
      return wallet.control.request({ method: 'pocketchain_walletAllowances', params: [alice] })
    }
    expect(await approve(2 ** 47)).toMatchObject([{ allowance: { kind: 'permit2', spender, amount: '5' } }])
    expect(await approve(1)).toEqual([])
  })
})

const otherForgery = async () => raw(await putForgers(node, 200, 0x3e), '0x')

const PERMIT2_APPROVE = parseAbi(['function approve(address token, address spender, uint160 amount, uint48 expiration)'])

describe('pocketchain_walletTokens', () => {
  const tokens = (wallet: Wallet, account: Address) => wallet.control.request({ method: 'pocketchain_walletTokens', params: [account] })

  it('has the tokens that the account received and still has, and those that sites suggested', async () => {
    const { wallet, ask, alice, bob } = sender(node)
    await ask('eth_sendTransaction', { from: alice, ...requestOf(deployed.call('Coin', 'transfer', [bob, 1_500_000n])) })
    const coin = { token: deployed.at.Coin, type: 'ERC20', symbol: 'COIN', decimals: 6, balance: '0x16e360', isWatched: false }
    expect(await tokens(wallet, bob)).toEqual([coin])
    await ask('wallet_watchAsset', { type: 'ERC721', options: { address: deployed.at.Card, symbol: 'CARD' } })
    const card = { token: deployed.at.Card, type: 'ERC721', symbol: 'CARD', decimals: null, balance: '0x0', isWatched: true }
    expect(await tokens(wallet, bob)).toEqual([card, coin])
    await ask('eth_sendTransaction', { from: bob, ...requestOf(deployed.call('Coin', 'transfer', [alice, 1_500_000n])) })
    expect(await tokens(wallet, bob)).toEqual([card])
    expect(await tokens(wallet, alice)).toContainEqual({ ...card, balance: '0x1' })
  })

  it('searches only the blocks since the last request, and all of them after a rewind', async () => {
    const own = await createPocketchain({ cadence: 'instant' })
    onTestFinished(() => own.close())
    const [account] = own.accounts.map(({ address }) => address) as [Address] // a node has ten
    const there = await Deployed.on(own, account)
    const ranges: unknown[] = []
    const rpc = answering(own, (method, params) => {
      if (method === 'eth_getLogs') ranges.push((params[0] as { fromBlock: Hex }).fromBlock) // a filter
      return undefined
    })
    const held = async () => (await holdingsOf({ ...embeddedChain(own), rpc }, account, [])).map(({ token }) => token)
    const next = async () => Hex.fromQuantity(BigInt((await own.request({ method: 'eth_blockNumber', params: [] })) as Hex) + 1n)
    const snapshot = await own.request({ method: 'evm_snapshot', params: [] })
    await own.request({
      method: 'eth_sendTransaction',
      params: [{ from: account, ...requestOf(there.call('Coin', 'transfer', [account, 1n])) }],
    })
    const from = await next()
    expect(await held()).toContain(there.at.Coin)
    expect(await held()).toContain(there.at.Coin)
    await own.request({ method: 'evm_mine', params: [] })
    expect(await held()).toContain(there.at.Coin)
    expect(ranges).toEqual(['0x0', from])
    await own.request({ method: 'evm_revert', params: [snapshot] })
    for (let i = 0; i < 3; i++) await own.request({ method: 'evm_mine', params: [] })
    await held()
    expect(ranges).toEqual(['0x0', from, '0x0'])
  })

  it('has tokens that came without a transfer log: WETH for ether, USDC of the faucet', async () => {
    const { wallet, ask, bob } = sender(node)
    const weth = '0x4200000000000000000000000000000000000006'
    await ask('eth_sendTransaction', { from: bob, to: weth, value: '0x7', data: '0xd0e30db0' })
    await node.request({ method: 'pocketchain_mintUsdc', params: [bob, 250_000_000] })
    const held = await tokens(wallet, bob)
    expect(held).toContainEqual(expect.objectContaining({ token: weth, symbol: 'WETH', balance: '0x7' }))
    expect(held).toContainEqual(expect.objectContaining({ symbol: 'USDC', decimals: 6, balance: Hex.fromQuantity(250_000_000) }))
  })

  it('refuses a chain that the wallet does not have', async () => {
    const { wallet, alice } = sender(node)
    const error = await refusal(wallet.control.request({ method: 'pocketchain_walletTokens', params: [alice, '0x5'] }))
    expect(error).toMatchObject({ code: -32602, data: { reason: 'unknown-chain' } })
  })
})

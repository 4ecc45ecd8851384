import { describe, expect, it } from 'vitest'
import { parseParams, routesOf } from '../jsonrpc/index.ts'
import { answering } from './batches/operations.fixture.ts'
import { embeddedChain } from './chains/chain.ts'
import { CONTROL_METHODS } from './control.ts'
import type { Question } from './question.ts'
import { ORIGIN, connected, openWallet, refusal, startNode } from './wallet.fixture.ts'
import type { Wallet } from './wallet.ts'

const node = await startNode()
const [alice, bob] = node.accounts.map(({ address }) => address)

const call = (wallet: Wallet, method: string, ...params: unknown[]): Promise<unknown> => wallet.control.request({ method, params })

/** The pending questions as `pocketchain_approvals` returns them. */
const pending = async (wallet: Wallet): Promise<readonly Question[]> => (await call(wallet, 'pocketchain_approvals')) as readonly Question[]

/** A connect request and its question. */
async function asking(wallet: Wallet) {
  const sent = wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' })
  const { question } = await wallet.approvals.next()
  return { sent, question }
}

describe('the holder of the control credential', () => {
  it('sees the questions that wait, as JSON, and approves one', async () => {
    const { wallet } = openWallet(node)
    expect(await pending(wallet)).toEqual([])
    const { sent, question } = await asking(wallet)
    const seen = await pending(wallet)
    expect(seen).toEqual([question])
    expect(JSON.parse(JSON.stringify(seen))).toEqual(seen)
    expect(await call(wallet, 'pocketchain_approve', question.id, { accounts: [bob] })).toBeNull()
    expect(await sent).toEqual([bob])
    expect(await pending(wallet)).toEqual([])
  })

  it('rejects one, with a code and words', async () => {
    const { wallet } = openWallet(node)
    const first = await asking(wallet)
    expect(await call(wallet, 'pocketchain_reject', first.question.id)).toBeNull()
    expect(await refusal(first.sent)).toMatchObject({ code: 4001, message: 'User rejected the request' })
    const second = await asking(wallet)
    await call(wallet, 'pocketchain_reject', second.question.id, -32000, 'no')
    expect(await refusal(second.sent)).toMatchObject({ code: -32000, message: 'no' })
    expect(wallet.sites.list()).toEqual([])
  })

  it('gets an error for an unknown id, an answered question or an invalid choice; the question stays pending', async () => {
    const { wallet } = openWallet(node)
    const { sent, question } = await asking(wallet)
    const stranger = `0x${'77'.repeat(20)}`
    const wrong = [
      [['0'.repeat(32)], 'unknown-question'],
      [[question.id, { accounts: [] }], 'no-account'],
      [[question.id, { accounts: [stranger] }], 'account-not-offered'],
    ] as const
    for (const [params, reason] of wrong) {
      expect(await refusal(call(wallet, 'pocketchain_approve', ...params))).toMatchObject({ code: -32602, data: { reason } })
    }
    expect(await pending(wallet)).toEqual([question])
    await call(wallet, 'pocketchain_approve', question.id)
    await sent
    const again = await refusal(call(wallet, 'pocketchain_reject', question.id))
    expect(again).toMatchObject({ code: -32602, message: `question ${question.id} was approved already, by hand or by script` })
  })

  it('reads the head; a block without a flashblock has none', async () => {
    const info = (flashblockIndex: number) => ({ head: { number: '0x7' }, flashblockIndex, cadence: { kind: 'preconf' } })
    const headAt = async (flashblockIndex: number) => {
      const rpc = answering(node, (method) => (method === 'pocketchain_info' ? info(flashblockIndex) : undefined))
      const { wallet } = openWallet(node, { chains: [{ ...embeddedChain(node), rpc }] })
      return call(wallet, 'pocketchain_walletHead')
    }
    expect(await headAt(3)).toEqual({ block: 7, flashblock: 3 })
    expect(await headAt(-1)).toEqual({ block: 7, flashblock: null })
  })

  it('switches sponsors off and on, for every site or for one that is connected', async () => {
    const { wallet } = openWallet(node)
    await connected(wallet)
    expect(await call(wallet, 'pocketchain_walletState')).toMatchObject({
      sponsorship: true,
      sites: [{ origin: ORIGIN, sponsorship: true }],
    })
    expect(await call(wallet, 'pocketchain_setSponsorship', false, ORIGIN)).toBeNull()
    expect(await call(wallet, 'pocketchain_walletState')).toMatchObject({ sponsorship: true, sites: [{ sponsorship: false }] })
    await call(wallet, 'pocketchain_setSponsorship', false)
    await call(wallet, 'pocketchain_setSponsorship', true, ORIGIN)
    expect(await call(wallet, 'pocketchain_walletState')).toMatchObject({ sponsorship: false, sites: [{ sponsorship: true }] })
    await call(wallet, 'pocketchain_setSponsorship', true)
    const unknown = refusal(call(wallet, 'pocketchain_setSponsorship', false, 'https://other.example'))
    expect(await unknown).toMatchObject({ code: -32602, data: { reason: 'unknown-site' } })
    expect(await call(wallet, 'pocketchain_walletState')).toMatchObject({ sponsorship: true })
  })

  it('cannot switch sponsors on in a wallet that was started without', async () => {
    const { wallet } = openWallet(node, { sponsorship: false })
    expect(await refusal(call(wallet, 'pocketchain_setSponsorship', true))).toMatchObject({
      code: -32000,
      data: { reason: 'sponsorship-off' },
    })
    expect(await call(wallet, 'pocketchain_setSponsorship', false)).toBeNull()
    expect(await call(wallet, 'pocketchain_walletState')).toMatchObject({ sponsorship: false })
  })

  it.each([
    ['pocketchain_approve', []],
    ['pocketchain_approve', [null]],
    ['pocketchain_approve', [7]],
    ['pocketchain_approve', ['ID', { accounts: ['0x12'] }]],
    ['pocketchain_approve', ['ID', 'all']],
    ['pocketchain_approve', ['ID', {}, 'more']],
    ['pocketchain_reject', ['ID', '4001']],
    ['pocketchain_reject', ['ID', 1.5]],
    ['pocketchain_reject', ['ID', 4001, {}]],
    ['pocketchain_setApprovalPolicy', []],
    ['pocketchain_setApprovalPolicy', ['always']],
    ['pocketchain_setSponsorship', []],
    ['pocketchain_setSponsorship', ['off']],
    ['pocketchain_setSponsorship', [false, 7]],
    ['pocketchain_walletRequest', ['https://app.example/path', { method: 'eth_accounts' }]],
    ['pocketchain_walletRequest', ['null', { method: 'eth_accounts' }]],
    ['pocketchain_walletRequest', [ORIGIN, {}]],
    ['pocketchain_disconnectSite', [7]],
    ['pocketchain_disconnectSite', ['https://never.example']],
  ] as const)('gets -32602 for %s %j, and nothing changes', async (method, params) => {
    const { wallet, errors } = openWallet(node)
    const { sent, question } = await asking(wallet)
    const given = (params as readonly unknown[]).map((each) => (each === 'ID' ? question.id : each))
    expect(await refusal(call(wallet, method, ...given))).toMatchObject({ code: -32602 })
    expect(await pending(wallet)).toEqual([question])
    expect(wallet.approvals.policy).toBe('ask')
    expect(errors).toEqual([])
    wallet.approvals.reject()
    await refusal(sent)
  })

  it('sets the policy, for what waits, too', async () => {
    const { wallet } = openWallet(node)
    const sent = wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' })
    expect(await call(wallet, 'pocketchain_setApprovalPolicy', 'approve')).toBeNull()
    expect(await sent).toHaveLength(node.accounts.length)
    await call(wallet, 'pocketchain_setApprovalPolicy', 'reject')
    const other = wallet.provider('https://other.example').request({ method: 'eth_requestAccounts' })
    expect(await refusal(other)).toMatchObject({ code: 4001 })
  })

  it('sees accounts, chains, sites, policy, questions and batches, and no key', async () => {
    const { wallet } = openWallet(node)
    await connected(wallet, ORIGIN, { accounts: [bob!] })
    const { sent, question } = await askingToSign(wallet)
    const state = await call(wallet, 'pocketchain_walletState')
    expect(state).toMatchObject({
      policy: 'ask',
      latencyMs: 0,
      sites: [{ origin: ORIGIN, accounts: [bob], chainId: '0x7a69' }],
      approvals: [question],
      batches: [],
    })
    const { accounts, chains } = state as { accounts: { address: string }[]; chains: unknown[] }
    expect(accounts.map(({ address }) => address)).toEqual(node.accounts.map(({ address }) => address))
    expect(chains).toMatchObject([{ chainId: '0x7a69', isEmbedded: true }])
    const text = JSON.stringify(state)
    for (const { privateKey } of node.accounts) expect(text).not.toContain(privateKey.slice(2))
    wallet.approvals.reject()
    await refusal(sent)
  })

  it('sends a request on behalf of an origin', async () => {
    const { wallet } = openWallet(node)
    const sent = call(wallet, 'pocketchain_walletRequest', ORIGIN, { method: 'eth_requestAccounts' })
    const prompt = await wallet.approvals.next()
    expect(prompt.question.origin).toBe(ORIGIN)
    prompt.approve({ accounts: [alice!] })
    expect(await sent).toEqual([alice])
    expect(await call(wallet, 'pocketchain_walletRequest', ORIGIN, { method: 'eth_accounts' })).toEqual([alice])
    expect(await call(wallet, 'pocketchain_walletRequest', 'https://other.example', { method: 'eth_accounts' })).toEqual([])
  })

  it('cannot ask for an origin what it may do itself: control methods are none of a provider', async () => {
    const { wallet } = openWallet(node)
    const request = { method: 'pocketchain_setApprovalPolicy', params: ['approve'] }
    expect(await refusal(call(wallet, 'pocketchain_walletRequest', ORIGIN, request))).toMatchObject({ code: 4200 })
    expect(wallet.approvals.policy).toBe('ask')
  })

  it('withdraws the question by going away', async () => {
    const { wallet } = openWallet(node)
    const popup = new AbortController()
    const params = [ORIGIN, { method: 'eth_requestAccounts' }]
    const sent = wallet.control.request({ method: 'pocketchain_walletRequest', params }, { signal: popup.signal })
    await wallet.approvals.next()
    popup.abort()
    expect(await refusal(sent)).toMatchObject({ code: 4001, data: { reason: 'withdrawn' } })
    expect(await pending(wallet)).toEqual([])
  })

  it('disconnects a site', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    expect(await call(wallet, 'pocketchain_disconnectSite', ORIGIN)).toBeNull()
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([])
    expect(await refusal(call(wallet, 'pocketchain_disconnectSite', ORIGIN))).toMatchObject({
      code: -32602,
      data: { reason: 'unknown-site' },
    })
  })

  it('gets -32601 for a name that is no control method', async () => {
    const { wallet } = openWallet(node)
    expect(await refusal(call(wallet, 'pocketchain_approveAll'))).toMatchObject({ code: -32601 })
    expect(await refusal(call(wallet, 'eth_accounts'))).toMatchObject({ code: -32601 })
  })

  it('receives the pending questions at once, and one update for all changes of one event-loop turn', async () => {
    const { wallet } = openWallet(node)
    const received: number[] = []
    const end = wallet.control.subscribe((questions) => received.push(questions.length))
    expect(received).toEqual([0])
    const { sent } = await asking(wallet)
    expect(received).toEqual([0, 1])
    wallet.approvals.reject()
    await refusal(sent)
    expect(received).toEqual([0, 1, 0])
    wallet.approvals.setPolicy('reject')
    await refusal(wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' }))
    expect(received).toEqual([0, 1, 0, 0])
    end()
    await refusal(wallet.provider(ORIGIN).request({ method: 'eth_requestAccounts' }))
    expect(received).toHaveLength(4)
  })
})

describe('a page', () => {
  it.each([...CONTROL_METHODS.values()])(
    'gets 4100 for $name, through its provider 4200, and nothing happens',
    async ({ name, example }) => {
      const { wallet } = openWallet(node)
      const { sent, question } = await asking(wallet)
      const params = example.params.map((each, i) => (i === 0 && /approve|reject/.test(name) ? question.id : each))
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params })
      const answer = await wallet.api.handle(body, { origin: ORIGIN, isControl: false, signal: null })
      expect(JSON.parse(answer ?? '')).toMatchObject({ error: { code: 4100 } })
      expect(await refusal(wallet.provider(ORIGIN).request({ method: name, params }))).toMatchObject({ code: 4200 })
      expect(wallet.approvals.pending).toEqual([question])
      expect(wallet.approvals.policy).toBe('ask')
      wallet.approvals.reject()
      await refusal(sent)
    },
  )
})

describe('the table', () => {
  it.each([...CONTROL_METHODS.values()])('has an example of $name that the method takes', (method) => {
    const [route] = routesOf([method], {} as never)
    expect(parseParams(route!, method.example.params)).toHaveLength(method.params.length)
    expect(method.doc).toMatch(/\.$/)
  })
})

async function askingToSign(wallet: Wallet) {
  const sent = wallet.provider(ORIGIN).request({ method: 'personal_sign', params: ['0x68656c6c6f', bob] })
  const { question } = await wallet.approvals.next()
  return { sent, question }
}

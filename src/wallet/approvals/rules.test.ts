import { describe, expect, it } from 'vitest'
import { Approvals } from './approvals.ts'
import { BOB, ETHER, ORIGIN, OTHER, TOKEN, batchDraft, connectDraft, refusalOf, sendDraft, signDraft } from './approvals.fixture.ts'
import type { Allowance, BalanceChange, Draft } from '../question.ts'
import { approveKind, approveOrigin, approveUnder, rejectKind, rejectOrigin } from './rules.ts'
import type { Rule } from './rules.ts'
import { openWallet, refusal, startNode } from '../wallet.fixture.ts'

/** The policy decision for a question under one rule. */
async function verdict(rule: Rule, draft: Draft): Promise<'approved' | 'rejected' | 'left'> {
  const approvals = new Approvals()
  approvals.rule(rule)
  const pendingRequest = approvals.ask(draft).then(
    () => 'approved' as const,
    () => 'rejected' as const,
  )
  if (approvals.pending.length === 0) return pendingRequest
  approvals.close()
  await pendingRequest
  return 'left'
}

const change = (amount: bigint, asset: BalanceChange['asset'] = 'native'): BalanceChange => {
  return { asset, token: asset === 'native' ? null : TOKEN, symbol: null, decimals: null, tokenId: null, amount: amount.toString() }
}
const allowance = (isSpent: boolean): Allowance => {
  return { kind: 'erc20', token: TOKEN, symbol: null, decimals: null, spender: BOB, spenderLabel: null, amount: null, isSpent }
}

describe('approveUnder', () => {
  const rule = approveUnder(ETHER)

  it('approves less than the limit and ignores the limit or more', async () => {
    expect(await verdict(rule, sendDraft(0n))).toBe('approved')
    expect(await verdict(rule, sendDraft(ETHER - 1n))).toBe('approved')
    expect(await verdict(rule, sendDraft(ETHER))).toBe('left')
    expect(await verdict(rule, sendDraft(2n * ETHER))).toBe('left')
  })

  it('adds up the calls of a batch', async () => {
    expect(await verdict(rule, batchDraft([ETHER / 2n, ETHER / 2n - 1n]))).toBe('approved')
    expect(await verdict(rule, batchDraft([ETHER / 2n, ETHER / 2n]))).toBe('left')
  })

  it('counts the loss in the preview when it exceeds the values of the calls', async () => {
    expect(await verdict(rule, batchDraft([0n], { changes: [change(-ETHER)] }))).toBe('left')
    expect(await verdict(rule, batchDraft([0n], { changes: [change(1n - ETHER)] }))).toBe('approved')
    // An inflow does not reduce the outflow: its sender may not return it when the calls are sent.
    expect(await verdict(rule, batchDraft([ETHER], { changes: [change(0n)] }))).toBe('left')
    expect(await verdict(rule, sendDraft(0n, { changes: [change(5n * ETHER)] }))).toBe('approved')
  })

  it('counts the highest fee, unless a sponsor pays it', async () => {
    expect(await verdict(rule, sendDraft(ETHER - 1n, {}, { most: '0x1' }))).toBe('left')
    expect(await verdict(rule, sendDraft(ETHER - 2n, {}, { most: '0x1' }))).toBe('approved')
    expect(await verdict(rule, sendDraft(0n, {}, { most: '0xde0b6b3a7640000', sponsor: { name: null, host: 'x' } }))).toBe('approved')
  })

  it('ignores outflows that are not in wei', async () => {
    expect(await verdict(rule, batchDraft([0n], { changes: [change(-1n, 'erc20')] }))).toBe('left')
    expect(await verdict(rule, batchDraft([0n], { changes: [change(-1n, 'erc721')] }))).toBe('left')
    expect(await verdict(rule, batchDraft([0n], { changes: [change(1n, 'erc20')] }))).toBe('approved')
    expect(await verdict(rule, batchDraft([0n], { allowances: [allowance(false)] }))).toBe('left')
    expect(await verdict(rule, batchDraft([0n], { allowances: [allowance(true)] }))).toBe('approved')
    expect(await verdict(rule, batchDraft([0n], { allowances: [allowance(true)], omitted: 1 }))).toBe('left')
  })

  it('ignores a batch whose sponsor may take tokens of the account', async () => {
    const sponsored = sendDraft(0n, {}, { sponsor: { name: null, host: 'x' } })
    expect(await verdict(rule, sponsored)).toBe('approved')
    const warnings = [{ code: 'sponsor-allowance', level: 'danger', text: 'The sponsor at x may take COIN from the account.' }] as const
    expect(await verdict(rule, { ...sponsored, warnings })).toBe('left')
  })

  it('ignores a batch without preview, and a question that spends nothing', async () => {
    expect(await verdict(rule, sendDraft(1n, { status: 'unavailable', error: 'no answer' }))).toBe('left')
    expect(await verdict(rule, sendDraft(1n, { status: 'reverted', error: 'no' }))).toBe('approved')
    expect(await verdict(rule, signDraft())).toBe('left')
    expect(await verdict(rule, connectDraft())).toBe('left')
  })
})

describe('rules for origins and kinds', () => {
  it('reject everything from an origin', async () => {
    const rule = rejectOrigin(OTHER)
    for (const draft of [connectDraft(OTHER), signDraft(OTHER)]) expect(await verdict(rule, draft)).toBe('rejected')
    for (const draft of [connectDraft(ORIGIN), sendDraft(1n)]) expect(await verdict(rule, draft)).toBe('left')
  })

  it('match the whole origin, not a prefix', async () => {
    expect(await verdict(approveOrigin('http://localhost:3000'), signDraft('http://localhost:30001'))).toBe('left')
    expect(await verdict(approveOrigin('http://localhost:3000', OTHER), signDraft(OTHER))).toBe('approved')
  })

  it('approve or reject kinds', async () => {
    expect(await verdict(approveKind('connect', 'sign'), connectDraft())).toBe('approved')
    expect(await verdict(approveKind('connect', 'sign'), sendDraft(1n))).toBe('left')
    expect(await verdict(rejectKind('sign'), signDraft())).toBe('rejected')
    expect(await verdict(rejectKind('sign'), connectDraft())).toBe('left')
  })

  it('apply in order: a later rule does not approve what an earlier one rejects', async () => {
    const approvals = new Approvals()
    approvals.rule(rejectOrigin(OTHER))
    approvals.rule(approveKind('connect'))
    await approvals.ask(connectDraft())
    expect(await refusalOf(approvals.ask(connectDraft(OTHER)))).toMatchObject({ code: 4001 })
  })
})

describe('on a chain', () => {
  it('approve less than 1 ETH, reject another origin and ignore the rest; the session can be replayed', async () => {
    const node = await startNode()
    const [alice, bob] = node.accounts.map(({ address }) => address)
    const balance = () => node.request({ method: 'eth_getBalance', params: [bob, 'latest'] }).then((hex) => BigInt(String(hex)))
    const send = (value: bigint) => ({
      method: 'eth_sendTransaction',
      params: [{ from: alice, to: bob, value: `0x${value.toString(16)}` }],
    })
    const before = await balance()

    const { wallet } = openWallet(node)
    const recording = wallet.approvals.record()
    wallet.approvals.rule(rejectOrigin(OTHER))
    wallet.approvals.rule(approveKind('connect'))
    wallet.approvals.rule(approveUnder(ETHER))
    const app = wallet.provider(ORIGIN)
    expect(await refusal(wallet.provider(OTHER).request({ method: 'eth_requestAccounts' }))).toMatchObject({ code: 4001 })
    await app.request({ method: 'eth_requestAccounts' })
    await app.request(send(ETHER / 2n))
    expect(await balance()).toBe(before + ETHER / 2n)
    // The fee is added.
    const large = app.request(send(ETHER - 1n))
    ;(await wallet.approvals.next({ kind: 'send' })).reject()
    expect(await refusal(large)).toMatchObject({ code: 4001 })
    expect(await balance()).toBe(before + ETHER / 2n)
    wallet.approvals.assertAnswered()

    const again = openWallet(node).wallet
    again.approvals.replay(JSON.parse(JSON.stringify(recording)) as typeof recording)
    const replayed = again.provider(ORIGIN)
    await replayed.request({ method: 'eth_requestAccounts' })
    await replayed.request(send(ETHER / 2n))
    expect(await refusal(replayed.request(send(ETHER - 1n)))).toMatchObject({ code: 4001, data: { reason: 'rejected' } })
    expect(() => again.approvals.assertAnswered()).toThrow(
      `the recording expects eth_requestAccounts of ${OTHER} (connect), which did not come`,
    )
    expect(await balance()).toBe(before + ETHER)
  })
})

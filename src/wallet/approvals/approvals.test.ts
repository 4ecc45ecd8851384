import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Question } from '../question.ts'
import { Approvals } from './approvals.ts'
import type { ApprovalEvent } from './approvals.ts'
import {
  ACCOUNTS,
  ALICE,
  BOB,
  ORIGIN,
  OTHER,
  TOKEN,
  connectDraft,
  refusalBy,
  refusalOf,
  sendDraft,
  signDraft,
  upgradeDraft,
} from './approvals.fixture.ts'
import { QUESTION_DEPTH, REMEMBERED_ANSWERS, WAITING_PROMPTS, WAITING_QUESTIONS, WAITING_QUESTIONS_PER_ORIGIN } from '../limits.ts'

describe('a question', () => {
  it('waits until it is approved', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const [question] = approvals.pending
    expect(question).toMatchObject({ kind: 'sign', origin: ORIGIN, method: 'personal_sign', replaces: null })
    expect(approvals.find(question!.id)).toBe(question)
    approvals.approve(question!.id)
    await expect(pendingRequest).resolves.toEqual({ id: question!.id, accounts: null })
    expect(approvals.pending).toEqual([])
    expect(approvals.find(question!.id)).toBeNull()
  })

  it('has an id of 32 hex digits that no other has', () => {
    const approvals = new Approvals()
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft())
    const ids = approvals.pending.map(({ id }) => id)
    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(WAITING_QUESTIONS_PER_ORIGIN)
  })

  it('does not change when the app mutates its parameters', () => {
    const approvals = new Approvals()
    const typedData = { message: { amount: '1' } }
    void approvals.ask({ ...signDraft(), typedData } as never)
    typedData.message.amount = '1000000'
    const [question] = approvals.pending
    expect(question).toMatchObject({ typedData: { message: { amount: '1' } } })
    expect(() => Object.assign((question as unknown as { typedData: { message: object } }).typedData.message, { amount: '2' })).toThrow(
      TypeError,
    )
  })

  it('is rejected with -32602 when it nests too deeply to be shown', async () => {
    const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
    const approvals = new Approvals()
    const refused = await refusalOf(approvals.ask({ ...signDraft(), typedData: nested(QUESTION_DEPTH) } as never))
    expect(refused).toMatchObject({ code: -32602, reason: 'too-deep' })
    expect(approvals.pending).toEqual([])
    void approvals.ask({ ...signDraft(), typedData: nested(QUESTION_DEPTH - 1) } as never)
    expect(approvals.pending).toHaveLength(1)
  })

  it('is rejected when it cannot be JSON, and leaves the queue unchanged', async () => {
    const approvals = new Approvals()
    const refused = await refusalOf(approvals.ask({ ...signDraft(), typedData: { amount: 1n } } as never))
    expect(refused).toMatchObject({ code: -32602, reason: 'not-json' })
    expect(approvals.pending).toEqual([])
  })

  it('is queued behind older ones, even when the clock is set back', () => {
    let now = 5_000
    const approvals = new Approvals({ now: () => now })
    void approvals.ask(signDraft(ORIGIN, 'first'))
    now = 1_000
    void approvals.ask(signDraft(ORIGIN, 'second'))
    expect(approvals.pending.map((question) => question.kind === 'sign' && question.text)).toEqual(['first', 'second'])
    expect(approvals.pending.map(({ createdAt }) => createdAt)).toEqual([5_000, 5_000])
  })
})

describe('a rejection', () => {
  it('is 4001 by default', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(sendDraft(1n))
    approvals.reject()
    expect(await refusalOf(pendingRequest)).toEqual({ code: 4001, message: 'User rejected the request', reason: 'rejected' })
  })

  it('is the error that the question declares', async () => {
    const approvals = new Approvals()
    const rejection = () => new RpcError(5750, 'EIP-7702 upgrade rejected for this chain and account', { reason: 'upgrade-rejected' })
    const pendingRequest = approvals.ask(upgradeDraft(), { rejection })
    approvals.reject()
    const text = 'EIP-7702 upgrade rejected for this chain and account'
    expect(await refusalOf(pendingRequest)).toEqual({ code: 5750, message: text, reason: 'upgrade-rejected' })
  })

  it('carries the given code and message', async () => {
    const approvals = new Approvals()
    const first = approvals.ask(signDraft())
    const second = approvals.ask(signDraft())
    approvals.reject(undefined, -32000, 'the ledger is not plugged in')
    approvals.reject(undefined, 4100)
    expect(await refusalOf(first)).toMatchObject({ code: -32000, message: 'the ledger is not plugged in' })
    expect(await refusalOf(second)).toMatchObject({ code: 4100, message: 'User rejected the request' })
  })

  it('with an invalid code is rejected and does not answer', async () => {
    const approvals = new Approvals()
    void approvals.ask(signDraft())
    expect(await refusalBy(() => approvals.reject(undefined, 1.5))).toMatchObject({ code: -32602, reason: 'code' })
    expect(approvals.pending).toHaveLength(1)
  })
})

describe('an answer', () => {
  it('without an id is for the oldest question', async () => {
    const approvals = new Approvals()
    const first = approvals.ask(signDraft())
    const second = approvals.ask(sendDraft(1n))
    approvals.approve()
    await first
    expect(approvals.pending.map(({ kind }) => kind)).toEqual(['send'])
    approvals.approve()
    await second
  })

  it('is given once: a second one is rejected with the outcome of the first', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const { id } = approvals.pending[0]!
    approvals.approve(id)
    await pendingRequest
    const again = { code: -32602, reason: 'already-answered', message: `question ${id} was approved already, by hand or by script` }
    expect(await refusalBy(() => approvals.approve(id))).toEqual(again)
    expect(await refusalBy(() => approvals.reject(id))).toEqual(again)
    approvals.setPolicy('reject')
    const refused = approvals.ask(signDraft())
    await refusalOf(refused)
  })

  it('to a question that the policy answered is rejected with that outcome', async () => {
    const approvals = new Approvals({ policy: 'reject' })
    const ids: string[] = []
    approvals.subscribe(({ question }) => ids.push(question.id))
    await refusalOf(approvals.ask(signDraft()))
    const { message } = await refusalBy(() => approvals.approve(ids[0]))
    expect(message).toBe(`question ${ids[0]} was rejected already, by the policy`)
  })

  it('to an unknown id, or with nothing pending, is rejected', async () => {
    const approvals = new Approvals()
    const unknown = '0'.repeat(32)
    expect(await refusalBy(() => approvals.approve(unknown))).toMatchObject({ code: -32602, reason: 'unknown-question' })
    expect(await refusalBy(() => approvals.approve())).toMatchObject({ code: -32602, reason: 'nothing-pending' })
    expect(await refusalBy(() => approvals.reject())).toMatchObject({ code: -32602, reason: 'nothing-pending' })
  })

  it('is remembered for the newest REMEMBERED_ANSWERS questions', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    const first = (await approvals.ask(signDraft())).id
    for (let i = 0; i < REMEMBERED_ANSWERS - 1; i++) await approvals.ask(signDraft())
    expect(await refusalBy(() => approvals.approve(first))).toMatchObject({ reason: 'already-answered' })
    await approvals.ask(signDraft())
    expect(await refusalBy(() => approvals.approve(first))).toMatchObject({ reason: 'unknown-question' })
  })
})

describe('connecting', () => {
  it('reveals all accounts unless some are chosen, the first of which is selected', async () => {
    const approvals = new Approvals()
    const all = approvals.ask(connectDraft())
    approvals.approve()
    expect((await all).accounts).toEqual([ALICE, BOB])
    const some = approvals.ask(connectDraft())
    const shouted = `0x${BOB.slice(2).toUpperCase()}` as typeof BOB
    approvals.approve(undefined, { accounts: [shouted, BOB] })
    expect((await some).accounts).toEqual([BOB])
  })

  it('rejects accounts that were not offered, an empty list, and accounts for another kind; the question stays pending', async () => {
    const approvals = new Approvals()
    void approvals.ask(connectDraft())
    const stranger = await refusalBy(() => approvals.approve(undefined, { accounts: [ALICE, TOKEN] }))
    expect(stranger).toMatchObject({ code: -32602, reason: 'account-not-offered' })
    expect(stranger.message).toContain(TOKEN)
    expect(await refusalBy(() => approvals.approve(undefined, { accounts: [] }))).toMatchObject({ code: -32602, reason: 'no-account' })
    expect(approvals.pending).toHaveLength(1)
    void approvals.ask(signDraft())
    const { id } = approvals.pending[1]!
    expect(await refusalBy(() => approvals.approve(id, { accounts: [ALICE] }))).toMatchObject({ code: -32602, reason: 'no-choice' })
    expect(approvals.pending).toHaveLength(2)
  })

  it('twice is one question, whose answer resolves both requests', async () => {
    const approvals = new Approvals()
    const both = [
      approvals.ask(connectDraft()),
      approvals.ask(
        connectDraft(
          ORIGIN,
          ACCOUNTS.map((each) => ({ ...each, balance: '0x1' as const })),
        ),
      ),
    ]
    expect(approvals.pending).toHaveLength(1)
    approvals.approve()
    const [first, second] = await Promise.all(both)
    expect(second).toEqual(first)
  })

  it('of another origin, or to other accounts, is a separate question', () => {
    const approvals = new Approvals()
    void approvals.ask(connectDraft())
    void approvals.ask(connectDraft(OTHER))
    void approvals.ask(connectDraft(ORIGIN, ACCOUNTS.slice(1)))
    expect(approvals.pending).toHaveLength(3)
  })

  it('stays pending for one request when the other is aborted', async () => {
    const approvals = new Approvals()
    const gone = new AbortController()
    const first = approvals.ask(connectDraft(), { signal: gone.signal })
    const second = approvals.ask(connectDraft())
    gone.abort()
    expect(await refusalOf(first)).toMatchObject({ code: 4001, reason: 'withdrawn' })
    expect(approvals.pending).toHaveLength(1)
    approvals.approve()
    await expect(second).resolves.toMatchObject({ accounts: [ALICE, BOB] })
  })
})

describe('next', () => {
  it('returns a question that is already pending', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const prompt = await approvals.next()
    prompt.approve()
    expect(await pendingRequest).toEqual({ id: prompt.question.id, accounts: null })
  })

  it('waits for a later question', async () => {
    const approvals = new Approvals()
    const next = approvals.next()
    const pendingRequest = approvals.ask(connectDraft())
    const prompt = await next
    prompt.approve({ accounts: [BOB] })
    expect((await pendingRequest).accounts).toEqual([BOB])
  })

  it('returns each question once, the oldest first, to the calls in their order', async () => {
    const approvals = new Approvals()
    const early = [approvals.next(), approvals.next()]
    for (const text of ['1', '2', '3', '4']) void approvals.ask(signDraft(ORIGIN, text))
    const prompts = await Promise.all([...early, approvals.next(), approvals.next()])
    expect(prompts.map(({ question }) => question.kind === 'sign' && question.text)).toEqual(['1', '2', '3', '4'])
  })

  it('leaves questions that do not match its filter', async () => {
    const approvals = new Approvals()
    const send = approvals.next({ kind: 'send' })
    const other = approvals.next({ origin: OTHER })
    const any = approvals.next()
    void approvals.ask(signDraft())
    void approvals.ask(signDraft(OTHER))
    void approvals.ask(sendDraft(1n))
    expect((await send).question.kind).toBe('send')
    expect((await other).question.origin).toBe(OTHER)
    expect((await any).question).toMatchObject({ kind: 'sign', origin: ORIGIN })
  })

  it('rejects through the prompt, with code and message', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    ;(await approvals.next()).reject(4900, 'gone')
    expect(await refusalOf(pendingRequest)).toMatchObject({ code: 4900, message: 'gone' })
  })

  it('lets the page answer a question that a script holds; the answer of the script is then refused', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const prompt = await approvals.next()
    approvals.approve(prompt.question.id)
    await pendingRequest
    expect(await refusalBy(() => prompt.reject())).toMatchObject({ code: -32602, reason: 'already-answered' })
  })

  it('limits the calls that wait', async () => {
    const approvals = new Approvals()
    const waiting = Array.from({ length: WAITING_PROMPTS }, () => approvals.next().catch(() => null))
    await expect(approvals.next()).rejects.toThrow(`${WAITING_PROMPTS} calls of next() wait`)
    approvals.close()
    await Promise.all(waiting)
  })
})

describe('a replaced question', () => {
  it('cannot be approved, and its approval does not approve the replacement', async () => {
    const approvals = new Approvals()
    const before = approvals.ask(sendDraft(1n))
    const prompt = await approvals.next()
    const { id } = prompt.question
    const after = approvals.ask(sendDraft(2n), { replaces: id })
    const [replacement] = approvals.pending
    expect(replacement).toMatchObject({ replaces: id })
    expect(replacement!.id).not.toBe(id)
    expect(await refusalOf(before)).toMatchObject({ code: 4001, reason: 'superseded' })
    for (const answer of [() => prompt.approve(), () => approvals.approve(id), () => prompt.reject()]) {
      const { code, message } = await refusalBy(answer)
      expect(code).toBe(-32602)
      expect(message).toContain(`question ${replacement!.id} replaces it`)
    }
    expect(approvals.pending).toEqual([replacement])
    ;(await approvals.next()).approve()
    expect((await after).id).toBe(replacement!.id)
  })

  it('may have been approved: that does not approve the replacement', async () => {
    const approvals = new Approvals()
    const before = approvals.ask(sendDraft(1n))
    approvals.approve()
    const { id } = await before
    void approvals.ask(sendDraft(2n), { replaces: id })
    const { message } = await refusalBy(() => approvals.approve(id))
    expect(message).toContain('was approved already, by hand or by script; its content has changed')
    expect(approvals.pending).toHaveLength(1)
  })
})

describe('a withdrawn question', () => {
  it('is removed when its request is aborted', async () => {
    const approvals = new Approvals()
    const gone = new AbortController()
    const pendingRequest = approvals.ask(signDraft(), { signal: gone.signal })
    const { id } = approvals.pending[0]!
    gone.abort()
    expect(await refusalOf(pendingRequest)).toMatchObject({ code: 4001, reason: 'withdrawn' })
    expect(approvals.pending).toEqual([])
    expect((await refusalBy(() => approvals.approve(id))).message).toContain(`question ${id} was withdrawn`)
  })

  it('is not created when its request was already aborted', async () => {
    const approvals = new Approvals()
    const events: ApprovalEvent[] = []
    approvals.subscribe((event) => events.push(event))
    expect(await refusalOf(approvals.ask(signDraft(), { signal: AbortSignal.abort() }))).toMatchObject({ code: 4001, reason: 'withdrawn' })
    expect(events).toEqual([])
  })

  it('rejects with the given reason, once', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const { id } = approvals.pending[0]!
    approvals.withdraw(id, new RpcError(4100, 'disconnected', { reason: 'disconnected' }))
    approvals.withdraw(id, new RpcError(4100, 'again'))
    expect(await refusalOf(pendingRequest)).toEqual({ code: 4100, message: 'disconnected', reason: 'disconnected' })
  })

  it('removes its abort listener when it is answered', async () => {
    const approvals = new Approvals()
    const signal = new AbortController()
    const removed = vi.spyOn(signal.signal, 'removeEventListener')
    const pendingRequest = approvals.ask(signDraft(), { signal: signal.signal })
    approvals.approve()
    await pendingRequest
    expect(removed).toHaveBeenCalledOnce()
    signal.abort()
    expect(approvals.pending).toEqual([])
  })
})

describe('the policy', () => {
  it('answers new and pending questions', async () => {
    const approvals = new Approvals()
    const waiting = approvals.ask(signDraft())
    approvals.setPolicy('approve')
    await waiting
    await approvals.ask(connectDraft())
    approvals.setPolicy('reject')
    expect(await refusalOf(approvals.ask(signDraft()))).toMatchObject({ code: 4001, reason: 'rejected' })
    approvals.setPolicy('ask')
    void approvals.ask(signDraft())
    expect(approvals.pending).toHaveLength(1)
    expect(approvals.policy).toBe('ask')
  })

  it('does not answer a question that a script holds', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    const prompt = await approvals.next()
    approvals.setPolicy('reject')
    prompt.approve()
    await pendingRequest
  })

  it('applies after the rules, of which the first that answers wins', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    approvals.rule(({ kind }) => (kind === 'sign' ? 'reject' : null))
    const remove = approvals.rule(({ kind }) => (kind === 'send' ? 'reject' : 'approve'))
    await refusalOf(approvals.ask(signDraft()))
    await refusalOf(approvals.ask(sendDraft(1n)))
    remove()
    await approvals.ask(sendDraft(1n))
    await refusalOf(approvals.ask(signDraft()))
  })

  it('is applied to pending questions when a rule is added', async () => {
    const approvals = new Approvals()
    const pendingRequest = approvals.ask(signDraft())
    approvals.rule(() => 'approve')
    await pendingRequest
  })

  it('does not apply when a rule has called approve() itself', async () => {
    const approvals = new Approvals()
    const events: string[] = []
    approvals.subscribe(({ type }) => events.push(type))
    approvals.rule(({ id }) => {
      approvals.approve(id)
      return 'reject'
    })
    await approvals.ask(signDraft())
    expect(events).toEqual(['asked', 'answered'])
  })

  it('is not applied when a rule throws: the question is rejected with an explanation', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    approvals.rule(() => {
      throw new Error('no such token')
    })
    const refused = await refusalOf(approvals.ask(signDraft()))
    expect(refused).toMatchObject({ code: 4001, reason: 'rule-failed' })
    expect(refused.message).toContain('no such token')
    expect(() => approvals.assertAnswered()).toThrow('a rule failed at personal_sign of http://localhost:3000 (sign): Error: no such token')
  })
})

describe('latency and timeouts', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('delays automatic answers by latencyMs, with the question pending meanwhile', async () => {
    const approvals = new Approvals({ policy: 'approve', latencyMs: 300 })
    const pendingRequest = approvals.ask(signDraft())
    await vi.advanceTimersByTimeAsync(299)
    expect(approvals.pending).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    await pendingRequest
    expect(approvals.pending).toEqual([])
  })

  it('lets the user answer before the policy', async () => {
    const approvals = new Approvals({ policy: 'approve', latencyMs: 300 })
    const pendingRequest = approvals.ask(signDraft())
    approvals.reject()
    await refusalOf(pendingRequest)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('drops a delayed answer when the policy changes, and returns the question to the script that waits', async () => {
    const approvals = new Approvals({ policy: 'approve', latencyMs: 300 })
    const pendingRequest = approvals.ask(signDraft())
    const next = approvals.next()
    approvals.setPolicy('ask')
    const prompt = await next
    await vi.advanceTimersByTimeAsync(1_000)
    expect(approvals.pending).toHaveLength(1)
    prompt.approve()
    await pendingRequest
  })

  it('keeps the delay of an answer that a change does not affect', async () => {
    const approvals = new Approvals({ policy: 'approve', latencyMs: 300 })
    const pendingRequest = approvals.ask(signDraft())
    await vi.advanceTimersByTimeAsync(200)
    approvals.rule(() => null)
    await vi.advanceTimersByTimeAsync(100)
    await pendingRequest
  })

  it('applies a new latency to later answers', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    await approvals.ask(signDraft())
    approvals.setLatency(50)
    const pendingRequest = approvals.ask(signDraft())
    expect(approvals.pending).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(50)
    await pendingRequest
    expect(() => approvals.setLatency(-1)).toThrow('latency: expected whole milliseconds from 0 to 2147483647, got -1')
    expect(() => new Approvals({ answerWithinMs: Infinity })).toThrow(RangeError)
  })

  it('refuses a policy that does not exist, and keeps the one it has', () => {
    const approvals = new Approvals({ policy: 'reject' })
    expect(() => approvals.setPolicy('aprove' as 'approve')).toThrow('policy: expected one of ask, approve, reject, got "aprove"')
    expect(approvals.policy).toBe('reject')
    expect(() => new Approvals({ policy: 'deny' as 'reject' })).toThrow(RangeError)
  })

  it('rejects a question without an answer, with an error that states the remedy', async () => {
    const approvals = new Approvals({ answerWithinMs: 2_000 })
    const pendingRequest = refusalOf(approvals.ask(connectDraft()))
    await vi.advanceTimersByTimeAsync(2_000)
    const sentence =
      'no answer: eth_requestAccounts of http://localhost:3000 has been waiting for approval (connect) for 2000 ms; ' +
      "answer it with (await wallet.approvals.next()).approve(), a rule, or wallet.approvals.setPolicy('approve')"
    expect(await pendingRequest).toEqual({ code: 4001, message: sentence, reason: 'unanswered' })
    expect(approvals.pending).toEqual([])
    expect(() => approvals.assertAnswered()).toThrow(sentence)
    approvals.assertAnswered()
  })

  it('names next() when a script received the question and did not answer it', async () => {
    const approvals = new Approvals({ answerWithinMs: 2_000 })
    const pendingRequest = refusalOf(approvals.ask(signDraft()))
    await approvals.next()
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await pendingRequest).message).toContain('next() has handed it out, but neither approve() nor reject()')
  })

  it('does not apply answerWithinMs to a question with a delayed automatic answer', async () => {
    const approvals = new Approvals({ answerWithinMs: 100, latencyMs: 300, policy: 'approve' })
    const pendingRequest = approvals.ask(signDraft())
    await vi.advanceTimersByTimeAsync(300)
    await pendingRequest
  })

  it('rejects a next() that times out, with an error that names the pending questions', async () => {
    const approvals = new Approvals({ answerWithinMs: 2_000 })
    const pendingRequest = approvals.ask(signDraft())
    const next = approvals.next({ kind: 'send', timeoutMs: 500 }).catch((error: unknown) => String(error))
    await vi.advanceTimersByTimeAsync(500)
    expect(await next).toBe(
      'Error: no question of kind send came within 500 ms; those that wait are personal_sign of http://localhost:3000 (sign)',
    )
    approvals.setPolicy('approve')
    await pendingRequest
    const unseen = approvals.next().catch((error: unknown) => String(error))
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await unseen).toBe(
      "Error: no question came within 2000 ms; no other waits; the policy 'approve' answers before next() sees a question",
    )
    expect(vi.getTimerCount()).toBe(0)
  })

  it('returns no question to a next() that has timed out', async () => {
    const approvals = new Approvals()
    const next = approvals.next({ timeoutMs: 10 }).catch(() => null)
    await vi.advanceTimersByTimeAsync(10)
    await next
    void approvals.ask(signDraft())
    expect((await approvals.next()).question.kind).toBe('sign')
  })
})

describe('the end of a test', () => {
  it('fails with one message for each pending question', async () => {
    const approvals = new Approvals({ now: () => 0 })
    approvals.assertAnswered()
    void approvals.ask(signDraft())
    void approvals.ask(connectDraft(OTHER))
    await approvals.next()
    expect(() => approvals.assertAnswered()).toThrow(
      /^no answer: personal_sign of http:\/\/localhost:3000 .*handed it out.*\nno answer: eth_requestAccounts of http:\/\/evil\.example .*/,
    )
    expect(approvals.pending).toHaveLength(2)
  })

  it('resets the queue for the next test', async () => {
    const approvals = new Approvals({ policy: 'ask' })
    approvals.rule(({ kind }) => (kind === 'sign' ? 'reject' : null))
    approvals.setLatency(1_000)
    const late = refusalOf(approvals.ask(signDraft()))
    const pendingRequest = refusalOf(approvals.ask(connectDraft()))
    const next = approvals.next({ kind: 'send' }).catch((error: unknown) => String(error))
    approvals.reset()
    expect(await late).toMatchObject({ code: 4001, reason: 'withdrawn' })
    expect(await pendingRequest).toMatchObject({ code: 4001, reason: 'withdrawn' })
    expect(await next).toContain('the wallet was reset')
    expect([approvals.policy, approvals.latencyMs, approvals.pending]).toEqual(['ask', 0, []])
    void approvals.ask(signDraft())
    expect(approvals.pending).toHaveLength(1)
  })

  it('rejects everything after close()', async () => {
    const approvals = new Approvals({ policy: 'ask' })
    const pendingRequest = refusalOf(approvals.ask(signDraft()))
    const next = approvals.next({ kind: 'send' }).catch((error: unknown) => String(error))
    approvals.close()
    expect(await pendingRequest).toMatchObject({ code: 4900, reason: 'wallet-closed' })
    expect(await next).toContain('the wallet was closed')
    expect(await refusalOf(approvals.ask(signDraft()))).toMatchObject({ code: 4900 })
    await expect(approvals.next()).rejects.toThrow('the wallet is closed')
  })
})

describe('the queue', () => {
  it('has a limit for each origin that does not affect other origins', async () => {
    const approvals = new Approvals()
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft())
    expect(await refusalOf(approvals.ask(signDraft()))).toMatchObject({ code: -32005, reason: 'too-many-questions' })
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS_PER_ORIGIN)
    void approvals.ask(signDraft(OTHER))
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS_PER_ORIGIN + 1)
  })

  it('limits the requests that wait for one answer', async () => {
    const approvals = new Approvals()
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(connectDraft())
    expect(await refusalOf(approvals.ask(connectDraft()))).toMatchObject({ code: -32005, reason: 'too-many-questions' })
    expect(approvals.pending).toHaveLength(1)
  })

  it('has a total limit', async () => {
    const approvals = new Approvals()
    for (let i = 0; i < WAITING_QUESTIONS; i++) void approvals.ask(signDraft(`http://${i}.example`))
    const before = approvals.pending
    expect(await refusalOf(approvals.ask(signDraft('http://last.example')))).toEqual({
      code: -32005,
      message: 'too many requests: 200 questions wait for an answer already; ask again when one of them is answered',
      reason: 'too-many-questions',
    })
    expect(approvals.pending).toEqual(before)
    approvals.approve()
    void approvals.ask(signDraft('http://last.example'))
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS)
  })

  /** Fills the queue with twelve sites that each have the maximum number of questions. */
  function flooded(approvals: Approvals): Promise<unknown>[] {
    const sites = Array.from({ length: 12 }, (_, i) => `http://${i}.example`)
    const numbers = Array.from({ length: WAITING_QUESTIONS_PER_ORIGIN }, (_, n) => n)
    return sites.flatMap((site) => numbers.map((n) => approvals.ask(signDraft(site, String(n))).catch((error: unknown) => error)))
  }

  it('admits a thirteenth site when twelve have filled it, after one question of each', async () => {
    const approvals = new Approvals()
    const events: string[] = []
    void flooded(approvals)
    const before = approvals.pending
    expect(before).toHaveLength(WAITING_QUESTIONS)
    approvals.subscribe(({ type, question }) => events.push(`${type} ${question.origin}`))
    void approvals.ask(signDraft(ORIGIN))
    const after = approvals.pending
    expect(after).toHaveLength(WAITING_QUESTIONS)
    expect(after[0]).toBe(before[0])
    expect(after.findIndex(({ origin }) => origin === ORIGIN)).toBe(12)
    const [left] = before.filter((question) => !after.includes(question))
    const ownQuestions = before.filter(({ origin }) => origin === left?.origin)
    expect([ownQuestions.indexOf(left!), ownQuestions.length]).toEqual([ownQuestions.length - 1, Math.max(...countsOf(before))])
    expect(events).toEqual([`withdrawn ${left?.origin}`, `asked ${ORIGIN}`])
  })

  it('rejects the displaced question with an error that states the remedy and does not name the other site', async () => {
    const approvals = new Approvals()
    const pendingRequest = flooded(approvals)
    await Promise.resolve()
    const settled = new Set<unknown>()
    for (const each of pendingRequest) void each.then((error) => settled.add(error))
    await new Promise(setImmediate)
    const before = settled.size
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft(ORIGIN)).catch(() => null)
    await new Promise(setImmediate)
    const errors = [...settled].slice(before) as RpcError[]
    expect(errors.length).toBeGreaterThan(10)
    for (const { code, message, data } of errors) {
      expect([code, data]).toEqual([-32005, { reason: 'too-many-questions' }])
      expect(message).toBe(
        'too many requests: 200 questions wait for an answer, and this site has the most of them, so its newest one was withdrawn for another site; ask again when one of yours is answered',
      )
    }
    // All sites, the new one included, have the same share, give or take one.
    const counts = countsOf(approvals.pending)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
  })

  it.each([
    ['names below localhost, of one port', (i: number) => `http://a${i}.localhost:3000`, 'http://localhost:5173'],
    ['addresses of this computer, of one port', (i: number) => `http://127.0.0.${i + 1}:3000`, 'http://127.0.0.1:5173'],
    ['names below one domain', (i: number) => `https://a${i}.evil.example`, 'https://shop.example.org'],
  ])('admits another site when the pages of one server have filled it: %s', async (_, nameOf, other) => {
    const approvals = new Approvals()
    const settled: unknown[] = []
    for (let i = 0; i < WAITING_QUESTIONS; i++) void approvals.ask(signDraft(nameOf(i))).catch((error: unknown) => settled.push(error))
    const [first] = approvals.pending
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft(other))
    expect(approvals.pending[0]).toBe(first)
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS)
    expect(approvals.pending.filter(({ origin }) => origin === other)).toHaveLength(WAITING_QUESTIONS_PER_ORIGIN)
    expect(await refusalOf(approvals.ask(signDraft(nameOf(WAITING_QUESTIONS))))).toMatchObject({ code: -32005 })
    expect(settled).toHaveLength(WAITING_QUESTIONS_PER_ORIGIN)
    expect(settled).toEqual(settled.map(() => expect.objectContaining({ code: -32005 })))
  })

  it('does not displace a question that next() has returned', async () => {
    const approvals = new Approvals()
    void flooded(approvals)
    const largest = approvals.pending.at(-1)?.origin
    const ofLargest = approvals.pending.filter(({ origin }) => origin === largest)
    const handedOut = await Promise.all(ofLargest.map(({ origin }) => approvals.next({ origin })))
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft(ORIGIN)).catch(() => null)
    for (const { question } of handedOut) expect(approvals.find(question.id)).toBe(question)
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS)
    expect(approvals.pending.filter(({ origin }) => origin === ORIGIN).length).toBeGreaterThan(1)
  })

  it('rejects a question when next() has returned every one that could be displaced', async () => {
    const approvals = new Approvals()
    void flooded(approvals)
    const before = approvals.pending
    for (let i = 0; i < WAITING_QUESTIONS; i++) await approvals.next()
    expect(await refusalOf(approvals.ask(signDraft(ORIGIN)))).toMatchObject({ code: -32005, reason: 'too-many-questions' })
    expect(approvals.pending).toEqual(before)
  })

  it('gives a replacement the slot of the question that it replaces: at the limit of its origin, and in a full queue', async () => {
    const approvals = new Approvals()
    void flooded(approvals)
    const before = approvals.pending
    const replaced = before.findLast(({ origin }) => origin === 'http://0.example')
    void approvals.ask(signDraft('http://0.example', 'replacement'), { replaces: replaced?.id ?? null })
    const kept = approvals.pending.filter((question) => question.replaces === null)
    expect(kept).toEqual(before.filter((question) => question !== replaced))
    expect(approvals.pending).toHaveLength(WAITING_QUESTIONS)
  })

  it('counts all programs as one site', async () => {
    const approvals = new Approvals()
    for (let i = 0; i < WAITING_QUESTIONS_PER_ORIGIN; i++) void approvals.ask(signDraft(`script ${i}`))
    const message = 'too many requests: 20 questions of programs wait for an answer already; ask again when one of them is answered'
    expect(await refusalOf(approvals.ask(signDraft('local')))).toMatchObject({ code: -32005, message })
    void approvals.ask(signDraft(ORIGIN))
    expect(approvals.pending[1]?.origin).toBe(ORIGIN)
  })

  it('is unchanged by a question that cannot be JSON, even when it is full', async () => {
    const approvals = new Approvals()
    void flooded(approvals)
    const before = approvals.pending
    const broken = { ...signDraft(ORIGIN), typedData: 1n }
    expect(await refusalOf(approvals.ask(broken))).toMatchObject({ code: -32602, reason: 'not-json' })
    expect(approvals.pending).toEqual(before)
  })

  it('alternates between sites on the page, in next() and for answers without an id', async () => {
    const approvals = new Approvals()
    const order: string[] = []
    const ask = (origin: string, text: string) =>
      void approvals.ask(signDraft(origin, text)).then(
        () => order.push(text),
        () => order.push(`not ${text}`),
      )
    for (const text of ['a1', 'a2', 'a3']) ask('http://a.example', text)
    for (const text of ['b1', 'b2']) ask('http://b.example', text)
    ask('http://c.example', 'c1')
    const textOf = (question: Question): string | null => (question.kind === 'sign' ? question.text : null)
    expect(approvals.pending.map(textOf)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    expect(textOf((await approvals.next()).question)).toBe('a1')
    expect(textOf((await approvals.next()).question)).toBe('b1')
    // Removing the second question of the first site keeps its first one in place.
    approvals.reject(approvals.pending[3]?.id)
    expect(approvals.pending.map(textOf)).toEqual(['a1', 'b1', 'c1', 'a3', 'b2'])
    for (let i = 0; i < 5; i++) approvals.approve()
    await new Promise(setImmediate)
    expect(order).toEqual(['not a2', 'a1', 'b1', 'c1', 'a3', 'b2'])
  })

  it('emits one event when a question is created and one when it ends', async () => {
    const approvals = new Approvals()
    const events: string[] = []
    const end = approvals.subscribe((event) => events.push(`${event.type} ${event.question.kind}`))
    const pendingRequest = approvals.ask(signDraft())
    approvals.approve()
    await pendingRequest
    const sent = refusalOf(approvals.ask(sendDraft(1n)))
    approvals.withdraw(approvals.pending[0]!.id, new RpcError(4100, 'disconnected'))
    await sent
    end()
    void approvals.ask(connectDraft())
    expect(events).toEqual(['asked sign', 'answered sign', 'asked send', 'withdrawn send'])
  })

  it('lets a listener answer a question in its event', async () => {
    const approvals = new Approvals()
    approvals.subscribe(({ type, question }) => type === 'asked' && approvals.approve(question.id))
    await approvals.ask(signDraft())
  })

  it('continues when a listener throws', async () => {
    const errors: unknown[] = []
    const approvals = new Approvals({ policy: 'approve', onError: (error) => errors.push(error) })
    approvals.subscribe(() => {
      throw new Error('the page has gone')
    })
    await approvals.ask(signDraft())
    expect(errors.map(String)).toEqual(['Error: the page has gone', 'Error: the page has gone'])
  })
})

/** The number of questions of each site. */
function countsOf(pending: readonly Question[]): readonly number[] {
  return [...new Set(pending.map(({ origin }) => origin))].map((site) => pending.filter(({ origin }) => origin === site).length)
}

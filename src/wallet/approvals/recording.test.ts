import { describe, expect, it } from 'vitest'
import { Approvals } from './approvals.ts'
import { ACCOUNTS, BOB, ORIGIN, OTHER, connectDraft, refusalOf, sendDraft, signDraft } from './approvals.fixture.ts'
import { RECORDED_ANSWERS } from '../limits.ts'
import type { Recording } from './recording.ts'

/** A recording after a JSON round trip: connect with the second account, reject a message, approve one of another page, send. */
async function session(): Promise<Recording> {
  const approvals = new Approvals()
  const recording = approvals.record()
  const connected = approvals.ask(connectDraft())
  approvals.approve(undefined, { accounts: [BOB] })
  const signed = refusalOf(approvals.ask(signDraft()))
  approvals.reject(undefined, 4001, 'not today')
  const other = approvals.ask(signDraft(OTHER))
  approvals.approve()
  approvals.setPolicy('approve')
  await Promise.all([connected, signed, other, approvals.ask(sendDraft(1n))])
  return JSON.parse(JSON.stringify(recording)) as Recording
}

describe('a recording', () => {
  it('holds each answer of a session as JSON', async () => {
    expect(await session()).toEqual({
      version: 1,
      answers: [
        { origin: ORIGIN, method: 'eth_requestAccounts', kind: 'connect', isAgain: false, answer: { type: 'approved', accounts: [BOB] } },
        {
          origin: ORIGIN,
          method: 'personal_sign',
          kind: 'sign',
          isAgain: false,
          answer: { type: 'rejected', code: 4001, message: 'not today' },
        },
        { origin: OTHER, method: 'personal_sign', kind: 'sign', isAgain: false, answer: { type: 'approved', accounts: null } },
        { origin: ORIGIN, method: 'eth_sendTransaction', kind: 'send', isAgain: false, answer: { type: 'approved', accounts: null } },
      ],
    })
  })

  it('holds no withdrawn question, and no answer from before or after it', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    await approvals.ask(signDraft())
    const recording = approvals.record()
    approvals.setPolicy('ask')
    const gone = new AbortController()
    const sent = refusalOf(approvals.ask(signDraft(), { signal: gone.signal }))
    gone.abort()
    await sent
    approvals.record()
    approvals.setPolicy('approve')
    await approvals.ask(signDraft())
    expect(recording.answers).toEqual([])
  })

  it('has a limit, and reports when it is reached', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    const recording = approvals.record()
    for (let i = 0; i < RECORDED_ANSWERS; i++) await approvals.ask(signDraft())
    approvals.assertAnswered()
    await approvals.ask(signDraft())
    expect(recording.answers).toHaveLength(RECORDED_ANSWERS)
    expect(() => approvals.assertAnswered()).toThrow(`the recording is full: it holds ${RECORDED_ANSWERS} answers`)
  })
})

describe('a replay', () => {
  it("answers from the recording in any order of the pages' requests", async () => {
    const approvals = new Approvals()
    approvals.replay(await session())
    await approvals.ask(signDraft(OTHER))
    expect((await approvals.ask(connectDraft())).accounts).toEqual([BOB])
    expect(await refusalOf(approvals.ask(signDraft()))).toMatchObject({ code: 4001, message: 'not today' })
    await approvals.ask(sendDraft(1n))
    approvals.assertAnswered()
  })

  it('has precedence over rules and policy, and answers pending questions', async () => {
    const approvals = new Approvals()
    const sent = approvals.ask(connectDraft())
    approvals.replay(await session())
    expect((await sent).accounts).toEqual([BOB])
    approvals.rule(() => 'approve')
    approvals.setPolicy('approve')
    expect(await refusalOf(approvals.ask(signDraft()))).toMatchObject({ message: 'not today' })
  })

  it('rejects a question that differs with an error that names both', async () => {
    const approvals = new Approvals({ policy: 'approve' })
    approvals.replay(await session())
    const sentence =
      'the recording expects eth_requestAccounts of http://localhost:3000 (connect) next, but eth_sendTransaction of http://localhost:3000 (send) came'
    expect(await refusalOf(approvals.ask(sendDraft(1n)))).toEqual({ code: 4001, message: sentence, reason: 'replay-mismatch' })
    expect(() => approvals.assertAnswered()).toThrow(sentence)
    // No recorded answer was used.
    await approvals.ask(connectDraft())
  })

  it('rejects a question after its last answer', async () => {
    const approvals = new Approvals()
    approvals.replay({ version: 1, answers: [] })
    expect(await refusalOf(approvals.ask(connectDraft()))).toMatchObject({
      reason: 'replay-mismatch',
      message:
        'the recording holds no further answer for http://localhost:3000, but eth_requestAccounts of http://localhost:3000 (connect) came',
    })
  })

  it('rejects a connect question that does not offer a recorded account', async () => {
    const approvals = new Approvals()
    approvals.replay(await session())
    const { message, reason } = await refusalOf(approvals.ask(connectDraft(ORIGIN, ACCOUNTS.slice(0, 1))))
    expect(reason).toBe('replay-mismatch')
    expect(message).toContain(`to offer ${BOB}`)
  })

  it('reports each recorded answer that was not used', async () => {
    const approvals = new Approvals()
    const end = approvals.replay(await session())
    await approvals.ask(connectDraft())
    await approvals.ask(signDraft(OTHER))
    expect(() => approvals.assertAnswered()).toThrow(
      'the recording expects personal_sign of http://localhost:3000 (sign), which did not come\n' +
        'the recording expects eth_sendTransaction of http://localhost:3000 (send), which did not come',
    )
    end()
    approvals.assertAnswered()
    void approvals.ask(signDraft())
    expect(approvals.pending).toHaveLength(1)
  })

  it('skips recorded replacement questions, and repeats the answer for new ones', async () => {
    const recorder = new Approvals({ policy: 'approve' })
    const recording = recorder.record()
    const { id } = await recorder.ask(sendDraft(1n))
    await recorder.ask(sendDraft(2n), { replaces: id })
    await recorder.ask(signDraft())
    expect(recording.answers.map(({ isAgain }) => isAgain)).toEqual([false, true, false])

    const calm = new Approvals()
    calm.replay(recording)
    await calm.ask(sendDraft(1n))
    await calm.ask(signDraft())
    calm.assertAnswered()

    const stormy = new Approvals()
    stormy.replay(recording)
    const first = await stormy.ask(sendDraft(1n))
    const second = await stormy.ask(sendDraft(2n), { replaces: first.id })
    await stormy.ask(sendDraft(3n), { replaces: second.id })
    await stormy.ask(signDraft())
    stormy.assertAnswered()
  })

  it('throws for an invalid recording', () => {
    const approvals = new Approvals()
    const answer = { origin: ORIGIN, method: 'personal_sign', kind: 'sign', isAgain: false, answer: { type: 'approved', accounts: null } }
    const wrong = [
      null,
      [],
      { version: 2, answers: [] },
      { version: 1 },
      { version: 1, answers: [{ ...answer, answer: { type: 'maybe' } }] },
      { version: 1, answers: [{ ...answer, answer: { type: 'rejected', code: '4001', message: null } }] },
      { version: 1, answers: [{ ...answer, answer: { type: 'approved', accounts: [] } }] },
      { version: 1, answers: [{ ...answer, origin: 7 }] },
    ]
    for (const recording of wrong) expect(() => approvals.replay(recording as never)).toThrow('not a recording')
    approvals.replay({ version: 1, answers: [answer] } as never)
  })
})

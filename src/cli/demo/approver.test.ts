import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Approvals } from '../../wallet/index.ts'
import { userApprover } from './approver.ts'
import { StepLog } from './steplog.ts'
import { paint } from '../terminal.ts'

const CHAIN = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('the time for which a question is pending is printed until it is answered', async () => {
  let output = ''
  const approvals = new Approvals()
  let links = 0
  const log = new StepLog((text) => void (output += text), paint(false))
  const approver = userApprover({ approvals }, log, () => `http://127.0.0.1:1/wallet?key=${(links += 1)}`)
  const ask = () =>
    approvals.ask({
      kind: 'connect',
      origin: 'https://shop.example',
      method: 'eth_requestAccounts',
      warnings: [],
      chain: CHAIN,
      accounts: [],
    })
  const first = ask()
  await vi.advanceTimersByTimeAsync(9_999)
  expect(output).toContain('the wallet asks: may https://shop.example see your account?')
  expect(output).toContain('answer here: http://127.0.0.1:1/wallet?key=1')
  expect(output).not.toContain('waiting')
  await vi.advanceTimersByTimeAsync(1)
  expect(output).toMatch(/waiting for your answer for 10 s \(Ctrl-C ends the demo\)\n$/)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(output).toMatch(/waiting for your answer for 40 s .*\n$/)
  approvals.approve()
  await first
  expect(output).toMatch(/connect: you approved\n$/)
  const answeredLength = output.length
  await vi.advanceTimersByTimeAsync(120_000)
  expect(output.length).toBe(answeredLength)

  void ask().catch(() => undefined)
  await vi.advanceTimersByTimeAsync(10)
  expect(output).toContain('answer on the same page')
  approver.close()
  const closedLength = output.length
  await vi.advanceTimersByTimeAsync(120_000)
  expect([output.length, links]).toEqual([closedLength, 1])
})

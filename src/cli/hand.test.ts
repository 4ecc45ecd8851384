import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Approvals } from '../wallet/index.ts'
import { personHand } from './hand.ts'
import { Narrator } from './narrator.ts'
import { paint } from './terminal.ts'

const CHAIN = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null } as const

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('a person is told how long nobody has answered, until there is an answer', async () => {
  let said = ''
  const approvals = new Approvals()
  let links = 0
  const narrator = new Narrator((text) => void (said += text), paint(false))
  const hand = personHand({ approvals }, narrator, () => `http://127.0.0.1:1/wallet?key=${(links += 1)}`)
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
  expect(said).toContain('the wallet asks: may https://shop.example see your account?')
  expect(said).toContain('answer here: http://127.0.0.1:1/wallet?key=1')
  expect(said).not.toContain('waiting')
  await vi.advanceTimersByTimeAsync(1)
  expect(said).toMatch(/waiting for your answer, 10 s by now \(Ctrl-C ends the demo\)\n$/)
  await vi.advanceTimersByTimeAsync(30_000)
  expect(said).toMatch(/waiting for your answer, 40 s by now .*\n$/)
  approvals.approve()
  await first
  expect(said).toMatch(/connect: you answered\n$/)
  const told = said.length
  await vi.advanceTimersByTimeAsync(120_000)
  expect(said.length).toBe(told)

  void ask().catch(() => undefined)
  await vi.advanceTimersByTimeAsync(10)
  expect(said).toContain('answer on the same page')
  hand.end()
  const ended = said.length
  await vi.advanceTimersByTimeAsync(120_000)
  expect([said.length, links]).toEqual([ended, 1])
})

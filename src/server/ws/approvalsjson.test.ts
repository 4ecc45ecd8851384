import { expect, test } from 'vitest'
import { Hash } from '../../eth/index.ts'
import type { Question } from '../../wallet/index.ts'
import { approvalsJson } from './approvalsjson.ts'

const CHAIN = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null } as const

function question(id: string, typedData: unknown = null): Question {
  return {
    id,
    kind: 'sign',
    origin: 'https://shop.example',
    method: 'eth_signTypedData_v4',
    createdAt: 1,
    replaces: null,
    warnings: [],
    account: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266' as Extract<Question, { kind: 'sign' }>['account'], // as the chain writes it
    chain: CHAIN,
    scheme: 'eth_signTypedData_v4',
    message: null,
    text: null,
    typedData,
    digest: Hash.from(`0x${'7b'.repeat(32)}`),
  }
}

test('returns the questions as JSON, also when called again', () => {
  const pending = [question('1', { message: 'ü' }), question('2')]
  const broken: unknown[] = []
  for (const _ of [1, 2]) expect(JSON.parse(approvalsJson(pending, (error) => broken.push(error)))).toEqual(pending)
  expect([approvalsJson([], fail), broken]).toEqual(['[]', []])
})

test('omits and reports a question that is nested deeper than the stack', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  const broken: unknown[] = []
  const text = approvalsJson([question('1'), question('2', deep), question('3')], (error) => broken.push(error))
  expect((JSON.parse(text) as Question[]).map(({ id }) => id)).toEqual(['1', '3'])
  expect(broken).toEqual([expect.any(RangeError)])
})

function fail(error: unknown): never {
  throw error
}

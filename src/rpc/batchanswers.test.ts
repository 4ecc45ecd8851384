import { describe, expect, it } from 'vitest'
import { COMPAT } from '../compat.ts'
import { DevAccounts } from './accounts.ts'
import { BatchAnswers, WRITTEN } from './batchanswers.ts'
import { textOf } from './body.ts'
import { createRpc } from './dispatch.ts'
import type { NodeRpc } from './dispatch.ts'
import { CODE, RpcError } from './errors.ts'
import { BATCH_BUFFER_BYTES, BATCH_SLICE_MS } from './limits.ts'
import { DEDICATED, LOGGER, testNode } from './node.fixture.ts'
import type { TestNode } from './node.fixture.ts'

const LONGEST = Number.MAX_SAFE_INTEGER

const ofSize = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => i * 7)
const answerOf = (id: number, bytes: Uint8Array): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: `0x${Buffer.from(bytes).toString('hex')}` })

function spell(answers: BatchAnswers, id: number, bytes: Uint8Array): unknown {
  answers.begin(id)
  return answers.spell(new Uint8Array([1, 2, ...bytes, 3]), 2, bytes.length)
}

/** Another answer, before which all that was written becomes text. */
function textAmong(answers: BatchAnswers): string {
  answers.add('{}')
  return '{}'
}

describe('what plain calls return is written as JSON.stringify would', () => {
  it.each([0, 7, 10, 100, 999_999_999_999_999, LONGEST])('under the id %d', (id) => {
    const answers = new BatchAnswers()
    for (const size of [0, 1, 32, 33]) expect(spell(answers, id, ofSize(size))).toBe(WRITTEN)
    expect(answers.body()).toBe(`[${[0, 1, 32, 33].map((size) => answerOf(id, ofSize(size))).join(',')}]`)
  })

  it('among answers of other kinds, in their order, and counted like them', () => {
    const others = [JSON.stringify({ id: 'é' }), [Buffer.from('{"a":'), Buffer.from('1}')], '{}'] as const
    const answers = new BatchAnswers()
    const wanted: string[] = []
    for (const [i, other] of [...others, ...others].entries()) {
      for (let left = i % 4; left > 0; left--) {
        spell(answers, left, ofSize(32))
        wanted.push(answerOf(left, ofSize(32)))
      }
      answers.add(other)
      wanted.push(typeof other === 'string' ? other : Buffer.concat(other).toString())
    }
    expect(answers.sizeBytes).toBe(wanted.reduce((sum, { length }) => sum + length, 0))
    expect(textOf(answers.body() ?? '')).toBe(`[${wanted.join(',')}]`)
  })

  it('until the memory is full, and beyond', () => {
    for (const size of [1, 32, 500, 4_000]) {
      const answers = new BatchAnswers()
      const count = Math.ceil((BATCH_BUFFER_BYTES * 3) / size)
      for (let id = 0; id < count; id++) expect(spell(answers, id, ofSize(size))).toBe(WRITTEN)
      expect(answers.body()).toBe(`[${Array.from({ length: count }, (_, id) => answerOf(id, ofSize(size))).join(',')}]`)
    }
  })

  it('until the memory is full to its last byte', () => {
    const quarter = BATCH_BUFFER_BYTES / 4
    // With one digit less, sizes that were odd are even.
    for (const first of [LONGEST, Math.floor(LONGEST / 10)]) {
      for (let size = quarter - 60; size < quarter; size++) {
        const answers = new BatchAnswers()
        const wanted = ([first, LONGEST] as const).map((id, i) => [id, ofSize(i === 0 ? quarter : size)] as const)
        for (const [id, bytes] of wanted) expect(spell(answers, id, bytes)).toBe(WRITTEN)
        expect(answers.body()).toBe(`[${wanted.map(([id, bytes]) => answerOf(id, bytes)).join(',')}]`)
      }
    }
  })

  it('but what is too long for it is given back, whatever the id', () => {
    let longest = 0
    for (let size = BATCH_BUFFER_BYTES / 2 - 100; size < BATCH_BUFFER_BYTES / 2 + 2; size++) {
      const answers = new BatchAnswers()
      spell(answers, 1, ofSize(32))
      const spelt = spell(answers, LONGEST, ofSize(size))
      if (spelt === WRITTEN) longest = size
      else expect(spelt).toBe(`0x${Buffer.from(ofSize(size)).toString('hex')}`)
      const written = [answerOf(1, ofSize(32)), ...(spelt === WRITTEN ? [answerOf(LONGEST, ofSize(size))] : [])]
      expect(answers.body()).toBe(`[${written.join(',')}]`)
    }
    expect(longest).toBeLessThan(BATCH_BUFFER_BYTES / 2)
    expect(longest).toBeGreaterThan(BATCH_BUFFER_BYTES / 2 - 100)
  })

  it('in several batches at once that begin and end one after the other', () => {
    const batches = Array.from({ length: 6 }, () => ({ answers: new BatchAnswers(), wanted: [] as string[] })) // of texts
    for (let time = 0; time < 30; time++) {
      for (const [i, { answers, wanted }] of batches.entries()) {
        if (time < 3 * i || time > 3 * i + 13) continue
        spell(answers, time + 100 * i, ofSize(32))
        wanted.push(answerOf(time + 100 * i, ofSize(32)))
        if (time === 3 * i + 13) expect(answers.body()).toBe(`[${wanted.join(',')}]`)
        else if (time % 4 === 3) wanted.push(textAmong(answers))
      }
    }
  })
})

it('what a batch that has ended still writes stands in no other', () => {
  const [ended, next] = [new BatchAnswers(), new BatchAnswers()]
  spell(ended, 1, ofSize(32))
  ended.body()
  spell(next, 2, ofSize(32))
  spell(ended, 3, ofSize(32))
  expect(next.body()).toBe(`[${answerOf(2, ofSize(32))}]`)
})

it('without answers there is no body', () => {
  expect(new BatchAnswers().body()).toBeNull()
})

it('a call that is refused or breaks in the middle of a batch is answered in its place', async () => {
  const [{ chain }, bugs, method] = [await testNode(), [] as unknown[], 'eth_call'] // of onBug
  const ways = [null, new RangeError('a bug'), new RpcError(CODE.server, 'no room')]
  const elsewhere = async () => {
    const [way = null] = ways.splice(0, 1)
    ways.push(way)
    if (way !== null) throw way
    return null
  }
  const others = { accounts: new DevAccounts([]), compat: COMPAT.default, clientVersion: '', onBug: (...bug: unknown[]) => bugs.push(bug) }
  const rpc = createRpc({ ...others, chain, parallel: { stretchMs: 0, compute: elsewhere } })
  const calls = [1, 2, 3, 4].map((id) => ({ jsonrpc: '2.0', id, method, params: [{ to: LOGGER, data: '0x' }, 'latest'] }))
  const { body } = await rpc.handle(Buffer.from(JSON.stringify(calls)), DEDICATED)
  expect(JSON.parse(textOf(body ?? ''))).toEqual([
    { jsonrpc: '2.0', id: 1, result: '0x' },
    { jsonrpc: '2.0', id: 2, error: { code: CODE.internal, message: 'method handler crashed' } },
    { jsonrpc: '2.0', id: 3, error: { code: CODE.server, message: 'no room' } },
    { jsonrpc: '2.0', id: 4, result: '0x' },
  ])
  expect(bugs).toEqual([[new RangeError('a bug'), method]])
})

describe('batches that let each other in answer as they would alone', () => {
  const digits = (id: number) => `0x${String(id).padStart(64, '0')}`
  const idsOf = (batch: number) => Array.from({ length: 40 }, (_, i) => 100 * batch + i)
  const call = (id: number) => {
    // The last are for another reader.
    const more = id % 100 > 30 ? ',"gas":"0xffff"' : ''
    return `{"jsonrpc":"2.0","id":${id},"method":"eth_call","params":[{"to":"${LOGGER}","data":"${digits(id)}"${more}},"latest"]}`
  }

  async function expectOwnAnswers({ ask }: TestNode, rpc: NodeRpc): Promise<void> {
    // Returns its data.
    await ask('anvil_setCode', LOGGER, '0x365f5f37365ff3')
    const answers = [1, 2, 3].map(async (batch) => rpc.handle(Buffer.from(`[${idsOf(batch).map(call).join(',')}]`), DEDICATED))
    for (const [i, { body }] of (await Promise.all(answers)).entries()) {
      expect(JSON.parse(textOf(body ?? ''))).toEqual(idsOf(i + 1).map((id) => ({ jsonrpc: '2.0', id, result: digits(id) })))
    }
  }

  it('between their items', async () => {
    let nowMs = 0
    const node = await testNode({ now: () => (nowMs += BATCH_SLICE_MS / 3) })
    await expectOwnAnswers(node, node.rpc)
  })

  it('while an item is worked out elsewhere', async () => {
    let asked = 0
    const compute = async () => {
      asked++
      return null
    }
    const [node, compat] = [await testNode(), COMPAT.default]
    const others = { accounts: new DevAccounts([]), clientVersion: '', onBug: (error: unknown) => node.bugs.push(error) }
    await expectOwnAnswers(node, createRpc({ ...others, chain: node.chain, compat, parallel: { stretchMs: 0, compute } }))
    expect([asked, node.bugs]).toEqual([120, []])
  })
})

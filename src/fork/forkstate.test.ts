import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MissingState } from '../chain/index.ts'
import type { AccessListCall, MissingKey } from '../chain/index.ts'
import { Address, EMPTY_CODE_HASH, Hash } from '../eth/index.ts'
import type { UpstreamError } from './errors.ts'
import { ForkState } from './forkstate.ts'
import type { ForkStateOptions } from './forkstate.ts'
import { resolveForkBlock } from './pin.ts'
import { FixtureChain, Refusal, UpstreamFixture, addContract, slotOf } from './upstream.fixture.ts'
import { Upstream } from './upstream.ts'

const RICH = Address.from(`0x${'11'.repeat(20)}`)
const NOBODY = Address.from(`0x${'22'.repeat(20)}`)
const BLOCK_HASH = { blockHash: expect.anything() as unknown }

let chain: FixtureChain
let fixture: UpstreamFixture
let upstream: Upstream
let token: Address
const params: (readonly unknown[])[] = []

beforeEach(async () => {
  chain = new FixtureChain()
  chain.accounts.set(RICH, { nonce: 7n, balance: 10n ** 18n, code: '0x' })
  token = addContract(chain, 1, 200)
  params.length = 0
  fixture = await UpstreamFixture.start((method, given) => {
    params.push(given)
    return chain.answer(method, given)
  })
  upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
})

afterEach(async () => {
  upstream.close()
  await fixture.stop()
})

async function forked(options: Partial<ForkStateOptions> = {}): Promise<ForkState> {
  const state = new ForkState({ upstream, block: await resolveForkBlock(upstream), ...options })
  fixture.requests.length = 0
  params.length = 0
  return state
}

const account = (address: Address): MissingKey => ({ kind: 'account', address })
const slot = (address: Address, index: number): MissingKey => ({ kind: 'slot', address, slot: slotOf(index) })
const slots = (address: Address, count: number): MissingKey[] => Array.from({ length: count }, (_, i) => slot(address, i))

function missing(read: () => unknown): readonly MissingKey[] {
  try {
    read()
  } catch (error) {
    if (error instanceof MissingState) return error.keys
    throw error
  }
  throw new Error('nothing was missing')
}

/** Replaces the upstream by one that answers `method` with `value`. */
async function answerWith(method: string, value: unknown): Promise<void> {
  await fixture.stop()
  upstream.close()
  fixture = await UpstreamFixture.start((called, given) => (called === method ? value : chain.answer(called, given)))
  upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
}

async function messageOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'it was fetched',
    (error: UpstreamError) => error.message,
  )
}

const call = (data: number): AccessListCall => ({ from: RICH, to: token, data: new Uint8Array(data), value: 0n, gas: null })

describe('ForkState', () => {
  it('names the missing key of each read', async () => {
    const state = await forked()
    expect(missing(() => state.account(RICH))).toEqual([account(RICH)])
    expect(missing(() => state.storage(token, slotOf(3)))).toEqual([slot(token, 3)])
    expect(missing(() => state.blockHash(90))).toEqual([{ kind: 'blockHash', number: 90 }])
    expect(state.stateRoot).toBe(chain.block(98, true)?.['stateRoot'])
  })

  it('fetches 100 slots and 10 accounts in one HTTP request', async () => {
    const state = await forked()
    const others = Array.from({ length: 9 }, (_, i) => addContract(chain, i + 2, 0))
    await state.fetch([...slots(token, 100), ...[RICH, ...others].map(account)])
    expect(fixture.requests.map(({ length }) => length)).toEqual([11])
    expect(params[0]).toMatchObject([{ [token]: expect.anything() as unknown }, BLOCK_HASH])
    for (let i = 0; i < 100; i++) expect(state.storage(token, slotOf(i))).toBe(BigInt(i + 1))
    expect(state.account(RICH)).toEqual({ nonce: 7n, balance: 10n ** 18n, codeHash: EMPTY_CODE_HASH })
    for (const other of others) {
      const { codeHash } = state.account(other)!
      expect(codeHash).toBe(Hash.keccak(state.code(codeHash)))
    }
    expect(state.stats).toMatchObject({ keys: 110, cacheHits: 0, requests: 3 })
  })

  it('reads an empty account as absent, and its storage as 0 without a request', async () => {
    const state = await forked()
    await state.fetch([account(NOBODY)])
    expect(state.account(NOBODY)).toBeNull()
    expect(state.storage(NOBODY, slotOf(1))).toBe(0n)
    await state.fetch([account(NOBODY), slot(NOBODY, 2)])
    expect(fixture.requests).toHaveLength(1)
    expect(state.code(EMPTY_CODE_HASH)).toEqual(new Uint8Array())
  })

  it('asks for the storage of an account without code that has a nonce', async () => {
    const state = await forked()
    await state.fetch([account(RICH)])
    expect(missing(() => state.storage(RICH, slotOf(0)))).toEqual([slot(RICH, 0)])
  })

  it('joins equal keys in flight, and keys of one turn of the event loop in one request', async () => {
    const state = await forked()
    fixture.faults.delayMs = 20
    const first = Promise.all([state.fetch([account(RICH)]), state.fetch([account(RICH), slot(token, 1)])])
    await expect.poll(() => fixture.requests.length + params.length).toBeGreaterThan(0)
    await Promise.all([first, state.fetch([account(RICH)]), state.fetch([slot(token, 1)])])
    expect(fixture.methods).toEqual(['eth_getStorageValues', 'eth_getAccountInfo'])
  })

  it('joins the keys of later turns while four rounds run', async () => {
    const state = await forked()
    fixture.faults.delayMs = 40
    const fetches: Promise<void>[] = []
    for (let i = 0; i < 64; i++) {
      fetches.push(state.fetch([slot(token, i)]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await Promise.all(fetches)
    expect(fixture.requests.length).toBeLessThan(16)
    expect([0, 63].map((i) => state.storage(token, slotOf(i)))).toEqual([1n, 64n])
  })

  it('fetches a key again after its request failed', async () => {
    const state = await forked()
    fixture.faults.failing = { count: 2, status: 500 }
    expect(await messageOf(state.fetch([account(RICH)]))).toBe(
      `upstream ${fixture.url} answered HTTP 500 without a JSON-RPC response (2 attempts); missing: account ${RICH} of block 98`,
    )
    await state.fetch([account(RICH)])
    expect(state.account(RICH)?.nonce).toBe(7n)
  })

  it('fails only the keys of a shared request that upstream cannot give, and keeps the others', async () => {
    const answered = chain.answer
    await fixture.stop()
    upstream.close()
    fixture = await UpstreamFixture.start((method, given) => (given[0] === '0x32' ? null : answered(method, given)))
    upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
    const state = await forked()
    const fetches = [[{ kind: 'blockHash', number: 50 } as const, account(token)], [account(RICH)], [slot(token, 1)]]
    expect(await Promise.all(fetches.map((keys) => messageOf(state.fetch(keys))))).toEqual([
      'upstream has no block 50; use an archive endpoint or a newer --fork-block-number',
      'it was fetched',
      'it was fetched',
    ])
    expect(fixture.requests).toHaveLength(1)
    expect([state.account(RICH)?.nonce, state.account(token)?.nonce, state.storage(token, slotOf(1))]).toEqual([7n, 1n, 2n])
  })

  it('fails only the account that upstream refuses', async () => {
    const answered = chain.answer
    await fixture.stop()
    upstream.close()
    fixture = await UpstreamFixture.start((method, given) => {
      if (method === 'eth_getAccountInfo') throw refusal('method not found')
      if (given[0] === NOBODY) throw refusal('no')
      return answered(method, given)
    })
    upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
    const state = await forked()
    const [refused, given] = await Promise.all([NOBODY, RICH].map((address) => messageOf(state.fetch([account(address)]))))
    expect([refused, given]).toEqual([
      expect.stringMatching(/answered eth_getBalance with error -32000: no|answered eth_getCode/),
      'it was fetched',
    ])
    expect(state.account(RICH)?.nonce).toBe(7n)
  })

  it('fetches hashes of ancestors in one batch, and has those of the fork block and its parent', async () => {
    const state = await forked()
    expect([state.blockHash(98), state.blockHash(97), state.blockHash(99), state.blockHash(-1)]).toEqual([
      chain.hash(98),
      chain.hash(97),
      null,
      null,
    ])
    await state.fetch([
      { kind: 'blockHash', number: 50 },
      { kind: 'blockHash', number: 40 },
    ])
    expect(fixture.requests).toHaveLength(1)
    expect([50, 49, 40, 39].map((number) => state.blockHash(number))).toEqual([50, 49, 40, 39].map((number) => chain.hash(number)))
  })

  it('splits more than 1,024 slots', async () => {
    const state = await forked()
    await state.fetch(slots(token, 2_500))
    expect(fixture.requests).toEqual([['eth_getStorageValues', 'eth_getStorageValues', 'eth_getStorageValues']])
    expect([state.storage(token, slotOf(199)), state.storage(token, slotOf(2_499))]).toEqual([200n, 0n])
  })

  it('drops the least recently used slots above the limit, and fetches them again', async () => {
    const state = await forked({ maxSlots: 100 })
    await state.fetch(slots(token, 40))
    await state.fetch(slots(token, 150).slice(40))
    expect(missing(() => state.storage(token, slotOf(0)))).toEqual([slot(token, 0)])
    expect(state.storage(token, slotOf(149))).toBe(150n)
    await state.fetch([slot(token, 0)])
    expect(state.storage(token, slotOf(0))).toBe(1n)
  })

  describe('another upstream', () => {
    it('answers from then on, and its requests are added to the counters', async () => {
      const state = await forked()
      await state.fetch([account(RICH)])
      const second = await UpstreamFixture.start(chain.answer)
      const other = new Upstream([second.url])
      await state.setUpstream(other)
      await state.fetch([account(token)])
      expect([fixture.requests.length, second.methods.at(-1)]).toEqual([1, 'eth_getAccountInfo'])
      expect(state.stats.requests).toBe(6)
      other.close()
      await second.stop()
    })

    it('must have the same chain id and fork block', async () => {
      const state = await forked()
      const second = await UpstreamFixture.start(new FixtureChain({ chainId: 1 }).answer)
      expect(await messageOf(state.setUpstream(new Upstream([second.url])))).toBe(
        `upstream ${second.url} has chain id 1, not 10, which the fork has; use an endpoint of the same chain`,
      )
      await second.stop()
      const { hash } = state.block
      chain.reorganisedFrom = 90
      expect(await messageOf(state.setUpstream(upstream))).toBe(
        `upstream ${fixture.url} has ${chain.hash(98)} as block 98, not the fork block ${hash}; use an endpoint of the same chain`,
      )
    })
  })

  describe('several urls', () => {
    let second: UpstreamFixture
    let other: FixtureChain
    const notes: string[] = []
    beforeEach(async () => {
      other = new FixtureChain()
      other.accounts.set(RICH, { nonce: 8n, balance: 1n, code: '0x' })
      second = await UpstreamFixture.start((method, given) => other.answer(method, given))
      notes.length = 0
      upstream.close()
      upstream = new Upstream([fixture.url, second.url], { backoffMs: 4, retries: 1, onNote: (line) => notes.push(line) })
    })
    afterEach(() => second.stop())

    it('are checked once before they are used', async () => {
      const state = await forked()
      fixture.faults.failing = { count: 100, status: 500 }
      await state.fetch([account(RICH)])
      await state.fetch([account(token)])
      expect(second.requests).toEqual([['eth_chainId', 'eth_getBlockByNumber'], ['eth_getAccountInfo'], ['eth_getAccountInfo']])
      expect([state.account(RICH)?.nonce, notes]).toEqual([8n, []])
    })

    it('of another branch are not used', async () => {
      const state = await forked()
      other.reorganisedFrom = 90
      fixture.faults.failing = { count: 100, status: 500 }
      expect(await messageOf(state.fetch([account(RICH)]))).toContain(`upstream ${fixture.url} answered HTTP 500`)
      expect(notes).toEqual([
        `upstream ${second.url} has ${other.hash(98)} as block 98, not the fork block ${state.block.hash}; use an endpoint of the same chain. It is not used`,
      ])
    })

    it('that lack the fork block are tried again', async () => {
      const state = await forked()
      other.head = 97
      fixture.faults.failing = { count: 100, status: 500 }
      expect(await messageOf(state.fetch([account(RICH)]))).toContain(`upstream ${second.url} has no block as block 98`)
      other.head = 98
      await state.fetch([account(RICH)])
      expect([state.account(RICH)?.nonce, notes]).toEqual([8n, []])
    })

    it('are checked when the first one failed while the fork block was read, and when no request was sent for it', async () => {
      const chains = { first: fixture.url, second: second.url }
      other.reorganisedFrom = 90
      fixture.faults.failing = { count: 1, status: 500 }
      const block = await resolveForkBlock(upstream)
      const state = new ForkState({ upstream, block })
      second.faults.failing = { count: 1, status: 500 }
      await state.fetch([account(RICH)])
      expect(state.account(RICH)?.nonce).toBe(8n)
      expect(notes).toEqual([expect.stringContaining(`upstream ${chains.first} has ${chain.hash(98)} as block 98`)])
      notes.length = 0
      const urls = [chains.first, chains.second]
      const cached = new ForkState({ upstream: new Upstream(urls, { onNote: (line) => notes.push(line) }), block })
      await cached.fetch([account(RICH)])
      expect(notes).toEqual([expect.stringContaining(`upstream ${chains.first} has ${chain.hash(98)} as block 98`)])
    })
  })

  describe('access lists', () => {
    beforeEach(() => {
      chain.accessList = [
        { address: token, storageKeys: [slotOf(1), slotOf(5), slotOf(6)] },
        { address: NOBODY, storageKeys: [] },
      ]
    })

    it('add their keys in a second request', async () => {
      const state = await forked()
      await state.fetch([account(RICH), account(token), slot(token, 1)], call(4))
      expect(fixture.requests).toEqual([
        ['eth_getStorageValues', 'eth_getAccountInfo', 'eth_getAccountInfo', 'eth_createAccessList'],
        ['eth_getStorageValues', 'eth_getAccountInfo'],
      ])
      expect([5, 6].map((i) => state.storage(token, slotOf(i)))).toEqual([6n, 7n])
      expect(state.account(NOBODY)).toBeNull()
      const request = { from: RICH, to: token, data: '0x00000000', value: '0x0', gasPrice: '0x0' }
      expect(params).toContainEqual([request, BLOCK_HASH])
    })

    it('are not asked for by a call without data, for an account that is not called, or when nothing is missing', async () => {
      const state = await forked()
      await state.fetch([account(RICH), account(token)], call(0))
      await state.fetch([account(NOBODY), account(NOBODY)], call(4))
      await state.fetch([account(token)], call(4))
      expect(fixture.methods).not.toContain('eth_createAccessList')
    })

    it('come with the account that is called', async () => {
      const state = await forked()
      await state.fetch([account(token), account(token)], call(4))
      expect(fixture.requests).toEqual([
        ['eth_getAccountInfo', 'eth_createAccessList'],
        ['eth_getStorageValues', 'eth_getAccountInfo'],
      ])
    })

    it('are not asked for again when upstream lacks the method', async () => {
      fixture.faults.absent.add('eth_createAccessList')
      const state = await forked()
      await state.fetch([slot(token, 1)], call(4))
      await state.fetch([slot(token, 2)], call(4))
      expect(fixture.requests).toEqual([['eth_getStorageValues', 'eth_createAccessList'], ['eth_getStorageValues']])
    })

    it('that cannot be read add nothing', async () => {
      chain.accessList = [
        { address: '0x12', storageKeys: ['zz'] },
        { address: token, storageKeys: ['0x1'] },
      ]
      const state = await forked()
      await state.fetch([slot(token, 1), account(token)], call(4))
      expect(fixture.requests).toHaveLength(1)
    })
  })

  describe('fallbacks', () => {
    it('read accounts by balance, nonce and code, and slots one by one, after one refusal', async () => {
      fixture.faults.absent = new Set(['eth_getAccountInfo', 'eth_getStorageValues'])
      const state = await forked()
      await state.fetch([account(RICH), account(token), slot(token, 1), slot(token, 2)])
      expect(fixture.requests.map(({ length }) => length)).toEqual([3, 8])
      expect(state.account(RICH)).toEqual({ nonce: 7n, balance: 10n ** 18n, codeHash: EMPTY_CODE_HASH })
      expect(state.code(state.account(token)!.codeHash)).toEqual(new Uint8Array([0x60, 1]))
      expect(state.storage(token, slotOf(2))).toBe(3n)
      await state.fetch([account(NOBODY), slot(token, 3)])
      expect(fixture.requests).toHaveLength(3)
      expect(state.account(NOBODY)).toBeNull()
    })

    it('read slots one by one when eth_getStorageValues has no historical state', async () => {
      const answered = chain.answer
      await fixture.stop()
      upstream.close()
      fixture = await UpstreamFixture.start((method, given) => {
        if (method === 'eth_getStorageValues') throw refusal('historical state 0x1 is not available')
        return answered(method, given)
      })
      upstream = new Upstream([fixture.url], { backoffMs: 4, retries: 1 })
      const state = await forked()
      await state.fetch([slot(token, 1)])
      expect(fixture.methods).toEqual(['eth_getStorageValues', 'eth_getStorageValues', 'eth_getStorageAt'])
    })

    it('name the block by number when upstream refuses its hash, with a check of the hash in each request', async () => {
      fixture.faults.takesHashes = false
      const state = await forked()
      await state.fetch([account(RICH), slot(token, 1)])
      expect(fixture.requests.at(-1)).toEqual(['eth_getBlockByNumber', 'eth_getStorageValues', 'eth_getAccountInfo'])
      expect(params.at(-1)).toEqual([RICH, '0x62'])
      fixture.requests.length = 0
      await state.fetch([account(token)])
      expect(fixture.requests).toEqual([['eth_getBlockByNumber', 'eth_getAccountInfo']])
    })

    it('keep nothing of another block of the same number', async () => {
      const state = await forked({ byNumber: true })
      chain.reorganisedFrom = 98
      expect(await messageOf(state.fetch([account(RICH)]))).toBe(
        `upstream replaced the fork block: block 98 was ${state.block.hash} and is now ${chain.hash(98)}; fork again, or use a lower --fork-block-number`,
      )
      expect(missing(() => state.account(RICH))).toHaveLength(1)
    })
  })

  describe('errors', () => {
    it.each(['missing trie node 12 (path )', 'header not found', 'historical state 0x12 is not available'])(
      'say that the state is pruned (%s)',
      async (message) => {
        const state = await forked()
        fixture.faults.stateError = { code: -32000, message }
        expect(await messageOf(state.fetch([account(RICH), slot(token, 1)]))).toBe(
          'upstream has no state of block 98; use an archive endpoint or a newer --fork-block-number',
        )
      },
    )

    it('say that the fork block was replaced when its state is absent for that reason', async () => {
      const state = await forked()
      chain.reorganisedFrom = 95
      fixture.faults.stateError = { code: -32000, message: 'header not found' }
      expect(await messageOf(state.fetch([account(RICH)]))).toMatch(/^upstream replaced the fork block: block 98 was /)
    })

    it('name an ancestor of another branch', async () => {
      const state = await forked()
      await state.fetch([{ kind: 'blockHash', number: 50 }])
      chain.reorganisedFrom = 49
      expect(await messageOf(state.fetch([{ kind: 'blockHash', number: 51 }]))).toMatch(
        /^upstream replaced block 50, an ancestor of the fork block/,
      )
    })

    it('name the method of any other refusal', async () => {
      fixture.faults.absent = new Set(['eth_getAccountInfo', 'eth_getCode'])
      const state = await forked()
      expect(await messageOf(state.fetch([account(RICH)]))).toBe(
        `upstream ${fixture.url} answered eth_getCode with error -32601: the method eth_getCode does not exist/is not available`,
      )
    })

    it.each([
      ['eth_getAccountInfo', { nonce: 'x', balance: '0x0', code: '0x' }],
      ['eth_getAccountInfo', null],
      ['eth_getStorageValues', {}],
      ['eth_getStorageValues', null],
    ])('do not follow from a malformed value of %s (%j): its fallback is called', async (malformedMethod, value) => {
      await answerWith(malformedMethod, value)
      const state = await forked()
      await state.fetch([account(RICH), slot(token, 1)])
      await state.fetch([slot(token, 2)])
      expect([state.account(RICH)?.nonce, state.storage(token, slotOf(2))]).toEqual([7n, 3n])
      expect(fixture.methods.filter((method) => method === malformedMethod)).toHaveLength(1)
    })

    it.each([
      ['eth_getBalance', null, 'a quantity of at most 32 bytes'],
      ['eth_getCode', '0x1', 'bytes'],
    ])('name a malformed value of %s (%j)', async (malformedMethod, value, expected) => {
      await answerWith(malformedMethod, value)
      fixture.faults.absent = new Set(['eth_getAccountInfo'])
      const state = await forked()
      expect(await messageOf(state.fetch([account(RICH)]))).toBe(
        `upstream ${fixture.url} answered ${malformedMethod} with a value that is not ${expected}`,
      )
      expect(missing(() => state.account(RICH))).toHaveLength(1)
    })

    it('name a code that belongs to no account', async () => {
      const state = await forked()
      expect(() => state.code(Hash.zero)).toThrow('no account of the fork block that was read has the code')
    })
  })
})

function refusal(message: string): Error {
  return new Refusal(-32000, message)
}

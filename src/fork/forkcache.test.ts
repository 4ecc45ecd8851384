import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MissingState } from '../chain/index.ts'
import type { MissingKey } from '../chain/index.ts'
import { Address } from '../eth/index.ts'
import { compile } from '../store/storage/program.fixture.ts'
import type { Program } from '../store/storage/program.fixture.ts'
import { ForkCache, defaultCachePath } from './forkcache.ts'
import type { ForkCacheOptions } from './forkcache.ts'
import { ForkState } from './forkstate.ts'
import { resolveForkBlock } from './pin.ts'
import { FixtureChain, UpstreamFixture, addContract, slotOf } from './upstream.fixture.ts'
import { Upstream } from './upstream.ts'

const RICH = Address.from(`0x${'11'.repeat(20)}`)
const NOBODY = Address.from(`0x${'22'.repeat(20)}`)
const GONE = 'http://127.0.0.1:2'

let chain: FixtureChain
let fixture: UpstreamFixture
let token: Address
let path: string
let warnings: string[]
const closing: { close(): unknown }[] = []

beforeEach(async () => {
  chain = new FixtureChain()
  chain.accounts.set(RICH, { nonce: 7n, balance: 10n ** 18n, code: '0x' })
  token = addContract(chain, 1, 2_000)
  fixture = await UpstreamFixture.start(chain.answer)
  path = mkdtempSync(join(tmpdir(), 'pocketchain-fork-'))
  warnings = []
})

afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
  await fixture.stop()
  rmSync(path, { recursive: true, force: true })
})

/** A fork of block 98, as a process would start it. */
async function start(url = fixture.url, options: ForkCacheOptions & { path?: string; block?: number } = {}): Promise<ForkState> {
  const cache = new ForkCache(options.path ?? path, { warn: (line) => warnings.push(line), ...options })
  const upstream = new Upstream([url], { backoffMs: 4, retries: 0 })
  const pin = { blockNumber: options.block ?? 98, chainId: 10 }
  const state = new ForkState({ upstream, block: await resolveForkBlock(upstream, pin, cache), cache })
  closing.push(upstream, state)
  return state
}

const account = (address: Address): MissingKey => ({ kind: 'account', address })
const slot = (index: number): MissingKey => ({ kind: 'slot', address: token, slot: slotOf(index) })

function isLocal(state: ForkState, index: number): boolean {
  try {
    return state.storage(token, slotOf(index)) === BigInt(index + 1)
  } catch (error) {
    if (error instanceof MissingState) return false
    throw error
  }
}

const fileOf = (block = 98): string => join(path, 'fork', '10', `${chain.hash(block)}.log`)

describe('the disk cache of a fork', () => {
  it('starts without a request, and answers everything that was fetched', async () => {
    const state = await start()
    await state.fetch([account(RICH), account(NOBODY), account(token), slot(0), slot(5_000), { kind: 'blockHash', number: 40 }])
    const code = state.code(state.account(token)!.codeHash)
    fixture.requests.length = 0
    const again = await start(GONE)
    expect(again.account(RICH)).toEqual(state.account(RICH))
    expect(again.account(NOBODY)).toBeNull()
    expect(again.code(again.account(token)!.codeHash)).toEqual(code)
    expect([again.storage(token, slotOf(0)), again.storage(token, slotOf(5_000))]).toEqual([1n, 0n])
    expect(again.blockHash(39)).toBe(chain.hash(39))
    expect(again.block).toEqual(state.block)
    expect(fixture.requests).toHaveLength(0)
    expect(again.stats).toEqual({ requests: 0, keys: 0, cacheHits: 5, retries: 0, rateLimits: 0 })
    expect(warnings).toEqual([])
  })

  it('names the missing key when upstream is gone', async () => {
    await start()
    const again = await start(GONE)
    await expect(again.fetch([slot(3)])).rejects.toThrow(
      `upstream ${GONE} cannot be reached: ECONNREFUSED; missing: slot ${slotOf(3)} of ${token} of block 98`,
    )
  })

  it('names the chain id that starts offline', async () => {
    await start()
    const upstream = new Upstream([GONE], { retries: 0 })
    await expect(resolveForkBlock(upstream, { blockNumber: 98 }, new ForkCache(path))).rejects.toThrow(
      `upstream ${GONE} cannot be reached: ECONNREFUSED; block 98 of chain 10 is cached: --fork-chain-id 10 starts without upstream`,
    )
  })

  it('skips a line that was cut off at any byte, and appends after it', async () => {
    const state = await start()
    await state.fetch([slot(0)])
    const complete = readFileSync(fileOf()).length
    await state.fetch([slot(1)])
    const all = readFileSync(fileOf())
    for (let size = complete; size < all.length; size += 7) {
      writeFileSync(fileOf(), all.subarray(0, size))
      const again = await start()
      expect([isLocal(again, 0), isLocal(again, 1)]).toEqual([true, false])
      await again.fetch([slot(2)])
      const third = await start(GONE)
      expect([0, 1, 2].map((i) => isLocal(third, i))).toEqual([true, false, true])
    }
    expect(warnings).toEqual([])
  })

  it('skips a damaged line', async () => {
    const state = await start()
    for (const i of [0, 1, 2]) await state.fetch([slot(i)])
    const lines = readFileSync(fileOf(), 'utf8').split('\n')
    const at = lines.findIndex((line) => line.includes(slotOf(1).slice(2)))
    lines[at] = lines[at]!.replace('"0x2"', '"0x3"')
    writeFileSync(fileOf(), lines.join('\n'))
    const again = await start(GONE)
    expect([0, 1, 2].map((i) => isLocal(again, i))).toEqual([true, false, true])
  })

  it.each([
    ['of another block', () => writeFileSync(fileOf(), readFileSync(fileOf(97)))],
    ['with a damaged head', () => writeFileSync(fileOf(), `x${readFileSync(fileOf(), 'utf8')}`)],
    ['with a cut head', () => truncateSync(fileOf(), 300)],
    ['that is empty', () => writeFileSync(fileOf(), '')],
    ['of another version', () => writeFileSync(fileOf(), readFileSync(fileOf(), 'utf8').replace('"version":1', '"version":2'))],
  ])('deletes a file %s, and says so', async (_, damage) => {
    await start(fixture.url, { block: 97 })
    await (await start()).fetch([slot(0)])
    damage()
    const again = await start()
    expect(isLocal(again, 0)).toBe(false)
    expect(warnings).toEqual([
      `the fork cache file ${fileOf()} is damaged or of another block; it is deleted, and its values are fetched again`,
    ])
    await again.fetch([slot(0)])
    expect(isLocal(await start(GONE), 0)).toBe(true)
  })

  it('drops a block that upstream has replaced, and says so', async () => {
    await (await start()).fetch([slot(0)])
    const before = chain.hash(98)
    chain.reorganisedFrom = 98
    const upstream = new Upstream([fixture.url])
    closing.push(upstream)
    const cache = new ForkCache(path, { warn: (line) => warnings.push(line) })
    const block = await resolveForkBlock(upstream, { blockNumber: 98 }, cache)
    expect(block.hash).toBe(chain.hash(98))
    expect(warnings).toEqual([
      `block 98 of chain 10 was reorganised: ${before} is now ${chain.hash(98)}; the cached state of the former is deleted`,
    ])
    expect(existsSync(join(path, 'fork', '10', `${before}.log`))).toBe(false)
  })

  it('deletes the blocks that were unused for longest above its limit', async () => {
    for (const [i, block] of [90, 91, 92].entries()) {
      await (await start(fixture.url, { block })).fetch(Array.from({ length: 40 }, (_, at) => slot(at)))
      utimesSync(fileOf(block), 1_000 + i, 1_000 + i)
    }
    const { length } = readFileSync(fileOf(90))
    await start(fixture.url, { block: 93, maxBytes: length * 2 })
    expect([90, 91, 92, 93].map((block) => existsSync(fileOf(block)))).toEqual([false, false, true, true])
    expect(warnings).toEqual([])
  })

  it('goes off with one line when the file of the block alone is above the limit', async () => {
    const state = await start(fixture.url, { maxBytes: 100 })
    await state.fetch([slot(0)])
    expect(isLocal(state, 0)).toBe(true)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^fetched state is not cached on disk from now on: .*: it has \d+ bytes, more than the limit of 100$/)
  })

  it('goes off with one line in a folder that cannot be written', async () => {
    writeFileSync(join(path, 'file'), '')
    const state = await start(fixture.url, { path: join(path, 'file') })
    await state.fetch([slot(0)])
    await state.fetch([slot(1)])
    expect(isLocal(state, 1)).toBe(true)
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^fetched state is not cached on disk from now on: .*ENOTDIR/)
  })

  it('keeps only the block file, and no temporary files', async () => {
    await start()
    expect(readdirSync(join(path, 'fork', '10'))).toEqual([`${chain.hash(98)}.log`])
  })

  it('is in XDG_CACHE_HOME, or in .cache of the home folder', () => {
    expect(defaultCachePath({ XDG_CACHE_HOME: '/cache' })).toBe('/cache/pocketchain')
    expect(defaultCachePath({ XDG_CACHE_HOME: '' })).toMatch(/\/\.cache\/pocketchain$/)
  })
})

const CAN_MOUNT = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  let disk: string

  beforeEach(() => {
    disk = join(path, 'disk')
    mkdirSync(disk)
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk])
  })

  afterEach(async () => {
    for (const each of closing.splice(0)) await each.close()
    spawnSync('umount', [disk])
  })

  it('switches the cache off with one line, and loses no value in memory or written before', async () => {
    const state = await start(fixture.url, { path: disk })
    await state.fetch([slot(0)])
    appendFileSync(join(disk, 'filler'), Buffer.alloc(32 * 1024))
    await state.fetch(Array.from({ length: 1_000 }, (_, i) => slot(i + 1)))
    await state.fetch([slot(1_500)])
    expect([0, 1, 1_000, 1_500].map((i) => isLocal(state, i))).toEqual([true, true, true, true])
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatch(/^fetched state is not cached on disk from now on: .*(ENOSPC|bytes were written)/)
    const again = await start(GONE, { path: disk })
    expect([0, 1, 1_000].map((i) => isLocal(again, i))).toEqual([true, false, false])
  })
})

describe('another process', () => {
  let program: Program

  beforeAll(() => {
    program = compile('src/fork/reader.fixture.ts')
  }, 120_000)

  afterAll(() => program.remove())

  it('that is killed between rounds leaves every finished round', async () => {
    let next = 0
    for (let round = 0; round < 8; round++) {
      const reader = program.start(fixture.url, path, token, String(next), '1500')
      await reader.waitForOutput(`slot ${next + round * 3}`)
      reader.process.kill('SIGKILL')
      const { signal, err } = await reader.ended
      expect({ signal, err }).toEqual({ signal: 'SIGKILL', err: '' })
      const last = Number(reader.lines.at(-1)?.split(' ')[1])
      const state = await start(GONE)
      for (let i = next; i <= last; i++) expect(isLocal(state, i)).toBe(true)
      next = last + 1
    }
  })

  it('may write to the same file at the same time', async () => {
    const readers = [0, 200, 400].map((first) => program.start(fixture.url, path, token, String(first), '200'))
    for (const reader of readers) expect(await reader.ended).toEqual({ code: 0, signal: null, err: '' })
    const state = await start(GONE)
    const local = Array.from({ length: 600 }, (_, i) => isLocal(state, i))
    expect(local.filter((is) => !is)).toEqual([])
    expect(
      readFileSync(fileOf(), 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !/^[0-9a-f]{8} \{/.test(line)),
    ).toEqual([])
  })
})

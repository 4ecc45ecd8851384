import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { ForkedChain, deploy, quantity, word } from './upstream.fixture.ts'

/** Follows a list in storage from the slot that the input names until a slot is zero, and returns 1: each slot is known only after the one before it. */
const WALKER = '6000355b5480600357600160005260206000f3'
const SLOTS = 10

let chain: ForkedChain
let walker: string
let folder: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-kill-'))
  chain = await ForkedChain.start()
  walker = await deploy(chain.upstream, WALKER)
  for (let slot = 1; slot < SLOTS; slot++) await chain.upstream.ask('anvil_setStorageAt', walker, quantity(slot), `0x${word(slot + 1)}`)
  await chain.upstream.ask('anvil_mine', 1)
  // Otherwise one request names all slots.
  chain.proxy.refuse = ({ method }) => (method === 'eth_createAccessList' ? { code: -32_601, message: 'method not found' } : null)
})

afterEach(async () => {
  await chain[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

async function started(): Promise<Command> {
  const fixed = ['--fork-block-number', String(Number(await chain.upstream.ask('eth_blockNumber'))), '--fork-chain-id', '31337']
  const small = ['--cadence', 'instant', '--no-sponsor', '--no-bundler', '--no-wallet', '--retries', '0']
  return launch('--fork-url', chain.proxy.url, '--cache-path', folder, ...fixed, ...small)
}

const walk = (command: Command) => command.ask('eth_call', { to: walker, data: `0x${word(1)}` }, 'latest')

/** Lets so many further requests through; the next one waits forever. Resolves when it has arrived. */
function closeAfter(count: number): Promise<void> {
  const { proxy } = chain
  const allowed = proxy.requests.length + count
  return new Promise((resolve) => {
    proxy.onRequest = () => {
      if (proxy.requests.length <= allowed) return
      proxy.gate = new Promise(() => undefined)
      resolve()
    }
  })
}

function open(): void {
  chain.proxy.onRequest = () => undefined
  chain.proxy.gate = Promise.resolve()
}

describe('a fork that is killed between two rounds of fetching', () => {
  it.each([1, 4, 8])('continues after %i fetched rounds without a request for them', async (rounds) => {
    const first = await started()
    // Fetches the account; each slot is then a round.
    await first.ask('anvil_setStorageAt', walker, '0x64', `0x${word(7)}`)
    const closed = closeAfter(rounds)
    const unanswered = walk(first).catch(() => null)
    await closed
    await first.kill()
    expect(await unanswered).toBeNull()
    open()

    const second = await started()
    const before = chain.proxy.requests.length
    expect(await walk(second)).toBe(`0x${word(1)}`)
    expect(chain.proxy.requests.length - before).toBe(SLOTS - rounds)
    // A local value is not in the cache.
    expect(await second.ask('eth_getStorageAt', walker, '0x64', 'latest')).toBe(`0x${word(0)}`)
    await second.kill()

    await chain.proxy[Symbol.asyncDispose]()
    const offline = await started()
    expect(await walk(offline)).toBe(`0x${word(1)}`)
    await expect(offline.ask('eth_getStorageAt', walker, '0x65', 'latest')).rejects.toThrow('-32000')
    await offline.stop()
  })
})

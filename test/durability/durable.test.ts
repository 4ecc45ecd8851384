import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { Random } from '../evm/fuzz/random.ts'
import { Signer, receiver } from './load.fixture.ts'
import { answersOf } from '../node.fixture.ts'
import type { Call } from '../node.fixture.ts'
import { answers, fill, hex, questions } from './world.fixture.ts'

// A node with --data: long chains, old state, pruning, a full disk.

/** Blocks of the reopened chain; 100,000 take half a minute. */
const BLOCKS = Number(process.env['REOPEN_BLOCKS'] ?? 5_000)
const MANUAL = ['--cadence', 'manual', '--timestamp', '1700000000']

let folder: string
const running: Command[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-durable-'))
})

afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.kill()))
  rmSync(folder, { recursive: true, force: true })
})

/** CPU time to the first answer where the system reports it, which is independent of the machine's load. */
function costMs({ pid, startMs }: Command): number {
  if (process.platform !== 'linux') return startMs
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10 // user and system, in ticks of 10 ms
}

async function started(...argv: readonly string[]): Promise<Command> {
  const node = await launch(...argv)
  running.push(node)
  return node
}

describe('a chain in a directory', () => {
  it(`responds at most one second later than a new chain when it is reopened at ${BLOCKS} blocks`, { timeout: 300_000 }, async () => {
    const data = join(folder, 'long')
    const node = await started('--data', data, ...MANUAL)
    const begunMs = performance.now()
    await node.ask('anvil_mine', hex(BLOCKS))
    const minedMs = performance.now() - begunMs
    await node.kill()
    const [fresh, again] = [[] as number[], [] as number[]]
    for (let i = 0; i < 3; i++) {
      const first = await started('--data', join(folder, `fresh${i}`), ...MANUAL)
      const second = await started('--data', data, ...MANUAL)
      expect(second.ready.blockNumber).toBe(BLOCKS)
      fresh.push(costMs(first))
      again.push(costMs(second))
      await Promise.all([first.stop(), second.stop()])
    }
    const tookMs = Math.min(...again) - Math.min(...fresh)
    if (BLOCKS > 5_000) {
      const bytes = statSync(join(data, 'pocketchain.mdb')).blocks * 512
      process.stdout.write(`${BLOCKS} blocks: mined in ${Math.round(minedMs)} ms, ${bytes} bytes, opened in ${Math.round(tookMs)} ms\n`)
    }
    expect(tookMs).toBeLessThan(1_000)
  })

  it('returns the same results as a chain in memory, including state that memory no longer holds', async () => {
    const flags = [...MANUAL, '--clock', 'manual', '--seed', 'same']
    const kept = await started('--data', join(folder, 'kept'), ...flags)
    const plain = await started(...flags)
    for (const node of [kept, plain]) await fill(node, new Random(5, 0), 120)
    const calls = await questions(plain, new Random(5, 1))
    const expected = await answers(plain, calls)
    expect(await answers(kept, calls)).toEqual(expected)
    await kept.kill()
    const again = await started('--data', join(folder, 'kept'), ...flags)
    expect(await answers(again, calls)).toEqual(expected)
    const proof = (number: number): Call => ['eth_getProof', receiver(1), [], hex(number)]
    const [old, young] = await answersOf(again.url, [proof(3), proof(again.ready.blockNumber)])
    expect(old!.error).toMatchObject({ code: 4444 })
    expect(young!.error).toBeUndefined()
  })
})

describe('--prune', () => {
  it('removes older state and keeps blocks, receipts and logs', async () => {
    const flags = [...MANUAL, '--clock', 'manual', '--seed', 'same']
    const pruned = await started('--data', join(folder, 'pruned'), '--prune', '20', ...flags)
    const plain = await started(...flags)
    for (const node of [pruned, plain]) await fill(node, new Random(6, 0), 60)
    const height = Number(await plain.ask('eth_blockNumber'))
    const calls = await questions(plain, new Random(6, 1))
    const expected = await answers(plain, calls)
    for (const [index, answer] of (await answers(pruned, calls)).entries()) {
      const [method, , ...rest] = calls[index]!
      const number = Number(rest.at(-1) ?? height)
      const isState = !/Block|Logs|Transaction(Receipt|ByHash)/.test(method)
      if (isState && number < height - 64) expect(answer.error, `${method} at ${number} of ${height}`).toMatchObject({ code: 4444 })
      else if (!isState || number >= height - 20) expect(answer, `${method} at ${number} of ${height}`).toEqual(expected[index])
    }
  })
})

const CAN_MOUNT = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()]).status === 0

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  let disk: string

  beforeEach(() => {
    disk = join(folder, 'disk')
    mkdirSync(disk)
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk])
  })

  afterEach(async () => {
    await Promise.all(running.splice(0).map((node) => node.kill()))
    spawnSync('umount', [disk])
  })

  it('rejects only writes until space is available', async () => {
    const data = join(disk, 'data')
    const node = await started('--data', data, '--block-time', '1', '--flashblock-time', '200')
    const ballast = join(disk, 'ballast')
    const signer = new Signer(node, new Random(9, 0))
    await signer.findNonces()
    const sent: unknown[] = []
    const send = async (count: number) => {
      const calls = Array.from({ length: count }, (): Call => ['eth_sendRawTransaction', signer.next()])
      sent.push(...(await node.askAll(calls)))
    }
    await send(50)
    await until(async () => Number(await node.ask('eth_blockNumber')) > 1)
    fillUp(ballast)
    while (!node.err().includes('no room left')) {
      await send(50)
      await delay(100)
    }
    const [height, complaints] = [await node.ask('eth_blockNumber'), node.err().split('no room left').length]
    await delay(2_000)
    await send(10)
    expect(await node.ask('eth_blockNumber'), 'nothing is sealed').toBe(height)
    expect(await node.ask('eth_getBlockByNumber', height, true)).toMatchObject({ number: height })
    expect(await node.ask('eth_getLogs', { fromBlock: '0x0' })).not.toHaveLength(0)
    // ten flashblocks in two seconds
    expect(node.err().split('no room left').length - complaints).toBeLessThan(20)
    rmSync(ballast)
    await until(async () => !(await receipts(node, sent)).includes(null))
    await until(async () => Number(await node.ask('eth_blockNumber')) > Number(height))
    const before = await receipts(node, sent)
    await node.kill()
    const again = await started('--data', data, '--cadence', 'manual')
    expect(await receipts(again, sent)).toEqual(before)
  })

  function fillUp(file: string): void {
    for (let bytes = 2 ** 20, all = ''; bytes >= 4_096;) {
      try {
        writeFileSync(file, (all += 'x'.repeat(bytes)))
      } catch {
        all = all.slice(0, -bytes)
        bytes /= 2
      }
    }
  }
})

/** Removes the block hash, which a pre-confirmed object does not have. */
async function receipts(node: Command, hashes: readonly unknown[]): Promise<readonly unknown[]> {
  const all = await node.askAll(hashes.map((hash): Call => ['eth_getTransactionReceipt', hash]))
  return all.map((receipt) =>
    receipt === null ? null : JSON.stringify(receipt, (key, value: unknown) => (key === 'blockHash' ? 0 : value)),
  )
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await delay(50)
}

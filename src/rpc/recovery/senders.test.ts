import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { build } from '../../../scripts/setup.mjs'
import { Hash, Secp256k1 } from '../../eth/index.ts'
import type { Signature } from '../../eth/index.ts'
import { RECOVERIES, RECOVERIES_BEFORE_THREAD } from '../limits.ts'
import { nodeRecoveryThread } from './nodethread.ts'
import { SignatureRing } from './ring.ts'
import type { Sender } from './ring.ts'
import { SenderRecovery } from './senders.ts'

const KEYS = Array.from({ length: 5 }, (_, i) => new Uint8Array(32).fill(i + 1))
const start = nodeRecoveryThread(new URL('../../../dist/rpc/recovery/thread.js', import.meta.url))
const bugs: unknown[] = []
const opened: SenderRecovery[] = []
let ends: (() => Promise<void>)[] = []
let ended = 0

beforeAll(() => {
  build()
})
afterEach(async () => {
  for (const senders of opened.splice(0)) await senders.close()
  expect(bugs.splice(0)).toEqual([])
})

/** Signature `i` of a set; every seventh has no signer. */
function signature(i: number): { readonly digest: Hash; readonly signature: Signature; readonly sender: Sender } {
  const digest = Hash.fromBigint(BigInt(i))
  const key = KEYS[i % KEYS.length]!
  if (i % 7 === 0) return { digest, signature: { r: NO_POINT, s: 1n, yParity: 0 }, sender: null }
  return { digest, signature: Secp256k1.sign(digest, key), sender: Secp256k1.address(key) }
}

/** x³ + 7 has no square root. */
const NO_POINT = 5n

function recovery(idleMs?: number): SenderRecovery {
  ends = []
  ended = 0
  const senders = new SenderRecovery(
    async (...args) => {
      const end = await start!(...args)
      ends.push(end)
      return async () => {
        ended++
        await end()
      }
    },
    (error) => bugs.push(error),
    idleMs,
  )
  opened.push(senders)
  return senders
}

/** Recovers enough in one turn to start the thread. */
async function withThread(idleMs?: number): Promise<SenderRecovery> {
  const senders = recovery(idleMs)
  await startThread(senders)
  return senders
}

async function startThread(senders: SenderRecovery): Promise<void> {
  const before = ends.length
  for (let i = 0; i <= RECOVERIES_BEFORE_THREAD + 1; i++) await senders.recover(signature(1).digest, signature(1).signature)
  await expect.poll(() => ends.length).toBe(before + 1)
}

/** Returns senders in the order in which they were returned. */
async function recoverAll(senders: SenderRecovery, count: number): Promise<readonly (readonly [number, Sender])[]> {
  const order: [number, Sender][] = []
  const all = Array.from({ length: count }, async (_, i) => {
    const { digest, signature: signed } = signature(i)
    const sender = senders.recover(digest, signed)
    order.push([i, sender instanceof Promise ? await sender : sender])
  })
  await Promise.all(all)
  return order
}

describe('senders', () => {
  it('of signatures that arrive together are recovered in order, also beyond the ring', async () => {
    const senders = await withThread()
    const count = 2 * RECOVERIES + 500
    for (let round = 0; round < 2; round++) {
      const found = await recoverAll(senders, count)
      expect(found).toEqual(Array.from({ length: count }, (_, i) => [i, signature(i).sender]))
    }
  })

  it('of a signature that arrives alone is known at once', async () => {
    const senders = await withThread()
    for (let i = 1; i < 4; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      expect(senders.recover(signature(i).digest, signature(i).signature)).toBe(signature(i).sender)
    }
  })

  it('are recovered at once without a thread', () => {
    const senders = new SenderRecovery(null, (error) => bugs.push(error))
    for (let i = 0; i < 200; i++) expect(senders.recover(signature(i).digest, signature(i).signature)).toBe(signature(i).sender)
  })

  it('are recovered by another thread after an idle one was ended', async () => {
    const senders = await withThread(20)
    for (let round = 1; round <= 2; round++) {
      expect(await recoverAll(senders, 300)).toEqual(Array.from({ length: 300 }, (_, i) => [i, signature(i).sender]))
      await expect.poll(() => ended).toBe(round)
      await startThread(senders)
    }
  })

  it('are recovered when the thread ends in between, and after the end', async () => {
    const senders = await withThread()
    const found = recoverAll(senders, 300)
    await ends[0]!()
    expect(bugs.splice(0)).toMatchObject([{ message: 'the thread that recovers senders has ended' }])
    expect(await found).toEqual(Array.from({ length: 300 }, (_, i) => [i, signature(i).sender]))
    await senders.close()
    expect(await recoverAll(senders, 20)).toEqual(Array.from({ length: 20 }, (_, i) => [i, signature(i).sender]))
  })
})

describe('a ring', () => {
  it('is emptied by the thread alone, also when its slots are used again', async () => {
    const ring = new SignatureRing()
    const end = await start!(ring.shared, () => undefined)
    try {
      for (let i = 0; i < RECOVERIES + 10; i++) {
        const { digest, signature: signed, sender } = signature(i)
        expect(ring.put(i, digest, signed)).toBe(true)
        await expect.poll(() => ring.sender(i), { interval: 0 }).not.toBe(undefined)
        expect([ring.sender(i), ring.take(i)]).toEqual([sender, false])
      }
    } finally {
      await end()
    }
  })

  it.each([2 ** 31 - 3, 2 ** 32 - 3])('continues beyond position %i, which threads count in 32 bits', (start) => {
    const ring = new SignatureRing()
    for (let position = start, other = start | 0; position < start + 6; position++, other = (other + 1) | 0) {
      const { digest, signature: signed, sender } = signature(position)
      expect(ring.put(position, digest, signed)).toBe(true)
      ring.waitFor(other)
      expect([ring.take(other), ring.sender(position)]).toEqual([true, undefined])
      ring.finish(other, Secp256k1.recover)
      expect(ring.sender(position)).toBe(sender)
    }
  })

  it('keeps a slot in which the other thread works', () => {
    const ring = new SignatureRing()
    const { digest, signature: signed } = signature(1)
    expect([ring.put(0, digest, signed), ring.take(0), ring.take(0), ring.put(RECOVERIES, digest, signed)]).toEqual([
      true,
      true,
      false,
      false,
    ])
    ring.finish(0, Secp256k1.recover)
    expect([ring.sender(0), ring.put(RECOVERIES, digest, signed), ring.sender(RECOVERIES)]).toEqual([signature(1).sender, true, undefined])
  })
})

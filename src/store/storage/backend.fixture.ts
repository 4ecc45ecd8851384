import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Address, EMPTY_CODE_HASH, Hash, keccak256 } from '../../eth/index.ts'
import type { Account, WriteSet } from '../../evm/index.ts'
import type { SectionChange, ChainMetadata } from './index.ts'

export const META: ChainMetadata = { format: 1, genesisHash: hash(1) }

/** A temporary directory. */
export function scratch(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'pocketchain-storage-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export function address(n: number): Address {
  return Address.fromBigint(BigInt(n) + 0x1000n)
}

export function hash(n: number): Hash {
  return Hash.from(`0x${n.toString(16).padStart(64, '0')}`)
}

export function account(balance: bigint, nonce = 0n, codeHash: Hash = EMPTY_CODE_HASH): Account {
  return { balance, nonce, codeHash }
}

export function codeOf(text: string): { readonly code: Uint8Array; readonly codeHash: Hash } {
  const code = Buffer.from(text)
  return { code: new Uint8Array(code), codeHash: Hash.from(keccak256(code)) }
}

/** `size` pseudo-random bytes. */
export function bytes(seed: number, size: number): Uint8Array {
  const out = new Uint8Array(size)
  let state = (seed * 2654435761 + 1) >>> 0
  for (let i = 0; i < size; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    out[i] = state >>> 24
  }
  return out
}

export function writes(
  accounts: readonly (readonly [Address, Account | null])[] = [],
  storage: readonly (readonly [Address, readonly (readonly [Hash, bigint])[]])[] = [],
  codes: readonly (readonly [Hash, Uint8Array])[] = [],
): WriteSet {
  return {
    accounts: new Map(accounts),
    storage: new Map(storage.map(([owner, slots]) => [owner, new Map(slots)])),
    codes: new Map(codes),
  }
}

/** A change of sections. */
interface WholeSection {
  readonly id: number
  readonly head: Uint8Array
  readonly firstPage?: number
  readonly pages: readonly Uint8Array[]
}

export function sectionChange(add: readonly WholeSection[], remove: readonly number[]): SectionChange {
  return {
    remove,
    pages: add.flatMap(({ id, firstPage = 0, pages }) => pages.map((bytes, i) => ({ section: id, page: firstPage + i, bytes }))),
    heads: add.map(({ id, head }) => ({ id, head })),
  }
}

import { existsSync, readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import type { Hex } from './hex.ts'

/** Published vectors are outside the repository; tests that need them are skipped without them. */
const SHARED = new URL('../../../shared/vectors/', import.meta.url)

export const hasVectors = existsSync(SHARED)

/** The 54 blocks of ethereum/execution-apis: frontier to Osaka, every transaction type but deposits. */
export function chainRlp(): Uint8Array {
  return new Uint8Array(readFileSync(new URL('rpc-compat/chain.rlp', SHARED)))
}

/** The first result of a recorded exchange. */
export function recorded(file: string): unknown {
  const lines = readFileSync(new URL(`rpc-compat/${file}`, SHARED), 'utf8').split('\n')
  const answer = lines.find((line) => line.startsWith('<<')) ?? '<< {}'
  const { result } = JSON.parse(answer.slice(3)) as { result?: unknown }
  return result
}

/** The transactions of the recorded OP Sepolia blocks: the L1-attributes deposit first. */
export function opTransactions(): readonly (readonly Hex[])[] {
  const file = readFileSync(new URL('op-blocks/op-sepolia-blocks.json.br', SHARED))
  const blocks = JSON.parse(brotliDecompressSync(file).toString('utf8')) as { payload: { transactions: Hex[] } }[]
  return blocks.map((block) => block.payload.transactions)
}

import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'

// geth's responses recorded for execution-apis, compared in full; the suite itself only checks their shape.

const VECTORS = new URL('../../../shared/vectors/rpc-compat/', import.meta.url)
const RECORDED = [
  'debug_traceBlockByHash/trace-block-with-transactions',
  'debug_traceBlockByNumber/trace-block-memory-encoding',
  'debug_traceBlockByNumber/trace-block-storage-snapshot-timing',
  'debug_traceBlockByNumber/trace-block-with-transactions',
  'debug_traceTransaction/trace-legacy-transfer',
]

describe.skipIf(!existsSync(VECTORS))('structLogs', () => {
  it('equal the responses of geth', async () => {
    const genesis = readFileSync(new URL('genesis.json', VECTORS), 'utf8')
    const importedChain = readFileSync(new URL('chain.rlp', VECTORS))
    await using node = await startNode({ genesis, importedChain, compat: 'geth', cadence: 'manual' })
    for (const name of RECORDED) {
      const { request, result } = exchange(name)
      expect(await node.ask(request.method, ...request.params), name).toEqual(result)
    }
  })
})

interface Exchange {
  readonly request: { readonly method: string; readonly params: readonly unknown[] }
  readonly result: unknown
}

function exchange(name: string): Exchange {
  const lines = readFileSync(new URL(`${name}.io`, VECTORS), 'utf8').split('\n')
  const [sent, got] = ['>>', '<<'].map((mark) => JSON.parse(lines.find((line) => line.startsWith(mark))?.slice(2) ?? 'null') as unknown)
  return { request: sent as Exchange['request'], result: (got as { readonly result: unknown }).result }
}

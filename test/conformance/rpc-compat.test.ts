import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { startNode } from '../node.fixture.ts'

// The conformance files of ethereum/execution-apis on the chain they were recorded with.

const SHARED = fileURLToPath(new URL('../../../shared/', import.meta.url))
const VECTORS = `${SHARED}vectors/rpc-compat`

describe.skipIf(!existsSync(VECTORS))('execution-apis conformance, compat geth', () => {
  it('returns the recorded response in every exchange', async () => {
    const genesis = readFileSync(`${VECTORS}/genesis.json`, 'utf8')
    const importedChain = readFileSync(`${VECTORS}/chain.rlp`)
    await using running = await startNode({ genesis, importedChain, compat: 'geth', cadence: 'manual' })
    const args = [`${SHARED}tools/rpc-compat.mjs`, '--url', running.url, '--tests', VECTORS, '--failures']
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 }).catch((error: { stdout: string }) => error)
    expect(stdout).toMatch(/TOTAL\s+\d+\s+0 /)
  })
})

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { CAST } from '../test/foundry.fixture.ts'
import { startNode } from '../test/node.fixture.ts'
import { bytecode } from './contract/counter.mjs'

// Runs each example unchanged against a new node and checks its output.

const SCRIPTS = [
  { client: 'viem', program: process.execPath, script: 'viem/preconfirm.mjs', path: '', missing: false },
  { client: 'ethers', program: process.execPath, script: 'ethers/preconfirm.mjs', path: '', missing: false },
  { client: 'cast', program: 'bash', script: 'cast/preconfirm.sh', path: dirname(CAST ?? ''), missing: CAST === null },
]
const ZERO_HASH = `0x${'00'.repeat(32)}`

describe('the examples', () => {
  for (const { client, program, script, path, missing } of SCRIPTS) {
    it(`${client}: prints a pre-confirmation that the sealed block equals`, async (context) => {
      if (missing) context.skip('needs the package @foundry-rs/cast')
      // Longer blocks than the default: a busy machine needs time to read the pre-confirmed state before it is sealed.
      await using running = await startNode({ cadence: { kind: 'preconf', blockTimeMs: 4_000, flashblockMs: 200 } })
      const env = { ...process.env, PATH: `${path}${delimiter}${process.env['PATH']}` }
      const { stdout } = await promisify(execFile)(program, [fileURLToPath(new URL(script, import.meta.url)), running.url], { env })
      const said = new Map(stdout.split('\n').map((line) => [line.slice(0, 14).trim(), line.slice(15)]))
      console.log(`${client}: receipt ${said.get('receipt')}`)
      expect(said.get('deployed')).toMatch(/^0x[0-9a-fA-F]{40}, promised for block \d+$/)
      expect(said.get('receipt')).toMatch(/after [\d.]+ (s|ms)/)
      expect(said.get('block hash')).toBe(`${ZERO_HASH}: not known yet`)
      expect(said.get('count')).toBe('1')
      expect(said.get('pending logs')).toMatch(/^(Incremented 1|1 over WebSocket)$/)
      expect(said.get('pending block')).toMatch(/^2 receipts/)
      expect(said.get('sealed')).toMatch(/^block \d+ is 0x[0-9a-f]{64}$/)
      expect(said.get('sealed')).not.toContain(ZERO_HASH)
      expect(said.get('kept')).toBe('true')
      if (client !== 'cast') expect(said.get('pendingLogs')).toMatch(/^0x[0-9a-fA-F]{40} counted to 1$/)
    })
  }

  it('deploy the bytecode of Counter.sol', () => {
    const solc = createRequire(import.meta.url)('solc') as { compile: (input: string) => string }
    const input = {
      language: 'Solidity',
      sources: { 'Counter.sol': { content: readFileSync(new URL('contract/Counter.sol', import.meta.url), 'utf8') } },
      settings: {
        optimizer: { enabled: true, runs: 200 },
        evmVersion: 'cancun',
        metadata: { appendCBOR: false, bytecodeHash: 'none' },
        outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
      },
    }
    const { contracts } = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled
    expect(bytecode).toBe(`0x${contracts['Counter.sol'].Counter.evm.bytecode.object}`)
  })
})

/** The selected part of the compiler's output. */
interface Compiled {
  readonly contracts: { readonly 'Counter.sol': { readonly Counter: { readonly evm: { readonly bytecode: { readonly object: string } } } } }
}

import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { importChain, parseGenesis } from '../src/chain/index.ts'
import { DEDICATED, testNode } from '../src/rpc/node.fixture.ts'

// The conformance files of ethereum/execution-apis on the chain they were recorded with, over a bare HTTP server.

const SHARED = fileURLToPath(new URL('../../shared/', import.meta.url))
const VECTORS = `${SHARED}vectors/rpc-compat`
/** tracers are not part of this node yet */
const LEFT_OUT = '^debug_trace'

describe.skipIf(!existsSync(VECTORS))('execution-apis conformance, compat geth', () => {
  let server: Server
  let url: string

  beforeAll(async () => {
    const genesis = parseGenesis(readFileSync(`${VECTORS}/genesis.json`, 'utf8'), () => {
      throw new Error('this genesis names its rules itself')
    })
    const { chain, rpc } = await testNode({ genesis, compat: 'geth' })
    await importChain(chain, readFileSync(`${VECTORS}/chain.rlp`))
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        void rpc.handle(Buffer.concat(chunks), DEDICATED).then(({ body }) => response.end(body ?? ''))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // it listens on TCP
    url = `http://127.0.0.1:${port}`
  })

  afterAll(() => {
    server.close()
  })

  it('every recorded exchange but the tracers', async () => {
    const args = [`${SHARED}tools/rpc-compat.mjs`, '--url', url, '--tests', VECTORS, '--skip', LEFT_OUT, '--failures']
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 }).catch((error: { stdout: string }) => error)
    expect(stdout).toMatch(/TOTAL\s+\d+\s+0 /)
  })
})

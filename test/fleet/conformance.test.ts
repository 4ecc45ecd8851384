import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caughtUp, startServers } from './fleet.fixture.ts'
import { NO_SERVERS } from './servers.fixture.ts'

const VECTORS = fileURLToPath(new URL('../../../shared/vectors/rpc-compat', import.meta.url))
const REASON = NO_SERVERS ?? (existsSync(VECTORS) ? null : 'skipped: ../shared is not there')
/** A write changes the chain, so that two cannot be compared. */
const WRITES = /eth_send|testing_/

/** The requests of the recorded exchanges, as they were sent. */
function requests(): readonly string[] {
  const files = readdirSync(VECTORS, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.io'))
  const lines = files.toSorted().flatMap((name) => readFileSync(join(VECTORS, name), 'utf8').split('\n'))
  return lines.filter((line) => line.startsWith('>> ') && !WRITES.test(line)).map((line) => line.slice(3))
}

/** eth_getLogs by address, topics and ranges, as the benchmark requests them. */
function logQueries(logs: readonly { address: string; topics: readonly string[]; blockNumber: string }[]): readonly string[] {
  const filters = logs.slice(0, 20).flatMap(({ address, topics, blockNumber }) => [
    { fromBlock: '0x0', toBlock: 'latest', address },
    { fromBlock: blockNumber, toBlock: 'latest', topics: topics.slice(0, 1) },
    { fromBlock: '0x0', toBlock: blockNumber, address, topics: [topics[0] ?? null, topics[1] ?? null] },
  ])
  return [{ fromBlock: '0x0', toBlock: 'latest' }, ...filters].map((filter, id) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_getLogs', params: [filter] }),
  )
}

async function answer(url: string, body: string): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return response.text()
}

describe.skipIf(REASON !== null)(`a replica${REASON === null ? '' : ` (${REASON})`}`, () => {
  let servers: Awaited<ReturnType<typeof startServers>>
  beforeAll(async () => {
    servers = await startServers()
  })
  afterAll(() => servers.stop())

  test('answers every recorded request of execution-apis and every log query as the sequencer does, byte for byte', async () => {
    const database = await servers.createDatabase()
    const genesis = readFileSync(join(VECTORS, 'genesis.json'), 'utf8')
    const importedChain = readFileSync(join(VECTORS, 'chain.rlp'))
    const sequencer = await servers.start(database, 'sequencer', { genesis, importedChain, compat: 'geth', cadence: 'manual' })
    const replica = await servers.start(database, 'replica', { compat: 'geth' })
    await caughtUp(replica, sequencer)
    const [mine, other] = [(await replica.node.listen()).url, (await sequencer.node.listen()).url]
    const logs = (await sequencer.ask('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest' })) as Parameters<typeof logQueries>[0]
    const bodies = [...requests(), ...logQueries(logs)]
    expect(bodies.length).toBeGreaterThan(150)
    for (const body of bodies) expect(await answer(mine, body), body).toBe(await answer(other, body))
    expect([...replica.bugs, ...sequencer.bugs]).toEqual([])
  })
})

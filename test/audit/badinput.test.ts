import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import type { AuditReport } from '../../src/audit/index.ts'
import { Hash, Hex } from '../../src/eth/index.ts'
import type { Flashblock } from '../../src/eth/index.ts'
import { plainFrame } from '../../src/stream/index.ts'

const ending: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of ending.splice(0)) await end()
})

type Answer = (method: string, params: readonly unknown[]) => unknown

/** An endpoint that returns anything: HTTP whose methods return what `answer` does (`undefined`: -32601), and a stream at /flashblocks if `onStream` is given. */
async function endpoint(answer: Answer | string, onStream?: (socket: WebSocket) => void): Promise<string> {
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      response.end(typeof answer === 'string' ? answer : responseTo(text, answer))
    })
  })
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 * 1024 })
  server.on('upgrade', (request, socket, head) => {
    if (onStream !== undefined && request.url === '/flashblocks') sockets.handleUpgrade(request, socket, head, onStream)
    else socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  ending.push(async () => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function responseTo(body: string, answer: Answer): string {
  const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: readonly unknown[] } // of the client
  const result = answer(method, params)
  const failed = { error: { code: -32601, message: `the method ${method} does not exist` } }
  return JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? failed : { result }) })
}

async function closedPort(): Promise<string> {
  const url = await endpoint('')
  await ending.pop()?.()
  return new URL(url).host
}

describe('audit refuses with exit code 2', () => {
  it.each([
    [[], 'audit: name the endpoint with --rpc or --ws'],
    [['--rpc', 'localhost'], 'audit: --rpc expects a URL that begins with http:// or https://, not "localhost"'],
    [['--rpc', 'ftp://a'], 'audit: --rpc expects a URL that begins with http:// or https://, not "ftp://a"'],
    [['--rpc', 'ws://127.0.0.1'], 'audit: --rpc expects a URL that begins with http:// or https://'],
    [['--ws', 'http://127.0.0.1'], 'audit: --ws expects a URL that begins with ws:// or wss://'],
    [['--ws', 'wss://'], 'audit: --ws expects a URL'],
    [['--rpc', 'http://user:secret@127.0.0.1'], 'audit: --rpc: the url of 127.0.0.1 holds a user name or password'],
    [['--rpc', 'http://127.0.0.1:25'], 'audit: --rpc: port 25 is reserved'],
    [['--rpc', 'http://127.0.0.1', '--minutes', '0'], '--minutes: expected a number above 0 and up to 10080, not "0"'],
    [['--rpc', 'http://127.0.0.1', '--minutes', 'soon'], '--minutes: expected a number above 0 and up to 10080, not "soon"'],
    [['--rpc', 'http://127.0.0.1', '--minutes', '10081'], '--minutes: expected a number above 0 and up to 10080'],
    [['--rpc'], "option '--rpc <url>' argument missing"],
    [['--rpc', 'http://127.0.0.1', '--port', '1'], '--port is not an option of the audit'],
    [['--rpc', 'http://127.0.0.1', '--quiet'], '--quiet is not an option of the audit'],
    [['--rpc', 'http://127.0.0.1', '--loud'], "unknown option '--loud'"],
    [['http://127.0.0.1'], 'too many arguments'],
  ])('%j', async (argv, message) => {
    const { code, out, err } = await finish(['audit', ...argv])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
    expect(err).not.toContain('secret')
  })

  it('a port without a server', async () => {
    const host = await closedPort()
    const { code, err } = await finish(['audit', '--rpc', `http://${host}/key`])
    expect([code, err]).toEqual([
      2,
      `pocketchain: audit: no JSON-RPC node at http://${host}, which sealed receipts are read from: http://${host} cannot be reached: ECONNREFUSED\n`,
    ])
  })

  it('a name that does not exist', async () => {
    const { code, err } = await finish(['audit', '--rpc', 'https://node.invalid'])
    expect([code, err]).toEqual([2, expect.stringContaining('no JSON-RPC node at https://node.invalid')])
  })

  it('a server that is no node', async () => {
    const { code, err } = await finish(['audit', '--rpc', await endpoint('<html>')])
    expect([code, err]).toEqual([2, expect.stringContaining('which is not a JSON-RPC response')])
  })

  it('a chain id that is none', async () => {
    const { code, err } = await finish(['audit', '--rpc', await endpoint(() => 'main')])
    expect([code, err]).toEqual([2, expect.stringContaining('answers eth_chainId with something that is not a chain id')])
  })

  it('a WebSocket that cannot be opened', async () => {
    const rpc = await endpoint((method) => (method === 'eth_chainId' ? '0x1' : undefined))
    const { code, err } = await finish(['audit', '--rpc', rpc, '--ws', `ws://${await closedPort()}/key`])
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/audit: no WebSocket at ws:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*; check --ws\n$/),
    ])
  })

  it('a node without subscriptions and without blocks', async () => {
    const rpc = await endpoint((method) => (method === 'eth_chainId' ? '0x1' : undefined))
    const { code, err } = await finish(['audit', '--rpc', rpc])
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/ has no feed: no WebSocket with subscriptions, and eth_getBlockByNumber fails \(.*\); name a WebSocket/),
    ])
  })
})

it('a folder is refused as the page before the audit, with exit code 3', async () => {
  const { code, err } = await finish(['audit', '--rpc', 'http://127.0.0.1:8545', '--html', '/tmp'])
  expect([code, err]).toEqual([3, 'pocketchain: --html: /tmp is a folder\n'])
})

it('a page that cannot be written is refused before the audit, with exit code 3', async () => {
  const { code, err } = await finish(['audit', '--rpc', 'http://127.0.0.1:8545', '--html', '/nowhere/report.html'])
  expect([code, err]).toEqual([3, expect.stringContaining('--html: /nowhere/report.html cannot be written: ENOENT')])
})

// --- a hostile stream ---------------------------------------------------------------------------------------------------------------------

const ZERO = Hash.zero
const TRANSACTIONS = [1, 2, 3].map((i) => Uint8Array.of(2, 0xc1, i))
const HASHES = TRANSACTIONS.map((raw) => Hash.keccak(raw))

function hashOfBlock(number: number): Hash {
  return Hash.ofText(`block ${number}`)
}

function flashblock(number: number, index: number, transactions: readonly Uint8Array[], parent = hashOfBlock(number - 1)): Flashblock {
  const base = {
    parentBeaconBlockRoot: ZERO,
    parentHash: parent,
    feeRecipient: `0x${'11'.repeat(20)}` as NonNullable<Flashblock['base']>['feeRecipient'],
    prevRandao: ZERO,
    blockNumber: number,
    gasLimit: 30_000_000n,
    timestamp: 2 * number,
    extraData: new Uint8Array(),
    baseFeePerGas: 7n,
  }
  const diff = {
    stateRoot: ZERO,
    receiptsRoot: ZERO,
    logsBloom: new Uint8Array(256),
    gasUsed: 21_000n * BigInt(transactions.length),
    blockHash: hashOfBlock(number),
    transactions,
    withdrawalsRoot: ZERO,
    blobGasUsed: null,
  }
  return { payloadId: `0x${number.toString(16).padStart(16, '0')}`, index, base: index === 0 ? base : null, diff, blockNumber: number }
}

/** With receipts in its metadata, as early publishers sent them. */
function withReceipts(block: Flashblock, receipts: Record<string, unknown>): string {
  const message = JSON.parse(Buffer.from(plainFrame(block).bytes).toString()) as { metadata: object }
  return JSON.stringify({ ...message, metadata: { ...message.metadata, receipts } })
}

function receipt(index: number, fields: object = {}) {
  const gas = Hex.fromQuantity(21_000 * (index + 1))
  return {
    status: '0x1',
    cumulativeGasUsed: gas,
    gasUsed: '0x5208',
    logs: [],
    contractAddress: null,
    transactionIndex: Hex.fromQuantity(index),
    ...fields,
  }
}

/** Block 2 is sealed without the third transaction, and its second one failed. */
const chain: Answer = (method, [first]) => {
  if (method === 'eth_chainId') return '0x1'
  if (method === 'web3_clientVersion') return '</title><script>alert(1)</script>'
  if (method === 'eth_getBlockByNumber') {
    const number = first === 'latest' ? 1 : Number(first)
    return {
      number: Hex.fromQuantity(number),
      hash: hashOfBlock(number),
      parentHash: hashOfBlock(number - 1),
      transactions: HASHES.slice(0, 2),
    }
  }
  const own = { blockHash: hashOfBlock(2), blockNumber: '0x2' }
  const sealed = [receipt(0, own), receipt(1, { ...own, status: '0x0', l1Fee: '0x6' })].map((each, i) => ({
    ...each,
    transactionHash: HASHES[i],
  }))
  if (method === 'eth_getTransactionReceipt') return sealed.find(({ transactionHash }) => transactionHash === first) ?? null
  return undefined
}

describe('a foreign stream', () => {
  it('is compared with sealed receipts that are read one by one, and each irregularity is reported', async () => {
    const receipts = {
      [HASHES[0]!]: { type: '0x2', ...receipt(0) },
      [HASHES[1]!]: { Eip1559: receipt(1, { l1Fee: '0x5' }) },
      [HASHES[2]!]: receipt(2),
    }
    const messages: readonly (string | Uint8Array)[] = [
      plainFrame(flashblock(2, 0, [])).bytes,
      'not JSON',
      '{"payload_id":"0x00"}',
      Uint8Array.of(0xff, 0xfe, 0xfd),
      withReceipts(flashblock(2, 1, TRANSACTIONS), receipts),
      plainFrame(flashblock(2, 1, TRANSACTIONS)).bytes, // again
      plainFrame(flashblock(2, 4, [])).bytes, // indices 2 and 3 are missing
      plainFrame(flashblock(9, 3, TRANSACTIONS)).bytes, // of an unknown payload
      plainFrame(flashblock(3, 0, [], Hash.ofText('another parent'))).bytes,
    ]
    let connections = 0
    const url = await endpoint(chain, (socket) => {
      const isFirst = connections++ === 0
      const send = async () => {
        for (const message of messages) {
          socket.send(message, { binary: typeof message !== 'string' && message[0] === 0xff })
          await new Promise((resolve) => setTimeout(resolve, 60)) // a block takes time
        }
        socket.send(Buffer.alloc(33 * 1024 * 1024, ' ')) // larger than MESSAGE_BYTES
      }
      if (isFirst) void send()
    })
    const audit = start(['audit', '--rpc', url, '--json', '--minutes', '0.1'])
    expect(await audit.exit).toBe(0)
    const report = JSON.parse(audit.out()) as AuditReport
    expect(report.feed.kind).toBe('flashblocks')
    expect(report.feed.limits).toContain('Sealed receipts are read with eth_getTransactionReceipt.')
    expect(report.totals).toEqual({ kept: 1, changed: 1, retracted: 1, unobserved: 0, open: 0 })
    expect(report.broken.map(({ hash, outcome, cause, differences }) => [hash, outcome, cause, differences])).toEqual([
      [HASHES[1], 'changed', null, ['status', 'l1Fee']],
      [HASHES[2], 'retracted', 'silent', []],
    ])
    expect(Object.fromEntries(report.problems.map(({ kind, count }) => [kind, count]))).toEqual({
      'a message of the stream is not a flashblock': 3,
      'a flashblock was sent again': 1,
      'an index of the stream is missing': 1,
      'a flashblock belongs to a payload whose index 0 was not sent': 1,
      'a sealed block has another hash than the feed said': 1,
    })
    expect(report.gaps.list).toMatchObject([{ source: 'promises', reason: expect.stringContaining('Max payload size exceeded') }])
    expect(connections).toBe(2)
  })
})

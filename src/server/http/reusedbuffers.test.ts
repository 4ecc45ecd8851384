import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { Transaction } from '../../eth/index.ts'
import { call, dial, setUp } from '../bench.fixture.ts'
import type { Bench } from '../bench.fixture.ts'

// Texts of 0.8 MB are printed into memory that the store lends, and that is recycled after they are sent. The kernel buffers some megabytes of
// an unread response; the rest stays in that memory while other responses are printed.

const KEY = '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a'
const BLOCKS = 36
const SLOW_BLOCKS = 20
const CODE_BYTES = 49_000
const COPIES = 8

test.each([
  ['the raw HTTP path', true],
  ['node:http', false],
])(
  'a slow reader over %s gets its own text while others are printed',
  async (_, rawHttp) => {
    await using bench = await setUp({ rawHttp }, { cadence: 'manual' })
    await mine(bench)
    const slow = await Reader.open(bench)
    slow.socket.pause()
    for (let number = 1; number <= SLOW_BLOCKS; number++) {
      slow.ask(number)
      await turns(20)
    }
    // In each round other memory is free.
    for (let round = 0; round < 2; round++) {
      const fast = await Reader.open(bench)
      for (let number = SLOW_BLOCKS + 1; number <= BLOCKS; number++) {
        fast.ask(number)
        const [answer] = await fast.answers(1)
        expect(blocksIn(answer)).toEqual([number])
      }
      fast.socket.destroy()
    }
    slow.socket.resume()
    const answers = await slow.answers(SLOW_BLOCKS)
    const wanted = await bench.node.request({ method: 'eth_getBlockReceipts', params: ['0x3'] })
    expect(JSON.parse(answers[2]!).result).toEqual(wanted)
    expect(answers.map(blocksIn)).toEqual(Array.from({ length: SLOW_BLOCKS }, (__, i) => [i + 1]))
    slow.socket.destroy()
  },
  60_000,
)

test.each([
  ['the raw HTTP path', true],
  ['node:http', false],
])(
  'a slow reader of all logs over %s gets them all while others are printed and blocks sealed',
  async (_, rawHttp) => {
    await using bench = await setUp({ rawHttp }, { cadence: 'manual' })
    await mine(bench)
    const slow = await unread(bench, call('eth_getLogs', [{ fromBlock: '0x1', toBlock: 'latest' }]))
    for (let number = 1; number <= BLOCKS; number++) {
      const fast = await Reader.open(bench)
      fast.ask(number)
      expect(blocksIn((await fast.answers(1))[0])).toEqual([number])
      fast.socket.destroy()
      await bench.node.request({ method: 'anvil_mine', params: ['0x40'] })
    }
    const { result: logs } = (await json(slow)) as { result: LogJson[] }
    expect(logs.map(blocksOf)).toEqual(Array.from({ length: BLOCKS }, (__, i) => [i + 1]))
  },
  60_000,
)

test('compressed responses carry their own text while others are printed', async () => {
  await using bench = await setUp({}, { cadence: 'manual' })
  await mine(bench)
  const ask = async (number: number): Promise<readonly number[]> => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': number % 2 === 0 ? 'gzip' : 'br' }
    const answer = await fetch(bench.server.url, { method: 'POST', headers, body: receiptsOf(number) })
    expect(answer.headers.get('content-encoding')).toBe(headers['accept-encoding'])
    return blocksIn(await answer.text())
  }
  const numbers = Array.from({ length: BLOCKS }, (_, i) => i + 1)
  expect(await Promise.all(numbers.map(ask))).toEqual(numbers.map((number) => [number]))
}, 60_000)

test('responses over a WebSocket carry their own text while others are printed', async () => {
  await using bench = await setUp({}, { cadence: 'manual' })
  await mine(bench)
  await using client = await dial(bench.server)
  const numbers = Array.from({ length: BLOCKS }, (_, i) => i + 1)
  for (const number of numbers) client.send(receiptsOf(number))
  const answers: unknown[] = []
  for (const _ of numbers) answers.push(await client.next())
  expect(answers.map((answer) => blocksIn(JSON.stringify(answer)))).toEqual(numbers.map((number) => [number]))
}, 60_000)

test('a kept text is unchanged after it was sent and others were printed', async () => {
  await using bench = await setUp({}, { cadence: 'manual' })
  await mine(bench)
  const reader = await Reader.open(bench)
  const ask = async (number: number) => {
    reader.ask(number)
    const [answer] = await reader.answers(1)
    return blocksIn(answer)
  }
  for (const number of [1, 1, 2, 3, 1]) expect(await ask(number)).toEqual([number])
  reader.socket.destroy()
}, 60_000)

/** Every block has one large log, and its content is the block's own. */
async function mine({ node }: Bench): Promise<void> {
  for (let number = 1; number <= BLOCKS; number++) {
    const { raw } = Transaction.sign(
      {
        type: 2,
        chainId: 31_337,
        nonce: BigInt(number - 1),
        to: null,
        data: shouting(number),
        value: 0n,
        gas: 12_000_000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
        accessList: [],
      },
      KEY,
    )
    await node.request({ method: 'eth_sendRawTransaction', params: [`0x${Buffer.from(raw).toString('hex')}`] })
    await node.request({ method: 'evm_mine', params: [] })
  }
}

/** Init code that emits itself several times over, in one log: `CODECOPY(i * size, 0, size)` …, `LOG0(0, all)`. The rest of it is the number. */
function shouting(number: number): Uint8Array {
  const bytes = Buffer.alloc(CODE_BYTES, number)
  const copies = Array.from({ length: COPIES }, (_, i) => `61${hex(CODE_BYTES, 2)}600062${hex(i * CODE_BYTES, 3)}39`)
  Buffer.from(`${copies.join('')}62${hex(COPIES * CODE_BYTES, 3)}6000a000`, 'hex').copy(bytes)
  return bytes
}

function hex(value: number, size: number): string {
  return value.toString(16).padStart(size * 2, '0')
}

function receiptsOf(number: number): string {
  return call('eth_getBlockReceipts', [`0x${number.toString(16)}`])
}

/** Which blocks' bytes are in an answer. */
function blocksIn(answer = ''): readonly number[] {
  const [, receipt] = (JSON.parse(answer) as { result: { logs: LogJson[] }[] }).result
  return blocksOf(receipt?.logs[0])
}

interface LogJson {
  readonly blockNumber: string
  readonly data: string
}

function blocksOf(log: LogJson | undefined): readonly number[] {
  const found = new Set([Number(log?.blockNumber)])
  const data = Buffer.from(log?.data.slice(2) ?? '', 'hex')
  expect(data).toHaveLength(COPIES * CODE_BYTES)
  for (let i = 0; i < COPIES; i++) for (const byte of data.subarray(i * CODE_BYTES + 200, (i + 1) * CODE_BYTES)) found.add(byte)
  return [...found]
}

/** Returns a response; only its head has been read. */
async function unread({ server }: Bench, body: string): Promise<IncomingMessage> {
  const asking = request(server.url, { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false })
  asking.end(body)
  const [answer] = (await once(asking, 'response')) as [IncomingMessage]
  return answer
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A bare connection. */
class Reader {
  readonly socket: Socket
  #bytes = Buffer.alloc(0)
  #pieces: Buffer[] = []

  static async open({ server }: Bench): Promise<Reader> {
    const socket = connect({ port: server.port, host: server.host, noDelay: true })
    await once(socket, 'connect')
    return new Reader(socket)
  }

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (piece: Buffer) => this.#pieces.push(piece))
  }

  ask(number: number): void {
    const body = receiptsOf(number)
    this.socket.write(
      `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }

  async answers(count: number): Promise<readonly string[]> {
    const found: string[] = []
    while (found.length < count) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#pieces.splice(0)])
      const bodyAt = this.#bytes.indexOf('\r\n\r\n') + 4
      const length = Number(/content-length: (\d+)/i.exec(this.#bytes.toString('latin1', 0, bodyAt))?.[1])
      if (bodyAt < 4 || this.#bytes.length < bodyAt + length) await once(this.socket, 'data')
      else {
        found.push(this.#bytes.toString('latin1', bodyAt, bodyAt + length))
        this.#bytes = this.#bytes.subarray(bodyAt + length)
      }
    }
    return found
  }
}

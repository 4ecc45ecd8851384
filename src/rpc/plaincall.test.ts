import { beforeAll, describe, expect, it } from 'vitest'
import { Hex } from '../eth/index.ts'
import { textOf } from './body.ts'
import { BATCH_ITEMS, PLAIN_CALL_DIGITS } from './limits.ts'
import { DEDICATED, LOGGER, LOGGER_INIT_CODE, PUBLIC, testNode } from './node.fixture.ts'
import type { TestNode } from './node.fixture.ts'
import { PlainCall, readPlainCalls } from './plaincall.ts'

const TO = '0x5fbdb2315678afecb367f032d93f642f64180aa3'
const DATA = '0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const VIEM = `{"jsonrpc":"2.0","id":7,"method":"eth_call","params":[{"data":"${DATA}","to":"${TO}"},"latest"]}`
const ETHERS = `{"method":"eth_call","params":[{"to":"${TO}","data":"${DATA}"},"latest"],"id":7,"jsonrpc":"2.0"}`

const CHAIN_ID = '{"jsonrpc":"2.0","id":8,"method":"eth_chainId","params":[]}'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const read = (text: string): unknown => readPlainCalls(bytesOf(text))

/** What was read as JSON shows it, addresses and data in lower case. */
function shown(message: unknown): unknown {
  if (Array.isArray(message)) return message.map(shown)
  if (!(message instanceof PlainCall)) return message
  const { jsonrpc, id, method, to, data } = message
  return { jsonrpc, id, method, params: [{ to, data: Hex.fromBytes(data) }, 'latest'] }
}

/** What JSON.parse makes of it, the same in lower case where a PlainCall stands. */
function parsed(text: string, message: unknown): unknown {
  const json: unknown = JSON.parse(text)
  if (!Array.isArray(json)) return lowered(json)
  return json.map((each: unknown, i) => ((message as readonly unknown[])[i] instanceof PlainCall ? lowered(each) : each)) // whatever else it is makes the test fail
}

function lowered(json: unknown): unknown {
  const request = json as { readonly params: readonly [{ readonly to: string; readonly data: string }] } // as above
  const [{ to, data, ...others }, ...more] = request.params
  return { ...request, params: [{ to: to.toLowerCase(), data: data.toLowerCase(), ...others }, ...more] }
}

function expectRead(text: string, message = read(text)): void {
  expect(shown(message), text).toEqual(parsed(text, message))
}

describe('the ordinary bodies are read from their bytes', () => {
  it('whatever becomes of their memory afterwards, and of one place two addresses', () => {
    const memory = Buffer.alloc(512)
    for (const to of [`0x${'11'.repeat(18)}aabb`, `0x${'22'.repeat(18)}aabb`]) {
      const text = VIEM.replace(TO, to)
      expectRead(text, readPlainCalls(memory.subarray(0, memory.write(text, 'latin1'))))
    }
  })

  it.each([
    ['as viem writes them', VIEM],
    ['as ethers writes them', ETHERS],
    ['in a batch', `[${VIEM},${ETHERS},${VIEM}]`],
    ['with a checksum', VIEM.replace(TO, '0x5FbDB2315678afecb367f032d93F642f64180aa3')],
    ['with no data, the shortest', VIEM.replace(DATA, '0x')],
    ['with other data in each', `[${VIEM},${VIEM.replace(DATA, '0xabCD')},${VIEM}]`],
    ['with 0 as id', VIEM.replace('7', '0')],
    ['with a long id', VIEM.replace('7', '999999999999999')],
    ['with as many digits as may be', VIEM.replace(DATA, `0x${'12'.repeat(PLAIN_CALL_DIGITS / 2)}`)],
    ['before another method', `[${VIEM},${VIEM},${CHAIN_ID},${VIEM}]`],
    ['before what is no request', `[${VIEM}, 7,"é",null,[],{"id":1}]`],
    ['more than may be', `[${Array.from({ length: BATCH_ITEMS + 2 }, () => VIEM).join(',')}]`],
    ['as many as may be', `[${Array.from({ length: BATCH_ITEMS }, () => VIEM).join(',')}]`],
  ])('%s', (_, text) => {
    expectRead(text)
  })
})

const ODD = [
  ['an id that is not a whole number', VIEM.replace('7', '7.0')],
  ['an id with an exponent', VIEM.replace('7', '1e3')],
  ['minus zero', VIEM.replace('7', '-0')],
  ['a leading zero', VIEM.replace('7', '07')],
  ['an id beyond 2^53', VIEM.replace('7', '9007199254740993')],
  ['an id as text', VIEM.replace('7', '"7"')],
  ['null as id', VIEM.replace('7', 'null')],
  ['no id', VIEM.replace('"id":7,', '')],
  ['an id twice', VIEM.replace('"id":7,', '"id":7,"id":8,')],
  ['the version nine times', VIEM.replace('"id":7,', '"jsonrpc":"2.0",'.repeat(8))],
  ['another version', VIEM.replace('2.0', '1.0')],
  ['another method', VIEM.replace('eth_call', 'eth_cold')],
  ['a longer method', VIEM.replace('eth_call', 'eth_callMany')],
  ['an escape in the method', VIEM.replace('eth_call', 'eth\\u005fcall')],
  ['an escape in a key', VIEM.replace('"to"', '"\\u0074o"')],
  ['an escape in the data', VIEM.replace('0x70', '0x\\u00370')],
  ['a key more', VIEM.replace('"id"', '"more":1,"id"')],
  ['__proto__', VIEM.replace('"id"', '"__proto__":{"method":"eth_chainId"},"id"')],
  ['__proto__ in the call', VIEM.replace('"data"', '"__proto__":{"from":"0x"},"data"')],
  ['a sender', VIEM.replace('"data"', `"from":"${TO}","data"`)],
  ['a value', VIEM.replace('"data"', '"value":"0x1","data"')],
  ['data twice', VIEM.replace('"data"', '"data":"0x","data"')],
  ['a target twice', VIEM.replace('"data"', `"to":"${TO}","data"`)],
  ['no target', VIEM.replace(`,"to":"${TO}"`, '')],
  ['no data', VIEM.replace(`"data":"${DATA}",`, '')],
  ['a target that is too short', VIEM.replace(TO, TO.slice(0, -1))],
  ['a target that is too long', VIEM.replace(TO, `${TO}0`)],
  ['a target that is none', VIEM.replace(TO, `0xg${TO.slice(3)}`)],
  ['half a byte', VIEM.replace(DATA, `${DATA}0`)],
  ['data that is no hex', VIEM.replace(DATA, `${DATA}0g`)],
  ['data that is not ASCII', VIEM.replace(DATA, `${DATA}é`)],
  ['0X', VIEM.replace(DATA, DATA.replace('0x', '0X'))],
  ['no prefix', VIEM.replace(DATA, DATA.slice(2))],
  ['more digits', VIEM.replace(DATA, `0x${'12'.repeat(PLAIN_CALL_DIGITS / 2 + 1)}`)],
  ['another block', VIEM.replace('latest', 'pending')],
  ['no block', VIEM.replace(',"latest"', '')],
  ['null for a block', VIEM.replace('"latest"', 'null')],
  ['overrides', VIEM.replace('"latest"', '"latest",{}')],
  ['a blank', VIEM.replace('"id":', '"id": ')],
  ['a blank before', ` ${VIEM}`],
  ['a line behind', `${VIEM}\n`],
  ['something behind', `${VIEM}x`],
  ['a request behind', `${VIEM},${VIEM}`],
  ['a comma behind the last', `[${VIEM},]`],
  ['a comma behind the last key', `${VIEM.slice(0, -1)},}`],
  ['two commas', `[${VIEM},,${VIEM}]`],
  ['nothing behind a comma and a blank', `[${VIEM}, ]`],
  ['a mark of UTF-8 behind a comma', `[${VIEM},\ufeff${VIEM}]`],
  ['another first', `[${CHAIN_ID},${VIEM}]`],
  ['a batch in a batch', `[[${VIEM}]]`],
  ['a batch that does not end', `[${VIEM}`],
  ['a mark of UTF-8', `\ufeff${VIEM}`],
  ['nothing in brackets', '[]'],
  ['nothing in braces', '{}'],
  ['nothing', ''],
] as const

describe('every other body is left to JSON.parse', () => {
  it.each(ODD)('%s', (_, text) => {
    expect(read(text)).toBeUndefined()
  })
})

describe('the answer is that to the same body as text, which JSON.parse reads', () => {
  let node: TestNode
  beforeAll(async () => {
    node = await testNode()
    await node.send({ data: LOGGER_INIT_CODE })
    await node.chain.mine(1)
  })

  const answers = async (text: string, caller = DEDICATED): Promise<readonly [string | null, number | undefined][]> => {
    const bytes = bytesOf(text)
    const handled = [await node.rpc.handle(bytes, caller), await node.rpc.handle(new TextDecoder('utf-8').decode(bytes), caller)]
    return handled.map(({ body, status }) => [body === null ? null : textOf(body), status])
  }

  it.each([
    ['ordinary', VIEM],
    ['a contract', VIEM.replace(TO, LOGGER)],
    ['too little gas for what it carries', VIEM.replace(DATA, `0x${'ff'.repeat(500)}`)],
    ['a batch', `[${VIEM},${ETHERS}]`],
    ['a batch of more', `[${VIEM},${CHAIN_ID},${ETHERS}]`],
    ['too many', `[${Array.from({ length: BATCH_ITEMS + 1 }, () => VIEM).join(',')}]`],
    ...ODD,
  ] as const)('%s', async (_, text) => {
    for (const caller of [DEDICATED, PUBLIC]) {
      const [fromBytes, fromText] = await answers(text, caller)
      expect(fromBytes).toEqual(fromText)
    }
  })

  it.each(['strict', 'geth'] as const)('and where nodes differ: %s', async (compat) => {
    const other = await testNode({ compat })
    // Returns its data, but reverts with what is longer than a word.
    await other.ask('anvil_setCode', LOGGER, '0x365f5f3736602010600e57365ff35b365ffd')
    const call = VIEM.replace(TO, LOGGER)
    const short = call.replace(DATA, '0x1234')
    for (const text of [call, short, `[${short},${call},${short}]`]) {
      const [fromBytes, fromText] = [bytesOf(text), text].map(async (body) => textOf((await other.rpc.handle(body, DEDICATED)).body ?? ''))
      expect(await fromBytes).toBe(await fromText)
      expect(await fromBytes).toContain(text === call ? `"data":"${DATA}"` : '"result":"0x1234"')
    }
    expect(other.bugs).toEqual([])
  })

  it('for thousands of bodies that are a little odd', async () => {
    const random = randomly(0x5eed)
    const pieces = [...PIECES, ...ODD.map(([, text]) => text).filter((text) => text.length < 400)]
    let [plain, odd] = [0, 0]
    for (let i = 0; i < 6_000; i++) {
      const base = [VIEM, ETHERS, `[${VIEM},${ETHERS}]`, `[${ETHERS},${VIEM},${CHAIN_ID},${VIEM}]`][random(4)] as string // four of them
      const text = changed(base, pieces, random)
      const message = read(text)
      if (message === undefined) odd++
      else plain++
      if (message !== undefined) expectRead(text, message)
      const [fromBytes, fromText] = await answers(text)
      expect(fromBytes, text).toEqual(fromText)
    }
    // Both readers had their share.
    expect(Math.min(plain, odd)).toBeGreaterThan(1_000)
    expect(node.bugs).toEqual([])
  })

  it('for bytes that are not UTF-8', async () => {
    const bytes = bytesOf(VIEM)
    for (let i = 0; i < bytes.length; i++) {
      const broken = bytes.with(i, 0xff)
      expect(readPlainCalls(broken)).toBeUndefined()
      expect(await node.rpc.handle(broken, DEDICATED)).toMatchObject({ body: expect.stringContaining('-32700') })
    }
  })
})

const PIECES = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\t', '\n', '0', '7', '1e3', '-0', '1.0', 'null', 'true', '99999999999999999999'],
  ...[
    '"id":1',
    '"id":2,',
    '"jsonrpc":"2.0",',
    '"method":"eth_call",',
    '"params":[],',
    '"latest"',
    ',"latest"',
    '"__proto__":{},',
    '"to":',
    '"data":',
  ],
  ...['0x', '\\u0030', '\\u0074o', 'é', '\u2028', '\u0000', 'ff', 'F', TO, DATA, `"to":"${TO}",`, `"data":"${DATA}",`],
]

/** One or two changes: a byte, a piece more, a piece less, a piece twice, two keys that change places, other digits. */
function changed(base: string, pieces: readonly string[], random: (below: number) => number): string {
  let text = base
  for (let left = 1 + random(2); left > 0; left--) {
    const at = random(text.length)
    const length = 1 + random(12)
    const piece = pieces[random(pieces.length)] ?? ''
    const changes = [
      () => text.slice(0, at) + String.fromCharCode(32 + random(95)) + text.slice(at + 1),
      () => text.slice(0, at) + piece + text.slice(at),
      () => text.slice(0, at) + text.slice(at + length),
      () => text.slice(0, at + length) + text.slice(at),
      () => text.replace(/"id":\d+/, `"id":${random(2 ** 31) * 2 ** random(30)}`),
      () => text.replace(DATA, `0x${'5A'.repeat(random(80))}`),
      () =>
        text.replace(
          TO,
          `0x${random(2 ** 31)
            .toString(16)
            .padStart(40, 'aB')}`,
        ),
      () => text.replace(/"jsonrpc":"2.0",("id":\d+)/, '$1,"jsonrpc":"2.0"'),
    ]
    text = changes[random(changes.length)]?.() ?? text
  }
  return text
}

/** mulberry32 */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

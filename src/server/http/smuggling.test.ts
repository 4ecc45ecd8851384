import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../bench.fixture.ts'
import { Connection, GOOD, exchange, turns, twoServers, undated } from './raw.fixture.ts'
import type { Handle, Pair } from './raw.fixture.ts'

// Request smuggling (RFC 9112, 11.2): two parsers that disagree about where a request ends see different requests. Every request here is sent over
// the raw HTTP path and over node:http only. Both must give the same answer and pass the same bodies to the JSON-RPC handler.

const B = '{"a":1}'
const LENGTH = `Content-Length: ${B.length}`
const CHUNKED = 'Transfer-Encoding: chunked'
const HIDDEN = 'POST /public HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n"hidden"'
const PLAIN = request(LENGTH)

function request(lines: string, body = B): string {
  const own = lines === '' ? '' : `${lines}\r\n`
  return `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${own}\r\n${body}`
}

function chunked(...chunks: readonly string[]): string {
  return `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}

/** `statuses` of the responses, and the bodies that reached the handler. CL: Content-Length, TE: Transfer-Encoding. Sections refer to RFC 9112. */
type Case = readonly [name: string, bytes: string, statuses: readonly number[], executed: readonly string[]]

const CASES: readonly Case[] = [
  // Transfer-Encoding (6.1, 6.3)
  ['TE chunked', request(CHUNKED, chunked(B)), [200], [B]],
  ['TE chunked in two chunks', request(CHUNKED, chunked('{"a"', ':1}')), [200], [B]],
  ['TE in another case', request('tRANSFER-eNCODING: CHUNKED', chunked(B)), [200], [B]],
  [
    'CL and TE, a request behind the last chunk (CL.TE)',
    request(`Content-Length: ${5 + HIDDEN.length}\r\n${CHUNKED}`, `0\r\n\r\n${HIDDEN}`),
    [400],
    [],
  ],
  ['TE and CL, a request inside of a chunk (TE.CL)', request(`${CHUNKED}\r\nContent-Length: 4`, chunked(HIDDEN)), [400], []],
  ['CL and TE that agree', request(`${LENGTH}\r\n${CHUNKED}`, chunked(B)), [400], []],
  ['TE identity', request('Transfer-Encoding: identity', chunked(B)), [400], []],
  ['TE identity and CL', request(`${LENGTH}\r\nTransfer-Encoding: identity`), [400], []],
  ['TE with an unknown coding', request('Transfer-Encoding: xchunked', chunked(B)), [400], []],
  ['TE with an unknown coding and CL', request(`${LENGTH}\r\nTransfer-Encoding: xchunked`), [400], []],
  ['TE that does not end with chunked', request('Transfer-Encoding: chunked, identity', chunked(B)), [400], []],
  ['TE that does not end with chunked and CL', request(`${LENGTH}\r\nTransfer-Encoding: chunked, identity`), [400], []],
  ['TE identity, chunked', request('Transfer-Encoding: identity, chunked', chunked(B)), [200], [B]],
  ['TE identity, chunked and CL', request(`${LENGTH}\r\nTransfer-Encoding: identity, chunked`), [400], []],
  ['TE gzip, chunked', request('Transfer-Encoding: gzip, chunked', chunked(B)), [200], [B]],
  ['TE gzip, chunked and CL', request(`${LENGTH}\r\nTransfer-Encoding: gzip, chunked`), [400], []],
  ['TE chunked twice in a list', request('Transfer-Encoding: chunked, chunked', chunked(B)), [400], []],
  ['TE chunked twice in a list and CL', request(`${LENGTH}\r\nTransfer-Encoding: chunked, chunked`), [400], []],
  ['TE with a parameter', request('Transfer-Encoding: chunked;q=1', chunked(B)), [400], []],
  ['TE with a parameter and CL', request(`${LENGTH}\r\nTransfer-Encoding: chunked;q=1`), [400], []],
  ['TE with a vertical tab', request('Transfer-Encoding: \x0bchunked', chunked(B)), [400], []],
  ['TE with a vertical tab and CL', request(`${LENGTH}\r\nTransfer-Encoding: \x0bchunked`), [400], []],
  ['TE with a NUL', request('Transfer-Encoding: \0chunked', chunked(B)), [400], []],
  ['TE with a NUL and CL', request(`${LENGTH}\r\nTransfer-Encoding: \0chunked`), [400], []],
  ['TE with a no-break space', request('Transfer-Encoding: \xa0chunked', chunked(B)), [400], []],
  ['TE with a no-break space and CL', request(`${LENGTH}\r\nTransfer-Encoding: \xa0chunked`), [400], []],
  ['TE quoted', request('Transfer-Encoding: "chunked"', chunked(B)), [400], []],
  ['TE quoted and CL', request(`${LENGTH}\r\nTransfer-Encoding: "chunked"`), [400], []],
  ['TE with a trailing tab', request('Transfer-Encoding: chunked\t', chunked(B)), [400], []],
  ['TE with a trailing tab and CL', request(`${LENGTH}\r\nTransfer-Encoding: chunked\t`), [400], []],
  ['TE with an empty element', request('Transfer-Encoding: , chunked', chunked(B)), [200], [B]],
  ['TE with an empty element and CL', request(`${LENGTH}\r\nTransfer-Encoding: , chunked`), [400], []],
  ['two TE lines', request(`${CHUNKED}\r\n${CHUNKED}`, chunked(B)), [400], []],
  ['two TE lines that differ', request(`${CHUNKED}\r\nTransfer-Encoding: identity`, chunked(B)), [400], []],
  ['a space before the colon of TE', request(`${LENGTH}\r\nTransfer-Encoding : chunked`), [400], []],
  ['a tab before the colon of TE', request(`${LENGTH}\r\nTransfer-Encoding\t: chunked`), [400], []],
  ['a line break before the colon of TE', request(`${LENGTH}\r\nTransfer-Encoding\r\n: chunked`), [400], []],
  ['TE on a folded line', request(`${LENGTH}\r\nTransfer-Encoding:\r\n chunked`), [400], []],
  ['TE behind a bare LF', request(`${LENGTH}\r\nX-A: a\nTransfer-Encoding: chunked`), [400], []],
  ['TE behind a bare CR', request(`${LENGTH}\r\nX-A: a\rTransfer-Encoding: chunked`), [400], []],
  ['a leading space before TE', request(`${LENGTH}\r\n Transfer-Encoding: chunked`), [400], []],
  ['TE with an underscore is another field', request(`${LENGTH}\r\nTransfer_Encoding: chunked`), [200], [B]],
  ['TE in HTTP/1.0', request(CHUNKED, chunked(B)).replace('1.1', '1.0'), [200], [B]],
  ['TE and CL in HTTP/1.0', request(`${LENGTH}\r\n${CHUNKED}`, chunked(B)).replace('1.1', '1.0'), [400], []],
  // Content-Length (6.2, 6.3)
  ['two equal CL', request(`${LENGTH}\r\n${LENGTH}`), [400], []],
  ['two CL, the first shorter', request(`Content-Length: 1\r\n${LENGTH}`), [400], []],
  ['two CL, the second shorter', request(`${LENGTH}\r\ncontent-length: 1`), [400], []],
  ['CL with a sign', request('Content-Length: +7'), [400], []],
  ['CL below zero', request('Content-Length: -7'), [400], []],
  ['CL minus zero', request('Content-Length: -0'), [400], []],
  ['CL in hexadecimal', request('Content-Length: 0x7'), [400], []],
  ['CL as a list', request('Content-Length: 7, 7'), [400], []],
  ['CL as a list without a space', request('Content-Length: 7,7'), [400], []],
  ['CL as a list that differs', request('Content-Length: 7, 8'), [400], []],
  ['CL with a space inside', request('Content-Length: 7 7'), [400], []],
  ['CL empty', request('Content-Length: '), [400], []],
  ['CL in letters', request('Content-Length: seven'), [400], []],
  ['CL as a fraction', request('Content-Length: 7.0'), [400], []],
  ['CL with an exponent', request('Content-Length: 7e0'), [400], []],
  ['CL with a semicolon', request('Content-Length: 7;'), [400], []],
  ['CL quoted', request('Content-Length: "7"'), [400], []],
  ['CL with a leading zero', request('Content-Length: 07'), [200], [B]],
  ['CL with many leading zeros', request('Content-Length: 0000000000000000000000000007'), [200], [B]],
  ['CL beyond 64 bits', request('Content-Length: 99999999999999999999'), [400], []],
  ['CL that is 7 modulo 2^64', request('Content-Length: 18446744073709551623'), [400], []],
  ['CL with a NUL', request('Content-Length: 7\0'), [400], []],
  ['CL with a byte beyond ASCII', request('Content-Length: \xb77'), [400], []],
  ['CL with an underscore', request('Content-Length: 7_0'), [400], []],
  ['CL with a vertical tab', request('Content-Length: \x0b7'), [400], []],
  ['CL with two leading spaces', request(`Content-Length:  ${B.length}`), [200], [B]],
  ['CL with a leading tab', request(`Content-Length:\t${B.length}`), [200], [B]],
  ['CL with a trailing space', request(`${LENGTH} `), [200], [B]],
  ['a space before the colon of CL', request(LENGTH.replace(':', ' :')), [400], []],
  ['CL on a folded line', request(LENGTH.replace(': ', ':\r\n ')), [400], []],
  ['CL continued on a folded line', request(`Content-Length: ${B.length}\r\n 0`), [400], []],
  ['CL with an underscore is another field', request(LENGTH.replace('-', '_'), ''), [200], ['']],
  ['neither CL nor TE, a body', request(''), [400], ['']],
  ['neither CL nor TE, a request as the body', request('', HIDDEN), [200, 200], ['', '"hidden"']],
  ['CL 0, a request as the body', request('Content-Length: 0', HIDDEN), [200, 200], ['', '"hidden"']],
  ['CL shorter than the body', request('Content-Length: 3'), [400], ['{"a']],
  ['CL shorter than the body, a request behind it', request(LENGTH, B + HIDDEN), [200, 200], [B, '"hidden"']],
  ['CL longer than the body', request('Content-Length: 8'), [400], []],
  ['CL over the limit', request('Content-Length: 99999999'), [413, 400], []],
  ['CL that takes in the next request', request(`Content-Length: ${B.length + HIDDEN.length}`, B + HIDDEN), [200], [B + HIDDEN]],
  // chunks (7.1)
  ['a chunk extension', request(CHUNKED, `7;a=b\r\n${B}\r\n0\r\n\r\n`), [200], [B]],
  ['a quoted chunk extension with a line break', request(CHUNKED, `7;a="\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk extension with a bare LF', request(CHUNKED, `7;a\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk extension with a bare CR', request(CHUNKED, `7;a\rb\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk extension without a name', request(CHUNKED, `7;\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size with leading zeros', request(CHUNKED, `0007\r\n${B}\r\n0\r\n\r\n`), [200], [B]],
  ['a chunk size with 0x', request(CHUNKED, `0x7\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size with a sign', request(CHUNKED, `+7\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size below zero', request(CHUNKED, `-7\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size with a leading space', request(CHUNKED, ` 7\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size with a trailing space', request(CHUNKED, `7 \r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['an empty chunk size', request(CHUNKED, `\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size in letters', request(CHUNKED, `g\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a chunk size beyond 64 bits', request(CHUNKED, `10000000000000007\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a bare LF behind a chunk size', request(CHUNKED, `7\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a bare LF behind a chunk', request(CHUNKED, `7\r\n${B}\n0\r\n\r\n`), [400], []],
  ['bytes behind a chunk', request(CHUNKED, `7\r\n${B}xx0\r\n\r\n`), [400], []],
  ['a chunk size that is too small', request(CHUNKED, `6\r\n${B}\r\n0\r\n\r\n`), [400], []],
  ['a trailer field', request(CHUNKED, `7\r\n${B}\r\n0\r\nX-A: b\r\n\r\n`), [200], [B]],
  ['CL in a trailer', request(CHUNKED, `7\r\n${B}\r\n0\r\nContent-Length: 1\r\n\r\n`), [400], []],
  ['no last chunk', request(CHUNKED, `7\r\n${B}\r\n`), [400], []],
  ['a last chunk without its empty line', request(CHUNKED, `7\r\n${B}\r\n0\r\n`), [400], []],
  ['a request behind the last chunk', request(CHUNKED, chunked(B) + HIDDEN), [200, 200], [B, '"hidden"']],
  // lines and fields (2.2, 5)
  ['bare LF throughout', PLAIN.replaceAll('\r\n', '\n'), [400], []],
  ['bare LF at the end of the head', PLAIN.replace('\r\n\r\n', '\n\n'), [400], []],
  ['bare LF behind the request line', PLAIN.replace('\r\n', '\n'), [400], []],
  ['bare CR behind the request line', PLAIN.replace('\r\n', '\r'), [400], []],
  ['bare CR in a value', request(`X-A: a\rb\r\n${LENGTH}`), [400], []],
  ['bare LF in a value', request(`X-A: a\nb\r\n${LENGTH}`), [400], []],
  ['CR CR LF', request(`X-A: a\r\r\n${LENGTH}`), [400], []],
  ['LF CR', request(`X-A: a\n\r${LENGTH}`), [400], []],
  ['a folded line', request(`X-A: a\r\n b\r\n${LENGTH}`), [400], []],
  ['a folded line with a tab', request(`X-A: a\r\n\tb\r\n${LENGTH}`), [400], []],
  ['a folded line behind the request line', PLAIN.replace('\r\nHost', '\r\n Host'), [400], []],
  ['a space before a colon', request(`X-A : a\r\n${LENGTH}`), [400], []],
  ['an empty field name', request(`: a\r\n${LENGTH}`), [400], []],
  ['a field without a colon', request(`X-A\r\n${LENGTH}`), [400], []],
  ['an empty value', request(`X-A:\r\n${LENGTH}`), [200], [B]],
  ['a NUL in a name', request(`X\0A: a\r\n${LENGTH}`), [400], []],
  ['a NUL in a value', request(`X-A: a\0b\r\n${LENGTH}`), [400], []],
  ['DEL in a value', request(`X-A: a\x7fb\r\n${LENGTH}`), [400], []],
  ['a byte beyond ASCII in a name', request(`X-\xe9: a\r\n${LENGTH}`), [400], []],
  ['a byte beyond ASCII in a value', request(`X-A: \xe9\r\n${LENGTH}`), [200], [B]],
  ['a byte beyond ASCII in the target', PLAIN.replace(' / ', ' /\xe9 '), [400], []],
  ['an empty line before the request', `\r\n${PLAIN}`, [200], [B]],
  ['a bare LF before the request', `\n${PLAIN}`, [200], [B]],
  ['a space before the request', ` ${PLAIN}`, [400], []],
  ['a NUL before the request', `\0${PLAIN}`, [400], []],
  // the request line (3)
  ['two spaces behind the method', PLAIN.replace('POST ', 'POST  '), [200], [B]],
  ['a tab behind the method', PLAIN.replace('POST ', 'POST\t'), [400], []],
  ['a space behind the version', PLAIN.replace('HTTP/1.1', 'HTTP/1.1 '), [400], []],
  ['a method in lower case', PLAIN.replace('POST', 'post'), [400], []],
  ['an unknown method', PLAIN.replace('POST', 'BREW'), [400], []],
  ['an absolute target', PLAIN.replace(' / ', ' http://localhost/ '), [200], [B]],
  ['an absolute target of another host', PLAIN.replace(' / ', ' http://evil.example/ '), [200], [B]],
  [
    'an absolute target, another Host',
    PLAIN.replace(' / ', ' http://localhost/ ').replace('Host: localhost', 'Origin: http://evil.example\r\nHost: evil.example'),
    [403],
    [],
  ],
  ['an authority as target', PLAIN.replace(' / ', ' localhost:80 '), [400], []],
  ['an asterisk as target', PLAIN.replace(' / ', ' * '), [404], []],
  ['an empty target', PLAIN.replace(' / ', ' '), [400], []],
  ['a fragment in the target', PLAIN.replace(' / ', ' /#a '), [404], []],
  ['an escaped target', PLAIN.replace(' / ', ' /%2f '), [404], []],
  ['HTTP/1.0', PLAIN.replace('1.1', '1.0'), [200], [B]],
  [
    'HTTP/1.0 with keep-alive, and a request behind it',
    request(`${LENGTH}\r\nConnection: keep-alive`).replace('1.1', '1.0') + HIDDEN,
    [200, 200],
    [B, '"hidden"'],
  ],
  ['HTTP/0.9', 'POST /\r\n\r\n', [415], []],
  ['HTTP/1.2', PLAIN.replace('1.1', '1.2'), [400], []],
  ['HTTP/2.0', PLAIN.replace('1.1', '2.0'), [200], [B]],
  ['a version in lower case', PLAIN.replace('HTTP/1.1', 'http/1.1'), [400], []],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', [400], []],
  // Host and Origin (3.2)
  ['no Host', PLAIN.replace('Host: localhost\r\n', ''), [400], []],
  ['two Hosts', request(`Host: localhost\r\n${LENGTH}`), [200], [B]],
  ['two Hosts, the second foreign', request(`Host: evil.example\r\n${LENGTH}`), [200], [B]],
  ['two Hosts, the first foreign', PLAIN.replace('Host:', 'Origin: http://evil.example\r\nHost: evil.example\r\nHost:'), [403], []],
  ['an empty Host', PLAIN.replace('Host: localhost', 'Host:'), [403], []],
  ['a list as Host', PLAIN.replace('Host: localhost', 'Host: localhost, evil.example'), [403], []],
  ['two Origins', request(`Origin: http://localhost\r\nOrigin: https://evil.example\r\n${LENGTH}`), [403], []],
  // one connection (9.3, 9.6; RFC 9110, 7.8, 10.1.1)
  ['two requests', PLAIN + HIDDEN, [200, 200], [B, '"hidden"']],
  ['three requests, one of them in chunks', PLAIN + request(CHUNKED, chunked(B)) + HIDDEN, [200, 200, 200], [B, B, '"hidden"']],
  ['a request and half of one', PLAIN + HIDDEN.slice(0, 30), [200, 400], [B]],
  ['a request and noise', PLAIN + 'noise\r\n\r\n', [400], [B]],
  ['a request and an empty line', PLAIN + '\r\n', [200], [B]],
  ['GET with a body, and a request', PLAIN.replace('POST', 'GET') + HIDDEN, [200, 200], ['"hidden"']],
  ['connection: close, and a request', request(`${LENGTH}\r\nConnection: close`) + HIDDEN, [400], [B]],
  ['a Connection option that names CL', request(`${LENGTH}\r\nConnection: content-length`), [200], [B]],
  ['Expect: 100-continue', request(`${LENGTH}\r\nExpect: 100-continue`), [100, 200], [B]],
  ['Expect: 100-continue without the body', request(`${LENGTH}\r\nExpect: 100-continue`, ''), [100, 400], []],
  ['another Expect', request(`${LENGTH}\r\nExpect: noise`), [417], []],
  ['Upgrade: h2c', request(`${LENGTH}\r\nConnection: Upgrade\r\nUpgrade: h2c`), [200], [B]],
  ['Upgrade: h2c, and a request', request(`${LENGTH}\r\nConnection: Upgrade\r\nUpgrade: h2c`) + HIDDEN, [200, 200], [B, '"hidden"']],
  ['Upgrade: websocket with POST', request(`${LENGTH}\r\nConnection: Upgrade\r\nUpgrade: websocket`), [405], []],
  ['an early end in the head', PLAIN.slice(0, 40), [400], []],
  ['an early end behind the head', PLAIN.slice(0, -B.length), [400], []],
  ['an early end in the body', PLAIN.slice(0, -3), [400], []],
  ['a plain request', PLAIN, [200], [B]],
]

/** The requests of the table that stay on the raw HTTP path: in its grammar, with nothing behind them, complete or ended in the body. */
const ACCEPTED: ReadonlySet<string> = new Set([
  'a plain request',
  'an early end behind the head',
  'an early end in the body',
  'CL longer than the body',
  'CL that takes in the next request',
  'TE with an underscore is another field',
])

describe('both paths read a request alike', () => {
  const executed = { raw: [] as string[], nodeHttp: [] as string[] }
  let pair: Pair
  beforeAll(async () => {
    const recording =
      (bodies: string[]): Handle =>
      (body, { tier }) => {
        bodies.push(Buffer.from(body).toString('latin1'))
        return { body: JSON.stringify([tier, body.length]) }
      }
    pair = await twoServers({ raw: recording(executed.raw), nodeHttp: recording(executed.nodeHttp) })
  })
  afterAll(() => pair[Symbol.asyncDispose]())

  test.each(CASES)('%s', async (name, bytes, statuses, bodies) => {
    const half = bytes.length >> 1
    for (const pieces of [[bytes], [bytes.slice(0, half), bytes.slice(half)]]) {
      for (const isFirst of [true, false]) {
        const answers: string[] = []
        for (const side of ['raw', 'nodeHttp'] as const) {
          const connection = await Connection.open(pair[side])
          if (!isFirst) await connection.ask(GOOD)
          executed[side].length = 0
          await connection.deliver(pieces)
          for (let i = 0; i < 4; i++) await turns()
          if (side === 'raw' && pieces.length === 1) await until(() => pair.raw.rawConnectionCount === (ACCEPTED.has(name) ? 1 : 0))
          connection.end()
          const answer = await connection.rest()
          expect([...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))).toEqual(statuses)
          expect(executed[side]).toEqual(bodies)
          answers.push(undated(answer))
        }
        expect(answers[0]).toBe(answers[1])
        await until(() => pair.raw.rawConnectionCount === 0)
      }
    }
  })
})

test('random mutations of a request are read alike', async () => {
  const executed = { raw: [] as string[], nodeHttp: [] as string[] }
  const echo =
    (bodies: string[]): Handle =>
    (body, { tier }) => {
      bodies.push(Buffer.from(body).toString('latin1'))
      return { body: JSON.stringify([tier, Buffer.from(body).toString('latin1')]) }
    }
  await using pair = await twoServers({ raw: echo(executed.raw), nodeHttp: echo(executed.nodeHttp) })
  const random = generator(20_261_121)
  let answered = 0
  for (let i = 0; i < 1_000; i++) {
    const bytes = mutant(GOOD, random)
    const cut = random(2) === 0 ? bytes.length : random(bytes.length)
    const pieces = [bytes.slice(0, cut), bytes.slice(cut)].filter((piece) => piece !== '')
    const [answer, expected] = await Promise.all([exchange(pair.raw, pieces), exchange(pair.nodeHttp, pieces)])
    expect(undated(answer), JSON.stringify(pieces)).toBe(undated(expected))
    expect(executed.raw, JSON.stringify(pieces)).toEqual(executed.nodeHttp)
    if (answer.startsWith('HTTP/1.1 200')) answered++
  }
  // A run in which nearly all are refused, or none, compares too little.
  expect(answered).toBeGreaterThan(200)
  expect(answered).toBeLessThan(900)
})

// --- mutations ------------------------------------------------------------------------------------------------------

type Random = (below: number) => number

/** One to three mutations of a valid request. */
function mutant(request: string, random: Random): string {
  let text = request
  for (let i = random(3); i >= 0; i--) text = MUTATIONS[random(MUTATIONS.length)]?.(text, random) ?? text
  return text || request
}

const SPLICES = ['\r', '\n', '\r\n', '\r\n\r\n', '\t', ' ', '\0', ':', ',', ';', '\x7f', '\xa0', '\xff', '0', '1', '+', '-', '_', 'a', '/']
const LINES = [
  'Content-Length: 55',
  'Content-Length: 56',
  'content-length: 057',
  'Content-Length:\t57',
  'Content-Length: 57 ',
  'Content-Length: 5 7',
  'Content_Length: 57',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer\xadEncoding: chunked',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: keep-alive, close',
  'Connection: te',
  'Proxy-Connection: close',
  'Keep-Alive: timeout=1',
  'Upgrade: h2c',
  'TE: trailers',
  'Trailer: Expires',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Host: evil.example',
  'Host:',
  ' folded',
  'Origin: http://localhost:1',
  'Origin: https://evil.example',
  'Origin: null',
  'Content-Encoding: identity',
  'Content-Type: text/plain',
  'Content-Type: application/json',
  '__proto__: 1',
  'constructor: 1',
  'X-Forwarded-For: 1.2.3.4',
  'Cookie: a=b; c=d',
  'X-Long: ' + 'b'.repeat(5_000),
]

const MUTATIONS: readonly ((text: string, random: Random) => string)[] = [
  (text, random) => insert(text, random(text.length), SPLICES[random(SPLICES.length)] ?? ''),
  (text, random) => insert(text, random(text.length), String.fromCharCode(random(256))),
  (text, random) => cut(text, random(text.length), 1 + random(3)),
  (text, random) => insert(cut(text, random(text.length), 1), random(text.length), SPLICES[random(SPLICES.length)] ?? ''),
  (text, random) => insertLine(text, LINES[random(LINES.length)] ?? '', random),
  (text, random) => insertLine(text, LINES[random(LINES.length)] ?? '', random),
  (text, random) => insertLine(text, LINES[random(LINES.length)] ?? '', random),
  (text, random) => dropLine(text, random),
  (text) => text.replaceAll('\r\n', '\n'),
  (text) => text + GOOD,
  (text) => `${text}\r\n`,
  (text, random) => text.slice(0, random(text.length)),
  (text, random) => (random(2) === 0 ? text.toUpperCase() : text.toLowerCase()),
  (text) => text.replace('HTTP/1.1', 'HTTP/1.0'),
  (text) => text.replace(' / ', ' /public '),
  (text) => text,
]

function insert(text: string, at: number, piece: string): string {
  return text.slice(0, at) + piece + text.slice(at)
}

function cut(text: string, at: number, length: number): string {
  return text.slice(0, at) + text.slice(at + length)
}

function insertLine(text: string, line: string, random: Random): string {
  const lines = text.split('\r\n')
  lines.splice(1 + random(Math.max(1, lines.length - 2)), 0, line)
  return lines.join('\r\n')
}

function dropLine(text: string, random: Random): string {
  const lines = text.split('\r\n')
  lines.splice(random(lines.length), 1)
  return lines.join('\r\n')
}

/** mulberry32 */
function generator(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

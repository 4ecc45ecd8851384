import { X509Certificate, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LOOPBACK_NAMES } from './authority.ts'
import { authorityCertificate, authorityName, serverCertificate } from './certificate.ts'
import { NO_OPENSSL, openssl, scratch } from './tls.fixture.ts'

const DAY_MS = 86_400_000
const OURS = ['localhost', '127.0.0.1', '::1']

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

interface Pair {
  readonly authority: string
  readonly server: string
}

/** An authority for `permitted`, and a certificate that it signs for `names`. */
function pair(names: readonly string[], permitted = LOOPBACK_NAMES, nowMs = Date.now()): Pair {
  const [key, serverKey] = [newKey(), newKey()]
  const validity = { startMs: nowMs - DAY_MS, endMs: nowMs + 30 * DAY_MS }
  const endMs = nowMs + 20 * DAY_MS
  return {
    authority: authorityCertificate(key, permitted, validity),
    server: serverCertificate({ key, endMs }, serverKey, names, validity),
  }
}

/** Returns openssl's verdict on the server's certificate for a client that trusts the authority. */
function verify({ authority, server }: Pair, ...args: readonly string[]) {
  using folder = scratch()
  const ca = join(folder.path, 'ca.pem')
  writeFileSync(ca, authority)
  return openssl(['verify', '-x509_strict', '-purpose', 'sslserver', '-no-CApath', '-CAfile', ca, ...args], server)
}

function textOf(pem: string): string {
  return openssl(['x509', '-noout', '-text'], pem).output
}

describe('certificates, as Node reads them', () => {
  test('contain their names and their issuer', () => {
    const { authority, server } = pair([...OURS, '127.0.0.9', 'fd00::1:0:2'])
    const [ca, leaf] = [new X509Certificate(authority), new X509Certificate(server)]
    expect([ca.ca, leaf.ca]).toEqual([true, false])
    expect([leaf.checkIssued(ca), ca.checkIssued(ca), leaf.verify(ca.publicKey)]).toEqual([true, true, true])
    for (const address of ['127.0.0.1', '127.0.0.9', '::1', 'fd00::1:0:2']) expect(leaf.checkIP(address)).toBe(address)
    expect([leaf.checkHost('localhost'), leaf.checkHost('pocketchain'), leaf.checkIP('127.0.0.2')]).toEqual([
      'localhost',
      undefined,
      undefined,
    ])
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
  })

  test('have unique serial numbers, and two authorities have different subjects', () => {
    const [one, other] = [pair(OURS), pair(OURS)]
    const numbers = [one, other].flatMap(({ authority, server }) => [authority, server]).map((pem) => new X509Certificate(pem).serialNumber)
    expect(new Set(numbers).size).toBe(4)
    expect(new X509Certificate(one.authority).subject).not.toBe(new X509Certificate(other.authority).subject)
    const key = newKey()
    const again = () => authorityCertificate(key, LOOPBACK_NAMES, { startMs: 0, endMs: DAY_MS })
    expect(new X509Certificate(again()).subject).toBe(`O=pocketchain\nCN=${authorityName(key)}`)
    expect(again()).not.toBe(again())
  })

  test('end no later than their authority, also after 2049', () => {
    const nowMs = Date.UTC(2049, 11, 20)
    const { authority, server } = pair(OURS, LOOPBACK_NAMES, nowMs)
    const [ca, leaf] = [new X509Certificate(authority), new X509Certificate(server)]
    expect(Date.parse(leaf.validFrom)).toBe(nowMs - DAY_MS)
    expect(Date.parse(leaf.validTo)).toBe(nowMs + 20 * DAY_MS)
    expect(Date.parse(ca.validTo)).toBe(nowMs + 30 * DAY_MS)
  })
})

// Skipped if openssl is not installed.
describe.skipIf(NO_OPENSSL !== null)('certificates, as openssl judges them', () => {
  test.each([
    ['-verify_hostname', 'localhost'],
    ['-verify_ip', '127.0.0.1'],
    ['-verify_ip', '::1'],
  ])('valid: %s %s', (flag, name) => {
    expect(verify(pair(OURS), flag, name)).toEqual({ isGood: true, output: 'stdin: OK\n' })
  })

  test('valid: a name below localhost, and another loopback address', () => {
    expect(verify(pair(['app.localhost', '127.8.7.6']), '-verify_hostname', 'app.localhost').isGood).toBe(true)
    expect(verify(pair(['app.localhost', '127.8.7.6']), '-verify_ip', '127.8.7.6').isGood).toBe(true)
  })

  test.each([
    ['-verify_hostname', 'evil.example', 'hostname mismatch'],
    ['-verify_ip', '10.0.0.1', 'IP address mismatch'],
  ])('refused for another host: %s %s', (flag, name, reason) => {
    const { isGood, output } = verify(pair(OURS), flag, name)
    expect([isGood, output]).toEqual([false, expect.stringContaining(reason)])
  })

  test.each([['evil.example'], ['localhost.evil.example'], ['notlocalhost'], ['128.0.0.1'], ['192.168.1.1'], ['::2'], ['fe80::1']])(
    'refused: what the authority signs for %s, which it may not speak for',
    (name) => {
      const { isGood, output } = verify(pair([...OURS, name]))
      expect([isGood, output]).toEqual([false, expect.stringContaining('permitted subtree violation')])
    },
  )

  test('refused: an authority below the authority', () => {
    const [key, below, last] = [newKey(), newKey(), newKey()]
    const validity = { startMs: Date.now() - DAY_MS, endMs: Date.now() + DAY_MS }
    const authority = authorityCertificate(key, LOOPBACK_NAMES, validity)
    const leaf = serverCertificate({ key: below, endMs: validity.endMs }, last, OURS, validity)
    const middle = serverCertificate({ key, endMs: validity.endMs }, below, OURS, validity)
    using folder = scratch()
    writeFileSync(join(folder.path, 'middle.pem'), middle)
    expect(verify({ authority, server: leaf }, '-untrusted', join(folder.path, 'middle.pem')).isGood).toBe(false)
  })

  test('an authority of another host signs for that host and loopback only', () => {
    const permitted = [...LOOPBACK_NAMES, 'box', '192.168.1.5', 'fd00::5']
    for (const name of ['box', '192.168.1.5', 'fd00::5']) expect(verify(pair([...OURS, name], permitted)).isGood).toBe(true)
    for (const name of ['boxes', '192.168.1.6', 'fd00::6']) expect(verify(pair([...OURS, name], permitted)).isGood).toBe(false)
  })

  test('the name constraints are critical', () => {
    const { authority, server } = pair(OURS)
    const text = textOf(authority)
    expect(text).toMatch(
      /X509v3 Name Constraints: critical\s+Permitted:\s+DNS:localhost\s+IP:127\.0\.0\.0\/255\.0\.0\.0\s+IP:0:0:0:0:0:0:0:1\//,
    )
    expect(text).toMatch(/X509v3 Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
    expect(text).toMatch(/X509v3 Key Usage: critical\s+Certificate Sign, CRL Sign/)
    expect(text).toMatch(/X509v3 Extended Key Usage:\s+TLS Web Server Authentication\n/)
    expect(textOf(server)).toMatch(/X509v3 Basic Constraints: critical\s+CA:FALSE/)
    expect(textOf(server)).toMatch(/X509v3 Subject Alternative Name:\s+DNS:localhost, IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1/)
  })
})

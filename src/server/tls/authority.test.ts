import { spawn } from 'node:child_process'
import { X509Certificate, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { chmodSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { build } from 'vite'
import { AuthorityError, identify, storedAuthority, temporaryAuthority } from './authority.ts'
import { serverCertificate } from './certificate.ts'
import { scratch } from './tls.fixture.ts'

const NOW_MS = Date.UTC(2026, 10, 22)
const DAY_MS = 86_400_000

/** Every file of a folder with its content. */
function contents(folder: string): Record<string, string> {
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

describe('the authority in its folder', () => {
  test('is created with the folder, with a key of mode 0600, and is the same the next time', () => {
    using place = scratch()
    const folder = join(place.path, 'not', 'there')
    const first = storedAuthority(folder, NOW_MS)
    expect(readdirSync(folder).toSorted()).toEqual(['ca-key.pem', 'ca.pem'])
    expect(first.pem).toBe(readFileSync(join(folder, 'ca.pem'), 'utf8'))
    const before = contents(folder)
    expect(storedAuthority(folder, NOW_MS + 300 * DAY_MS).pem).toBe(first.pem)
    expect(contents(folder)).toEqual(before)
    if (process.platform === 'win32') return
    expect(['ca-key.pem', 'ca.pem'].map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600, 0o644])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  test('is completed if a process ended between writing its two files', () => {
    using place = scratch()
    const { key, pem } = storedAuthority(place.path, NOW_MS)
    rmSync(join(place.path, 'ca.pem'))
    const again = storedAuthority(place.path, NOW_MS)
    expect(again.key.equals(key)).toBe(true)
    expect(again.pem).not.toBe(pem)
    expect(new X509Certificate(again.pem).subject).toBe(new X509Certificate(pem).subject)
  })

  test.each([
    ['before it ends', 3_650 - 427 + 1],
    ['when it has ended', 4_000],
    ['when a clock was put back', -3],
  ])('gets a new certificate with the same key %s', (_, days) => {
    using place = scratch()
    const first = storedAuthority(place.path, NOW_MS)
    const nowMs = NOW_MS + days * DAY_MS
    const later = storedAuthority(place.path, nowMs)
    expect(later.key.equals(first.key)).toBe(true)
    expect(later.pem).not.toBe(first.pem)
    expect(readFileSync(join(place.path, 'ca.pem'), 'utf8')).toBe(later.pem)
    expect(readdirSync(place.path)).toHaveLength(2)
    const [old, renewed] = [new X509Certificate(first.pem), new X509Certificate(later.pem)]
    expect(Date.parse(renewed.validFrom)).toBeLessThan(nowMs)
    expect(Date.parse(renewed.validTo)).toBe(nowMs + 3_650 * DAY_MS)
    // Clients that trust the old certificate accept those that the new one signs, until the old one ends.
    const server = new X509Certificate(identify(later, ['localhost'], nowMs).cert)
    expect([server.checkIssued(old), server.verify(old.publicKey)]).toEqual([true, true])
    expect(storedAuthority(place.path, nowMs).pem).toBe(later.pem)
  })

  test('its certificates end before itself and are renewed before that', () => {
    using place = scratch()
    const nowMs = NOW_MS + (3_650 - 427 - 1) * DAY_MS
    storedAuthority(place.path, NOW_MS)
    const authority = storedAuthority(place.path, nowMs)
    const { cert, renewMs } = identify(authority, ['localhost'], nowMs)
    const endMs = Date.parse(new X509Certificate(cert).validTo)
    expect(endMs).toBe(nowMs + 397 * DAY_MS)
    expect(endMs).toBeLessThan(authority.endMs)
    expect(renewMs).toBe(endMs - 30 * DAY_MS)
  })

  const DAMAGES: readonly (readonly [name: string, file: string, text: (folder: string) => string | null, reason: string])[] = [
    ['an invalid certificate', 'ca.pem', () => 'not a certificate', 'it is not a certificate'],
    ['an empty certificate', 'ca.pem', () => '', 'it is not a certificate'],
    [
      'a truncated certificate',
      'ca.pem',
      (folder) => readFileSync(join(folder, 'ca.pem'), 'utf8').slice(0, 300),
      'it is not a certificate',
    ],
    ['a server certificate', 'ca.pem', serverOf, 'it was not created by pocketchain'],
    [
      'the certificate of another authority',
      'ca.pem',
      () => temporaryAuthority([], NOW_MS).pem,
      'it does not belong to the key in ca-key.pem',
    ],
    ['an invalid key', 'ca-key.pem', () => 'not a key', 'it is not a private key'],
    ['a key of another kind', 'ca-key.pem', otherKind, 'its key is not on the curve P-256'],
    ['a missing key', 'ca-key.pem', () => null, 'it is missing'],
  ]

  test.each(DAMAGES)('%s is reported in one sentence, and nothing is overwritten', (_, name, text, reason) => {
    using place = scratch()
    storedAuthority(place.path, NOW_MS)
    const file = join(place.path, name)
    const damaged = text(place.path)
    if (damaged === null) rmSync(file)
    else writeFileSync(file, damaged)
    const before = contents(place.path)
    for (const nowMs of [NOW_MS, NOW_MS + 4_000 * DAY_MS]) {
      const attempt = () => storedAuthority(place.path, nowMs)
      expect(attempt).toThrow(AuthorityError)
      expect(attempt).toThrow(
        `${file} cannot be used for TLS: ${reason}. Nothing was overwritten; restore it, or remove ca.pem and ca-key.pem to create new ones, ` +
          'or choose another folder with --tls-folder',
      )
    }
    expect(contents(place.path)).toEqual(before)
  })

  test('that cannot be stored is reported with the folder and the option', () => {
    using place = scratch()
    const file = join(place.path, 'file')
    writeFileSync(file, '')
    const attempt = () => storedAuthority(join(file, 'folder'), NOW_MS)
    expect(attempt).toThrow(AuthorityError)
    expect(attempt).toThrow(/^.*file.folder.*--tls-folder$/)
    expect(readFileSync(file, 'utf8')).toBe('')
  })

  test.skipIf(process.platform !== 'linux')('in a folder that is not writable fails with an error instead of endless retries', () => {
    using place = scratch()
    symlinkSync(join(place.path, 'nowhere'), join(place.path, 'link'))
    for (const folder of ['/proc/pocketchain', join(place.path, 'link', 'deep', 'deeper'), join(place.path, 'link')])
      expect(() => storedAuthority(folder, NOW_MS)).toThrow(`cannot be stored in ${folder}: `)
    expect(readdirSync(place.path)).toEqual(['link'])
  })

  test.skipIf(process.platform === 'win32' || process.getuid?.() === 0)('that is not readable fails with an error', () => {
    using place = scratch()
    storedAuthority(place.path, NOW_MS)
    chmodSync(join(place.path, 'ca-key.pem'), 0)
    expect(() => storedAuthority(place.path, NOW_MS)).toThrow(/ca-key\.pem cannot be read: .*--tls-folder$/)
  })
})

describe('a temporary authority', () => {
  test('differs each time', () => {
    const [one, other] = [temporaryAuthority(['192.168.1.5'], NOW_MS), temporaryAuthority(['192.168.1.5'], NOW_MS)]
    expect(one.key.equals(other.key)).toBe(false)
    expect(new X509Certificate(one.pem).ca).toBe(true)
  })
})

describe('several processes that create it at once', () => {
  test('use the same one', async () => {
    using place = scratch()
    const program = await programIn(place.path)
    for (let round = 0; round < 3; round++) {
      const folder = join(place.path, `round ${round}`)
      // All are up before the first begins.
      const processes = Array.from({ length: 8 }, () => started(program, folder))
      await Promise.all(processes.map(({ isUp }) => isUp))
      for (const { go } of processes) go()
      const output = await Promise.all(processes.map(({ end }) => end))
      expect(new Set(output).size, output.join('\n')).toBe(1)
      expect(output[0]).toBe(storedAuthority(folder, Date.now()).pem)
      expect(readdirSync(folder)).toHaveLength(2)
    }
  })
})

/** Of a server, signed by itself. */
function serverOf(folder: string): string {
  const key = createPrivateKey(readFileSync(join(folder, 'ca-key.pem')))
  const validity = { startMs: NOW_MS, endMs: NOW_MS + DAY_MS }
  return serverCertificate({ key, endMs: validity.endMs }, key, ['localhost'], validity)
}

function otherKind(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The module as a program: prints `up`, waits for input, and prints the certificate. */
async function programIn(folder: string): Promise<string> {
  const entry = join(folder, 'entry.ts')
  writeFileSync(
    entry,
    `import { storedAuthority } from ${JSON.stringify(fileURLToPath(new URL('./authority.ts', import.meta.url)))}
     process.stdin.once('data', () => { process.stdout.write(storedAuthority(process.argv[2], Date.now()).pem); process.exit() })
     process.stdout.write('up')`,
  )
  await build({
    configFile: false,
    logLevel: 'silent',
    build: { ssr: entry, outDir: join(folder, 'built'), rolldownOptions: { output: { entryFileNames: 'program.mjs' } } },
  })
  return join(folder, 'built', 'program.mjs')
}

interface Started {
  readonly isUp: Promise<void>
  readonly go: () => void
  /** all that it printed after that */
  readonly end: Promise<string>
}

function started(program: string, folder: string): Started {
  const child = spawn(process.execPath, [program, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return {
    isUp: new Promise((resolve) => child.stdout.once('data', () => resolve())),
    go: () => child.stdin.write('go'),
    end: new Promise((resolve) => child.once('close', () => resolve(output.replace(/^up/, '')))),
  }
}

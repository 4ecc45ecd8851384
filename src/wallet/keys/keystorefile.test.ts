import { execFileSync } from 'node:child_process'
import { chmod, copyFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Secp256k1 } from '../../eth/index.ts'
import type { PrivateKey } from '../../eth/index.ts'
import { KeystoreError } from './keystore.ts'
import { KeystoreFile } from './keystorefile.ts'
import { KEYSTORE_FILES } from '../limits.ts'
import { openKeystore, saveKey } from './openkeystore.ts'

const KEYS: readonly PrivateKey[] = [`0x${'5e'.repeat(32)}`, `0x${'6f'.repeat(32)}`]
const [FIRST] = KEYS as [PrivateKey]
const ADDRESSES = KEYS.map(Secp256k1.address)
const PASSWORD = 'correct horse'
const CHEAP = { cost: 1_024 }

let folder = ''
let directory = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keystore-'))
  directory = join(folder, 'keys')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const error: unknown = await promise.then(
    () => 'it worked',
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(KeystoreError)
  return (error as KeystoreError).reason
}

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8)

describe('a key that is saved', () => {
  it('is a separate file with mode 0600 and the file name that geth uses', async () => {
    const path = await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    expect(await readdir(directory)).toEqual([path.slice(directory.length + 1)])
    expect(path).toMatch(/UTC--\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{9}Z--[0-9a-f]{40}$/)
    expect([await mode(directory), await mode(path)]).toEqual(['700', '600'])
    expect(await readFile(path, 'utf8')).not.toContain('5e5e5e5e')
  })

  it('is saved and opened through the public API with the scrypt cost of geth', async () => {
    await saveKey(directory, FIRST, PASSWORD)
    expect((await openKeystore(directory, PASSWORD)).addresses).toEqual([ADDRESSES[0]])
  })

  it('opens again: the directory with all of its accounts, or one file', async () => {
    const paths: string[] = []
    for (const key of KEYS) paths.push(await KeystoreFile.save(directory, key, PASSWORD, CHEAP))
    expect([...(await KeystoreFile.open(directory, PASSWORD)).addresses].toSorted()).toEqual([...ADDRESSES].toSorted())
    expect((await KeystoreFile.open(paths[1] as string, PASSWORD)).addresses).toEqual([ADDRESSES[1]])
  })

  it('is not saved twice, and nothing is left of a file that cannot be written', async () => {
    await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    expect(await reasonOf(KeystoreFile.save(directory, FIRST, 'another', CHEAP))).toBe('exists')
    expect(await readdir(directory)).toHaveLength(1)
    await expect(KeystoreFile.save(join(folder, 'keys', (await readdir(directory))[0] as string), FIRST, PASSWORD, CHEAP)).rejects.toThrow(
      'EEXIST',
    )
    await expect(KeystoreFile.save(directory, '0x00', PASSWORD, CHEAP)).rejects.toThrow('private key')
    expect(await readdir(directory)).toHaveLength(1)
  })

  it('is opened by cast, and a key of cast opens here', async () => {
    const path = await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    const cast = (...args: readonly string[]): string =>
      execFileSync(join('node_modules', '.bin', 'cast'), args, { encoding: 'utf8' }).trim()
    expect(cast('wallet', 'address', '--keystore', path, '--password', PASSWORD).toLowerCase()).toBe(ADDRESSES[0])
    const theirs = join(folder, 'theirs')
    cast('wallet', 'import', 'mine', '--keystore-dir', theirs, '--private-key', KEYS[1] as string, '--unsafe-password', PASSWORD)
    await chmod(join(theirs, 'mine'), 0o600)
    expect((await KeystoreFile.open(theirs, PASSWORD)).addresses).toEqual([ADDRESSES[1]])
  })
})

describe('what is not opened', () => {
  it('a wrong password is an error that names the file, not the password', async () => {
    const path = await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    const error: unknown = await KeystoreFile.open(directory, 'wrong one').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      reason: 'wrong-password',
      message: `${path} cannot be opened: the password is wrong, or the file is damaged`,
    })
  })

  it.skipIf(process.platform === 'win32').each([0o644, 0o640, 0o604, 0o620])('a file that others may read or write (%o)', async (bits) => {
    const path = await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    await chmod(path, bits)
    expect(await reasonOf(KeystoreFile.open(directory, PASSWORD))).toBe('readable-by-others')
    await expect(KeystoreFile.open(path, PASSWORD)).rejects.toThrow(`chmod 600 ${path}`)
    await chmod(path, 0o600)
    expect((await KeystoreFile.open(path, PASSWORD)).addresses).toEqual([ADDRESSES[0]])
  })

  it('a path where nothing is, a directory without keys, a file that is none', async () => {
    expect(await reasonOf(KeystoreFile.open(directory, PASSWORD))).toBe('not-found')
    expect(await reasonOf(KeystoreFile.open(folder, PASSWORD))).toBe('not-found')
    const other = join(folder, 'notes.txt')
    await writeFile(other, 'not json')
    expect(await reasonOf(KeystoreFile.open(other, PASSWORD))).toBe('malformed')
    expect(await reasonOf(KeystoreFile.open(folder, PASSWORD))).toBe('not-found')
  })

  it('other files beside keys are passed over, and too many are rejected', async () => {
    const path = await KeystoreFile.save(directory, FIRST, PASSWORD, CHEAP)
    await writeFile(join(directory, 'README'), 'my keys')
    await writeFile(join(directory, 'settings.json'), '{"version":3}')
    await writeFile(join(directory, 'large'), 'x'.repeat(100_000))
    await copyFile(path, `${path}.tmp`)
    expect((await KeystoreFile.open(directory, PASSWORD)).addresses).toEqual([ADDRESSES[0]])
    for (let i = 0; i <= KEYSTORE_FILES; i++) await writeFile(join(directory, `file ${i}`), '')
    expect(await reasonOf(KeystoreFile.open(directory, PASSWORD))).toBe('too-many')
  })
})

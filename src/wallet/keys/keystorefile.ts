import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { PrivateKey } from '../../eth/index.ts'
import { Keystore, KeystoreError, SecretStorage } from './keystore.ts'
import type { EncryptOptions } from './keystore.ts'
import { KEYSTORE_FILES, KEYSTORE_FILE_BYTES } from '../limits.ts'

/**
 * Keystore directories in the format of geth and cast: a directory (0700) with one file (0600) for each account, in Web3 Secret Storage version 3
 * with geth's file names. A single file can be opened too. All files of a directory share one password.
 */
export const KeystoreFile = { open: openAt, save }

/**
 * Opens a directory or one file. Other files in the directory are skipped; a directory without keystores is an error. A file that other users may
 * read is refused, because they can try passwords on a copy. Throws KeystoreError.
 */
async function openAt(path: string, password: string): Promise<Keystore> {
  const found = await statOf(path)
  const paths = found.isDirectory() ? await filesOf(path) : [path]
  const files: { name: string; json: unknown }[] = []
  for (const each of paths) {
    const json = await readStorage(each)
    if (json !== undefined) files.push({ name: each, json })
    else if (!found.isDirectory()) throw new KeystoreError('malformed', `${each} cannot be opened: it is no keystore file`)
  }
  if (files.length === 0) throw new KeystoreError('not-found', `${path} holds no keystore file`)
  return Keystore.open(files, password)
}

/**
 * Adds a key to the directory, which is created if necessary, and returns the path of the new file. A file that cannot be written completely is
 * removed. Throws KeystoreError `exists` for an account of the directory, and DecodeError for an invalid key.
 */
async function save(directory: string, privateKey: PrivateKey, password: string, options: EncryptOptions = {}): Promise<string> {
  const storage = await SecretStorage.encrypt(privateKey, password, options)
  const address = storage.address as string // `encrypt` sets it
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const existing = (await filesOf(directory)).find((path) => path.toLowerCase().endsWith(`--${address}`))
  if (existing !== undefined) throw new KeystoreError('exists', `the account 0x${address} is kept already, in ${existing}`)
  const path = join(directory, nameOf(address, new Date()))
  await writeWhole(path, `${JSON.stringify(storage)}\n`)
  return path
}

/** `UTC--2026-11-21T22-31-38.000000000Z--<address>`: as in geth, with dashes for colons, which some file systems refuse. */
function nameOf(address: string, now: Date): string {
  const time = now.toISOString().replaceAll(':', '-').replace('Z', '000000Z')
  return `UTC--${time}--${address}`
}

async function writeWhole(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function filesOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !entry.name.endsWith('.tmp'))
  if (files.length <= KEYSTORE_FILES) return files.map(({ name }) => join(directory, name)).toSorted()
  throw new KeystoreError('too-many', `${directory} holds ${files.length} files, at most ${KEYSTORE_FILES} are opened; name one of them`)
}

/** Returns undefined for a file that is not a keystore. Throws KeystoreError for one that other users may read. */
async function readStorage(path: string): Promise<unknown> {
  const file = await open(path, 'r')
  try {
    // Reads the mode of the open file, which cannot be replaced in between.
    const { mode, size } = await file.stat()
    if (size > KEYSTORE_FILE_BYTES) return undefined
    const json = parsed(await file.readFile('utf8'))
    if (json !== undefined) assertPrivate(path, mode)
    return json
  } finally {
    await file.close()
  }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    const isStorage = typeof value === 'object' && value !== null && 'version' in value && ('crypto' in value || 'Crypto' in value)
    return isStorage ? value : undefined
  } catch {
    return undefined
  }
}

/** Windows has no such bits; there the access list of the user's profile applies. */
function assertPrivate(path: string, mode: number): void {
  if (process.platform === 'win32' || (mode & 0o077) === 0) return
  const bits = (mode & 0o777).toString(8)
  throw new KeystoreError('readable-by-others', `${path} may be read by other users (mode ${bits}); make it yours alone: chmod 600 ${path}`)
}

async function statOf(path: string) {
  try {
    return await stat(path)
  } catch (error) {
    const { code } = error as { code?: unknown } // node:fs sets it
    throw new KeystoreError('not-found', `${path} cannot be read (${String(code)})`)
  }
}

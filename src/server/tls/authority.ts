import type { KeyObject } from 'node:crypto'
import { X509Certificate, createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { authorityCertificate, authorityName, serverCertificate } from './certificate.ts'
import type { Issuer } from './certificate.ts'

/** A certificate authority. Clients that trust it accept the certificates that it signs. */
export interface Authority extends Issuer {
  /** its own certificate, PEM */
  readonly pem: string
}

/** Certificate and key of a server. */
interface Identity {
  /** PEM; the certificate of the authority follows, for clients that identify it by its key (Chromium's --ignore-certificate-errors-spki-list) */
  readonly cert: string
  readonly key: string
  /** Unix milliseconds, when the certificate is to be replaced */
  readonly renewMs: number
}

/** All of loopback; `localhost` includes the names below it. */
export const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.0/8', '::1']

const DAY_MS = 86_400_000
/** Long, because users add it to trust stores manually. */
const AUTHORITY_MS = 3_650 * DAY_MS
/** Browsers accept at most 398 days. */
const SERVER_MS = 397 * DAY_MS
const RENEWED_BEFORE_MS = 30 * DAY_MS
/** Allows for clock differences between machines. */
const BACKDATED_MS = DAY_MS

/**
 * Returns the authority stored in a folder, limited to loopback. Missing files are created, and the certificate is renewed with the same key before it
 * ends: clients that trust the old one trust the new one. Throws AuthorityError for unusable files, which are not changed.
 */
export function storedAuthority(folder: string, nowMs: number): Authority {
  const files = new AuthorityFiles(folder)
  // In this order: the certificate is written last, so where there is one there is a key.
  const found = files.read(CERTIFICATE)
  const foundKey = files.read(KEY)
  if (found !== null && foundKey === null) throw files.damage(KEY, 'it is missing')
  const key = files.key(foundKey ?? files.first(KEY, newKeyText(), 0o600))
  const pem = found ?? files.first(CERTIFICATE, newCertificate(key, nowMs), 0o644)
  const certificate = files.certificate(pem, key)
  const endMs = Date.parse(certificate.validTo)
  const isCurrent = Date.parse(certificate.validFrom) <= nowMs && nowMs < endMs - SERVER_MS - RENEWED_BEFORE_MS
  if (isCurrent) return { key, pem, endMs }
  const renewed = newCertificate(key, nowMs)
  files.replace(CERTIFICATE, renewed, 0o644)
  return { key, pem: renewed, endMs: nowMs + AUTHORITY_MS }
}

/** Returns a new authority in memory, for loopback and `names`. */
export function temporaryAuthority(names: readonly string[], nowMs: number): Authority {
  const key = newKey()
  return { key, pem: newCertificate(key, nowMs, names), endMs: nowMs + AUTHORITY_MS }
}

/** Returns a new key for a server and its certificate. */
export function identify(authority: Authority, names: readonly string[], nowMs: number): Identity {
  const key = newKey()
  const endMs = nowMs + SERVER_MS
  const cert = serverCertificate(authority, key, names, { startMs: nowMs - BACKDATED_MS, endMs })
  return { cert: cert + authority.pem, key: keyText(key), renewMs: endMs - RENEWED_BEFORE_MS }
}

function newCertificate(key: KeyObject, nowMs: number, names: readonly string[] = []): string {
  return authorityCertificate(key, [...LOOPBACK_NAMES, ...names], { startMs: nowMs - BACKDATED_MS, endMs: nowMs + AUTHORITY_MS })
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: CURVE }).privateKey
}

function newKeyText(): string {
  return keyText(newKey())
}

function keyText(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const CURVE = 'prime256v1'
const CERTIFICATE = 'ca.pem'
const KEY = 'ca-key.pem'

/** The two files of an authority. Each is written to a temporary file and then linked or renamed. */
class AuthorityFiles {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Returns null if the file does not exist. */
  read(name: string): string | null {
    try {
      return readFileSync(this.#path(name), 'utf8')
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null
      throw this.#folderError(`${this.#path(name)} cannot be read`, error)
    }
  }

  key(text: string): KeyObject {
    const key = attempt(() => createPrivateKey(text))
    if (key === null) throw this.damage(KEY, 'it is not a private key')
    if (key.asymmetricKeyDetails?.namedCurve !== CURVE) throw this.damage(KEY, 'its key is not on the curve P-256')
    return key
  }

  certificate(pem: string, key: KeyObject): X509Certificate {
    const certificate = attempt(() => new X509Certificate(pem))
    if (certificate === null) throw this.damage(CERTIFICATE, 'it is not a certificate')
    if (!certificate.checkPrivateKey(key)) throw this.damage(CERTIFICATE, `it does not belong to the key in ${KEY}`)
    const isOurs = certificate.ca && certificate.subject.endsWith(`CN=${authorityName(key)}`)
    if (!isOurs) throw this.damage(CERTIFICATE, 'it was not created by pocketchain')
    return certificate
  }

  /** Creates the file. Returns its content: `text`, unless another process was first. */
  first(name: string, text: string, mode: number): string {
    this.#write(name, text, mode, (temporary, path) => {
      try {
        linkSync(temporary, path)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      } finally {
        rmSync(temporary)
      }
    })
    return this.read(name) ?? text
  }

  replace(name: string, text: string, mode: number): void {
    this.#write(name, text, mode, renameSync)
  }

  damage(name: string, reason: string): AuthorityError {
    return new AuthorityError(
      `${this.#path(name)} cannot be used for TLS: ${reason}. Nothing was overwritten; restore it, or remove ${CERTIFICATE} and ${KEY} ` +
        `to create new ones, or choose another folder with --tls-folder`,
    )
  }

  #write(name: string, text: string, mode: number, settle: (temporary: string, path: string) => void): void {
    const path = this.#path(name)
    const temporary = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      makeFolder(this.#folder)
      writeThrough(temporary, text, mode)
      settle(temporary, path)
    } catch (error) {
      rmSync(temporary, { force: true })
      throw this.#folderError(`the certificates for TLS cannot be stored in ${this.#folder}`, error)
    }
  }

  #folderError(what: string, cause: unknown): AuthorityError {
    const reason = cause instanceof Error ? cause.message : String(cause)
    return new AuthorityError(`${what}: ${reason}. Choose a folder that can be read and written with --tls-folder`, { cause })
  }

  #path(name: string): string {
    return join(this.#folder, name)
  }
}

/**
 * Creates a folder and its parents. `mkdirSync` with `recursive` loops for ever and blocks the process below a folder that exists but in which creating
 * an entry fails with ENOENT: /proc, or a dangling symbolic link.
 */
function makeFolder(path: string, mayGoUp = true): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    const code = codeOf(error)
    if (code === 'EEXIST') return
    const above = dirname(path)
    if (code !== 'ENOENT' || !mayGoUp || above === path) throw error
    makeFolder(above)
    makeFolder(path, false)
  }
}

/** Flushed before it is renamed, so that a crash of the machine leaves no empty file under its name. */
function writeThrough(path: string, text: string, mode: number): void {
  const file = openSync(path, 'wx', mode)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Returns null if `work` throws. */
function attempt<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    return null
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : null
}

/** The certificates for TLS are missing and cannot be created, or cannot be read. */
export class AuthorityError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AuthorityError'
  }
}

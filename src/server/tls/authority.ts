import type { KeyObject } from 'node:crypto'
import { X509Certificate, createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { authorityCertificate, authorityName, serverCertificate } from './certificate.ts'
import type { Issuer } from './certificate.ts'

/** Who vouches for this server: clients that trust it accept the certificates it signs. */
export interface Authority extends Issuer {
  /** its own certificate, PEM */
  readonly pem: string
}

/** What a server shows. */
export interface Identity {
  /** PEM; the authority's follows, so that it can be named by its key (Chromium's --ignore-certificate-errors-spki-list) */
  readonly cert: string
  readonly key: string
  /** Unix milliseconds; another one takes its place from then on */
  readonly renewMs: number
}

/** All of loopback: `localhost` stands for the names below it, too. */
export const LOOPBACK_NAMES: readonly string[] = ['localhost', '127.0.0.0/8', '::1']

const DAY_MS = 86_400_000
/** People make a browser trust it by hand, so it lasts. */
const AUTHORITY_MS = 3_650 * DAY_MS
/** Browsers take no more of one that is not made by hand: 398 days. */
const SERVER_MS = 397 * DAY_MS
const RENEWED_BEFORE_MS = 30 * DAY_MS
/** The clocks of two machines differ. */
const BACKDATED_MS = DAY_MS

/**
 * The authority kept in a folder, for loopback alone. What is missing is made, and the certificate is renewed, with the same key, before it
 * ends: clients that trust the old one trust the new one. Throws AuthorityError for files that cannot be used, which stay as they are.
 */
export function keptAuthority(folder: string, nowMs: number): Authority {
  const kept = new Kept(folder)
  // In this order: the certificate is written last, so where there is one there is a key.
  const found = kept.read(CERTIFICATE)
  const foundKey = kept.read(KEY)
  if (found !== null && foundKey === null) throw kept.damage(KEY, 'it is missing')
  const key = kept.key(foundKey ?? kept.first(KEY, newKeyText(), 0o600))
  const pem = found ?? kept.first(CERTIFICATE, newCertificate(key, nowMs), 0o644)
  const certificate = kept.certificate(pem, key)
  const endMs = Date.parse(certificate.validTo)
  const isFresh = Date.parse(certificate.validFrom) <= nowMs && nowMs < endMs - SERVER_MS - RENEWED_BEFORE_MS
  if (isFresh) return { key, pem, endMs }
  const renewed = newCertificate(key, nowMs)
  kept.replace(CERTIFICATE, renewed, 0o644)
  return { key, pem: renewed, endMs: nowMs + AUTHORITY_MS }
}

/** An authority that ends with the process and is kept nowhere, for loopback and `names`. */
export function passingAuthority(names: readonly string[], nowMs: number): Authority {
  const key = newKey()
  return { key, pem: newCertificate(key, nowMs, names), endMs: nowMs + AUTHORITY_MS }
}

/** A new key for a server and its certificate. */
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

/** The two files of an authority. Each is written whole beside its place and put there at once. */
class Kept {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** null: there is none */
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
    if (key === null) throw this.damage(KEY, 'it is no private key')
    if (key.asymmetricKeyDetails?.namedCurve !== CURVE) throw this.damage(KEY, 'its key is not on the curve P-256')
    return key
  }

  certificate(pem: string, key: KeyObject): X509Certificate {
    const certificate = attempt(() => new X509Certificate(pem))
    if (certificate === null) throw this.damage(CERTIFICATE, 'it is no certificate')
    if (!certificate.checkPrivateKey(key)) throw this.damage(CERTIFICATE, `it does not belong to the key in ${KEY}`)
    const isOurs = certificate.ca && certificate.subject.endsWith(`CN=${authorityName(key)}`)
    if (!isOurs) throw this.damage(CERTIFICATE, 'it is not one that pocketchain made')
    return certificate
  }

  /** What stands in the file: `text`, unless another process was first. */
  first(name: string, text: string, mode: number): string {
    this.#write(name, text, mode, (fresh, path) => {
      try {
        linkSync(fresh, path)
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
      } finally {
        rmSync(fresh)
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

  #write(name: string, text: string, mode: number, settle: (fresh: string, path: string) => void): void {
    const path = this.#path(name)
    const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
    try {
      makeFolder(this.#folder)
      writeThrough(fresh, text, mode)
      settle(fresh, path)
    } catch (error) {
      rmSync(fresh, { force: true })
      throw this.#folderError(`the certificates for TLS cannot be kept in ${this.#folder}`, error)
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

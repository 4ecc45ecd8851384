import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { CODE, RpcError, schema } from '../../jsonrpc/index.ts'
import type { Schema } from '../../jsonrpc/index.ts'
import { METHOD_CLASSES, QuotaError } from '../../rpc/index.ts'
import type { MethodClass, Quota } from '../../rpc/index.ts'
import { API_KEYS, API_KEYS_FILE_BYTES, API_KEYS_POLL_MS, API_KEY_CHARS, API_KEY_NAME_CHARS, LIMITED_ADDRESSES } from '../limits.ts'

const { arrayOf, atLeast, integer, maybe, nullable, oneOf, refused, shortText, strictObject, time } = schema

/** Name and limits of a client. */
interface Limits {
  /** name in metrics and messages */
  readonly name: string
  readonly requestsPerSecond: number
  /** requests that may arrive together */
  readonly burst: number
  readonly methods: ReadonlySet<MethodClass>
  /** Unix seconds; null: no end */
  readonly until: number | null
}

interface KeysFile {
  /** null: a request needs a key */
  readonly anonymous: Limits | null
  /** limits by the SHA-256 of the key, so that the duration of a look-up does not depend on the keys */
  readonly keys: ReadonlyMap<string, Limits>
}

/** Requests and refusals of one key, of `anonymous`, or of `unknown` for keys that are not in the file. */
interface KeyCounts {
  requests: number
  readonly refusals: { rate: number; method: number; key: number }
}

interface ApiKeysDeps {
  /** milliseconds of a monotonic clock */
  readonly now: () => number
  /** Unix time, milliseconds */
  readonly timeMs: () => number
  /** receives one line for each change of the file */
  readonly onNote: (line: string) => void
}

/** A file of keys that cannot be read, or has a wrong value. */
export class ApiKeysError extends Error {
  override readonly name = 'ApiKeysError'
}

/**
 * API keys of the public tier: rate limits and method classes by key. The file is read again when it changes; the state of a limit survives that. A
 * quota looks its key up at each request, so that open connections follow the file too.
 */
export class ApiKeys {
  readonly #path: string
  readonly #deps: ApiKeysDeps
  readonly #counts = new Map<string, KeyCounts>()
  /** token buckets, by the name of a key, or by `anonymous` and the IP address */
  readonly #buckets = new Map<string, Bucket>()
  readonly #timer: ReturnType<typeof setInterval>
  #file: KeysFile
  /** size and times of the file when it was last read */
  #stamp: string

  /** Throws ApiKeysError. */
  constructor(path: string, deps: ApiKeysDeps) {
    this.#path = path
    this.#deps = deps
    // Before the file is read, so that no change is missed.
    this.#stamp = stampOf(path)
    this.#file = read(path)
    this.#timer = setInterval(() => this.#look(), API_KEYS_POLL_MS).unref()
  }

  get counts(): ReadonlyMap<string, KeyCounts> {
    return this.#counts
  }

  /** The quota of a request. `pathKey`: the path after `/public/`; `address`: of a client without a key. */
  quotaOf(headers: IncomingHttpHeaders, pathKey: string | null, address: string): Quota {
    const key = pathKey ?? keyOf(headers)
    if (key === null) return { admit: (method, methodClass) => this.#admitAnonymous(address, method, methodClass) }
    const digest = key.length > API_KEY_CHARS ? '' : digestOf(key)
    return { admit: (method, methodClass) => this.#admitKey(digest, method, methodClass) }
  }

  /** True for a request without a key in its headers. The limit of its IP address then applies. */
  isAnonymous(headers: IncomingHttpHeaders): boolean {
    return keyOf(headers) === null
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #admitAnonymous(address: string, method: string, methodClass: MethodClass | null): void {
    const { anonymous } = this.#file
    if (anonymous === null) {
      const message = 'an API key is required: send it as the header x-api-key or Authorization: Bearer, or use the path /public/KEY'
      throw this.#refused('anonymous', 'key', new QuotaError(CODE.unauthorized, message, { status: 401 }))
    }
    this.#admit(anonymous, `anonymous ${address}`, method, methodClass)
  }

  #admitKey(digest: string, method: string, methodClass: MethodClass | null): void {
    const limits = this.#file.keys.get(digest)
    if (limits === undefined) {
      const message = 'the API key is unknown here, or was removed: ask the operator of this node for another'
      throw this.#refused('unknown', 'key', new QuotaError(CODE.unauthorized, message, { status: 401 }))
    }
    const { name, until } = limits
    if (until !== null && this.#deps.timeMs() >= until * 1_000) {
      const message = `the API key "${name}" ended at ${new Date(until * 1_000).toISOString()}: ask the operator of this node for another`
      throw this.#refused(name, 'key', new QuotaError(CODE.unauthorized, message, { status: 401 }))
    }
    this.#admit(limits, `key ${name}`, method, methodClass)
  }

  #admit(limits: Limits, bucketName: string, method: string, methodClass: MethodClass | null): void {
    const { name, requestsPerSecond, methods } = limits
    const retryAfterMs = this.#bucket(bucketName, limits).take(limits, this.#deps.now())
    if (retryAfterMs > 0) {
      const message = `${whose(name)} more than ${requestsPerSecond} requests per second: repeat it after ${retryAfterMs} ms`
      throw this.#refused(name, 'rate', new QuotaError(CODE.limitExceeded, message, { status: 429, retryAfterMs }))
    }
    if (methodClass !== null && !methods.has(methodClass)) {
      const message = `${whose(name)} no methods of class ${methodClass}, such as ${method}: it has ${[...methods].join(', ')}`
      throw this.#refused(name, 'method', new QuotaError(CODE.methodNotSupported, message, { status: 403 }))
    }
    this.#countsOf(name).requests++
  }

  #refused(name: string, reason: keyof KeyCounts['refusals'], error: QuotaError): QuotaError {
    this.#countsOf(name).refusals[reason]++
    return error
  }

  #countsOf(name: string): KeyCounts {
    let counts = this.#counts.get(name)
    if (counts === undefined) this.#counts.set(name, (counts = { requests: 0, refusals: { rate: 0, method: 0, key: 0 } }))
    return counts
  }

  /** The one that was used least recently is dropped first: it is the likeliest to be full. */
  #bucket(name: string, { burst }: Limits): Bucket {
    const bucket = this.#buckets.get(name) ?? new Bucket(burst, this.#deps.now())
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size > API_KEYS + LIMITED_ADDRESSES) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest)
        break
      }
    }
    return bucket
  }

  #look(): void {
    const stamp = stampOf(this.#path)
    if (stamp === this.#stamp) return
    this.#stamp = stamp
    const { onNote } = this.#deps
    try {
      this.#file = read(this.#path)
      onNote(`read ${this.#path} again: ${this.#file.keys.size} API keys`)
    } catch (error) {
      if (!(error instanceof ApiKeysError)) throw error
      onNote(`${this.#path} ${error.message}; the API keys from before stay in force`)
    }
  }
}

/** Differs after each change of the file, or of the reason for which there is none; `read` throws that reason. */
function stampOf(path: string): string {
  try {
    const { ino, size, mtimeNs } = statSync(path, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  } catch (error) {
    return String(error)
  }
}

/** A token bucket. */
class Bucket {
  #tokens: number
  #atMs: number

  constructor(tokens: number, nowMs: number) {
    this.#tokens = tokens
    this.#atMs = nowMs
  }

  /** Takes one token. Returns 0, or the milliseconds until there is one. */
  take({ requestsPerSecond, burst }: Limits, nowMs: number): number {
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) * requestsPerSecond) / 1_000)
    this.#atMs = nowMs
    if (this.#tokens >= 1) {
      this.#tokens--
      return 0
    }
    return Math.ceil(((1 - this.#tokens) * 1_000) / requestsPerSecond)
  }
}

function whose(name: string): string {
  return name === ANONYMOUS ? 'a client without an API key has' : `the API key "${name}" has`
}

/** Returns null without a key. */
function keyOf({ 'x-api-key': header, authorization }: IncomingHttpHeaders): string | null {
  if (typeof header === 'string') return header
  return /^Bearer +(.+)$/i.exec(authorization ?? '')?.[1] ?? null
}

function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

// --- the file -------------------------------------------------------------------------------------------------------

const ANONYMOUS = 'anonymous'
const MAX_RATE = 1_000_000

/** Below one for fewer than one request per second. */
const rate: Schema<number> = {
  json: { type: 'number', exclusiveMinimum: 0, maximum: MAX_RATE },
  parse: (value, path) => {
    if (typeof value === 'number' && value > 0 && value <= MAX_RATE) return value
    throw refused(path, `must be a number above 0, at most ${MAX_RATE}`)
  },
}

const LIMITS = {
  requestsPerSecond: rate,
  burst: maybe(atLeast(1, integer)),
  methods: maybe(arrayOf(oneOf(...METHOD_CLASSES), METHOD_CLASSES.length)),
}

const sha256 = {
  json: { title: 'SHA-256 of a key', type: 'string', pattern: '^[0-9a-f]{64}$' },
  parse: (value: unknown, path: string): string => {
    if (typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value)) return value.toLowerCase()
    throw refused(path, 'must be the SHA-256 of the key: 64 hex digits (printf %s KEY | sha256sum)')
  },
}

/** Unknown names are refused: a misspelt limit would not limit anything. */
const FILE = strictObject({
  anonymous: maybe(nullable(strictObject(LIMITS))),
  keys: arrayOf(
    strictObject({
      name: shortText(API_KEY_NAME_CHARS),
      key: maybe(shortText(API_KEY_CHARS)),
      sha256: maybe(sha256),
      until: maybe(time),
      ...LIMITS,
    }),
    API_KEYS,
  ),
})

/** Throws ApiKeysError. */
function read(path: string): KeysFile {
  try {
    const { size } = statSync(path)
    if (size > API_KEYS_FILE_BYTES) throw new ApiKeysError(`has ${size} bytes, more than ${API_KEYS_FILE_BYTES}`)
    return parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (error instanceof ApiKeysError) throw error
    if (error instanceof RpcError) throw new ApiKeysError(`is not valid: ${error.message.replace(/^invalid /, '')}`)
    // The text of a syntax error may contain a part of the file.
    if (error instanceof SyntaxError) throw new ApiKeysError('is not JSON')
    throw new ApiKeysError(`cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function parse(value: unknown): KeysFile {
  const { anonymous, keys } = FILE.parse(value, 'file')
  const byDigest = new Map<string, Limits>()
  const names = new Set<string>([ANONYMOUS, 'unknown'])
  for (const [i, { name, key, sha256: given, until = null, ...limits }] of keys.entries()) {
    const path = `file.keys[${i}]`
    if (names.has(name)) throw refused(`${path}.name`, `"${name}" is taken`)
    if ((key === undefined) === (given === undefined)) throw refused(path, 'must have either key or sha256')
    const digest = given ?? digestOf(key ?? '')
    if (byDigest.has(digest)) throw refused(path, 'has the key of another name')
    names.add(name)
    byDigest.set(digest, limitsOf(name, limits, until))
  }
  return { anonymous: anonymous === undefined || anonymous === null ? null : limitsOf(ANONYMOUS, anonymous, null), keys: byDigest }
}

interface GivenLimits {
  readonly requestsPerSecond: number
  readonly burst: number | undefined
  readonly methods: readonly MethodClass[] | undefined
}

function limitsOf(name: string, { requestsPerSecond, burst, methods }: GivenLimits, until: number | null): Limits {
  return { name, requestsPerSecond, burst: burst ?? Math.max(1, requestsPerSecond), methods: new Set(methods ?? METHOD_CLASSES), until }
}

import type { IncomingHttpHeaders } from 'node:http'
import type { Coding } from '../rpc/index.ts'

/** What a request wants a large answer compressed with. */
export interface Ask {
  /** null: not at all */
  readonly coding: Coding | null
  /** it is no wish of anybody's on this machine, only what the client's library always says */
  readonly isHabit: boolean
}

export const NO_ASK: Ask = { coding: null, isHabit: false }

/** Reads Accept-Encoding (RFC 9110, 12.5.3). Without it nothing is compressed: no client of JSON-RPC would expect it. */
export function askOf(headers: Readonly<Record<string, string>> | IncomingHttpHeaders): Ask {
  const accepted = headers['accept-encoding']
  if (typeof accepted !== 'string') return NO_ASK
  const isRelayed = RELAYED.some((name) => headers[name] !== undefined)
  return { coding: bestOf(accepted), isHabit: HABITS.has(accepted) && !isRelayed }
}

/** Null: as it is. `remoteAddress` is asked for when it matters: it is the kernel's to say. */
export function codingFor({ coding, isHabit }: Ask, peer: { readonly remoteAddress?: string | undefined }): Coding | null {
  return coding !== null && isHabit && isLoopback(peer.remoteAddress) ? null : coding
}

/**
 * What fetch of Node 20, 22 and 24 (the first; Chrome and Firefox, too, to a host that is not this one), Chrome and Firefox to localhost (the
 * last) and Safari send with every request, asked or not. Between two processes of one machine compressing only takes time: gzip at its
 * fastest makes 440 MB a second, loopback moves five times that. Other clients mean what they say.
 */
const HABITS: ReadonlySet<string> = new Set(['gzip, deflate', 'gzip, deflate, br', 'gzip, deflate, br, zstd'])

/** Set by proxies: the client is somewhere else, though the connection comes from here. */
const RELAYED: readonly string[] = ['x-forwarded-for', 'forwarded', 'via']

/** Of the same weight, the one named first here. */
const OURS: readonly (readonly [coding: Coding | 'identity', names: readonly string[]])[] = [
  ['br', ['br', '*']],
  ['gzip', ['gzip', 'x-gzip', '*']],
  ['identity', ['identity']],
]

function bestOf(accepted: string): Coding | null {
  const weights = weightsOf(accepted)
  let best: Coding | 'identity' = 'identity'
  let most = 0
  for (const [coding, names] of OURS) {
    const name = names.find((name) => weights.has(name))
    const weight = name === undefined ? 0 : (weights.get(name) ?? 0)
    if (weight > most) [best, most] = [coding, weight]
  }
  return best === 'identity' ? null : best
}

/** What is no weight counts as none: the coding is not taken. */
function weightsOf(accepted: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const item of accepted.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim())
    if (name !== '') weights.set(name, weightOf(parameters))
  }
  return weights
}

function weightOf(parameters: readonly string[]): number {
  const [given = 'q=1'] = parameters
  return WEIGHT.test(given) ? Number(given.slice(2)) : 0
}

const WEIGHT = /^q=(0(\.\d{0,3})?|1(\.0{0,3})?)$/

function isLoopback(peer: string | undefined): boolean {
  return peer !== undefined && (peer === '::1' || peer.startsWith('127.') || peer.startsWith('::ffff:127.'))
}

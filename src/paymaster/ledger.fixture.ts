import { Address, ENTRY_POINTS, Hash } from '../eth/index.ts'
import { memoryRecords } from '../jsonrpc/index.ts'
import type { Records } from '../jsonrpc/index.ts'
import type { Charge, Entry, Ledger, Terms } from './ledger.ts'
import { parsePolicies } from './policyschema.ts'
import type { PolicyInput, Policy } from './policy.ts'

export const CHAIN = 31_337
/** The chain's clock: some noon. */
export const NOON = Date.parse('2026-06-01T12:00:00Z') / 1_000
export const DAY = 86_400
export const PAYMASTER = Address.from(`0x${'aa'.repeat(20)}`)
export const FOREIGN = Address.from(`0x${'ff'.repeat(20)}`)

export const account = (n: number): Address => Address.fromBigint(0x5e00n + BigInt(n))
export const hashOf = (text: string): Hash => Hash.ofText(text)
/** Block `number` of the fork `fork`. */
export const block = (number: number, fork = 0): Hash => hashOf(`block ${number} of ${fork}`)

export function policyOf(limits: object = {}): readonly Policy[] {
  return parsePolicies([{ name: 'p', ...limits }])
}

export function input(over: Partial<PolicyInput> = {}): PolicyInput {
  return {
    chainId: CHAIN,
    version: '0.8',
    entryPoint: ENTRY_POINTS['0.8'],
    sender: account(1),
    nonce: 0n,
    calls: [],
    unreadable: null,
    apiKey: null,
    maxCost: 10n,
    now: NOON,
    policy: null,
    ...over,
  }
}

export function terms(over: Partial<Terms> = {}): Terms {
  return { paymaster: PAYMASTER, validUntil: NOON + 300, userOpHash: null, maxFeePerGas: 3n, maxPriorityFeePerGas: 1n, ...over }
}

export interface At {
  readonly cost?: bigint
  readonly number?: number
  readonly fork?: number
  /** false for the block under construction */
  readonly isSealed?: boolean
}

export function charge(entry: Pick<Entry, 'entryPoint' | 'sender' | 'nonce'>, at: At = {}, over: Partial<Charge> = {}): Charge {
  const { cost = 4n, number = 7, fork = 0, isSealed = true } = at
  const { entryPoint, sender, nonce } = entry
  return {
    entryPoint,
    sender,
    nonce,
    paymaster: PAYMASTER,
    userOpHash: hashOf(`operation of ${sender} ${nonce}`),
    success: true,
    cost,
    gasUsed: 2n,
    place: {
      blockNumber: number,
      blockHash: isSealed ? block(number, fork) : null,
      transactionHash: hashOf(`bundle of ${sender} ${nonce} on ${fork}`),
    },
    ...over,
  }
}

/** Reserves; throws the reason of a refusal. */
export function granted(ledger: Ledger, policies: readonly Policy[], over: Partial<PolicyInput> = {}, signed: Partial<Terms> = {}): Entry {
  const reservation = ledger.reserve(policies, input(over), terms(signed))
  if (!reservation.isGranted) throw new Error(`refused: ${reservation.message}`)
  return reservation.entry
}

/** The state of a ledger as comparable text. Pre-confirmed entries count as reserved, because they are in memory only. */
export function pictureOf(ledger: Ledger, policies: readonly Policy[], now: number): string {
  const { reserved, included, ...counts } = ledger.counts
  const budgets = policies.map((policy) => [policy.name, ledger.budget(policy, now)])
  const users = policies.flatMap((policy) =>
    [1, 2, 3].map((n) => [
      policy.name,
      n,
      ledger.decide([onlyPerUser(policy)], input({ sender: account(n), nonce: 99n, maxCost: 2n ** 255n, now })),
    ]),
  )
  const picture = { counts: { ...counts, open: reserved + included }, totals: ledger.totals, budgets, users }
  return JSON.stringify(picture, (_, value: unknown) => (typeof value === 'bigint' ? `${value} wei` : value))
}

/** Reads the remaining budget of an account from a refusal. */
function onlyPerUser({ name, perUser }: Policy): Policy {
  const [policy] = parsePolicies([{ name, perUser: perUser ?? 2n ** 254n }])
  return policy as Policy // one in, one out
}

/** Records with a log of all puts. */
export function loggedRecords(): Records & { readonly puts: (readonly [key: string, value: Uint8Array | null])[] } {
  const records = memoryRecords()
  const puts: (readonly [string, Uint8Array | null])[] = []
  return {
    ...records,
    puts,
    put: (key, value) => {
      puts.push([key, value])
      records.put(key, value)
    },
  }
}

/** Returns the records after the first `count` puts. */
export function recordsAfter(puts: readonly (readonly [key: string, value: Uint8Array | null])[], count: number): Records {
  const records = memoryRecords()
  for (const [key, value] of puts.slice(0, count)) records.put(key, value)
  return records
}

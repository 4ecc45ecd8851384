import { Address, Hex, sha256 } from '../eth/index.ts'
import type { InnerCall } from './calls.ts'
import { API_KEY_CHARS, POLICY_NAME_CHARS } from './limits.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

/** A policy in JSON. An absent field is not limited. */
export interface PolicyJson {
  readonly name: string
  readonly chains?: readonly number[]
  readonly entryPoints?: readonly string[]
  /** the permitted calls of the account. `selectors`: `transfer(address,uint256)`, `0xa9059cbb`, or `none` for plain ether */
  readonly contracts?: readonly { readonly address: string; readonly selectors?: readonly string[] }[]
  readonly senders?: readonly string[]
  /** the request must carry one of them */
  readonly apiKeys?: readonly string[]
  /** wei, as decimal or 0x text or as bigint */
  readonly perOperation?: string | bigint
  readonly perUser?: string | bigint
  /** per UTC day of the chain's clock */
  readonly perDay?: string | bigint
  readonly total?: string | bigint
  /** ISO 8601, or Unix time in seconds: the policy ends then */
  readonly until?: string | number
}

/** The fields of a policy as results show them: the number of API keys instead of the keys, amounts in wei as quantities. */
export interface PolicyFields {
  readonly name: string
  readonly chains?: readonly number[]
  readonly entryPoints?: readonly string[]
  readonly contracts?: readonly { readonly address: string; readonly selectors?: readonly string[] }[]
  readonly senders?: readonly string[]
  readonly apiKeys?: number
  readonly perOperation?: string
  readonly perUser?: string
  readonly perDay?: string
  readonly total?: string
  /** Unix time, seconds */
  readonly until?: number
}

export interface Policy {
  readonly name: string
  readonly chains: ReadonlySet<number> | null
  readonly entryPoints: ReadonlySet<Address> | null
  readonly contracts: readonly PolicyContract[] | null
  readonly senders: ReadonlySet<Address> | null
  /** sha-256 of each key; the keys are not kept */
  readonly apiKeys: readonly Uint8Array[] | null
  /** wei */
  readonly perOperation: bigint | null
  readonly perUser: bigint | null
  readonly perDay: bigint | null
  readonly total: bigint | null
  /** Unix time, seconds */
  readonly until: number | null
}

export interface PolicyContract {
  readonly address: Address
  /** texts as configured, by selector; PLAIN for ether without data; `null` for any */
  readonly selectors: ReadonlyMap<string, string> | null
}

export const PLAIN = 'none'

/** Sponsors every operation. */
export const DEFAULT_POLICIES: readonly PolicyJson[] = [{ name: 'everything' }]

/** Machine-readable cause of a refusal. */
export type Reason =
  | 'policy'
  | 'chain'
  | 'entry-point'
  | 'sender'
  | 'api-key'
  | 'ended'
  | 'unreadable-calls'
  | 'contract'
  | 'per-operation'
  | 'per-user'
  | 'per-day'
  | 'total'
  | 'too-many-open'
  | 'deposit-too-low'
  | 'fault'
  | 'not-deployed'

/** The facts that policies are evaluated with. */
export interface PolicyInput {
  readonly chainId: number
  readonly version: SponsoredVersion
  readonly entryPoint: Address
  readonly sender: Address
  readonly nonce: bigint
  /** `null` if the call data cannot be decoded */
  readonly calls: readonly InnerCall[] | null
  /** why `calls` is `null` */
  readonly unreadable: string | null
  readonly apiKey: string | null
  /** the highest possible cost in wei; `null` for a stub */
  readonly maxCost: bigint | null
  /** the chain's clock, Unix seconds */
  readonly now: number
  /** the only policy to evaluate; `null` for all in order */
  readonly policy: string | null
}

/** Amounts that a policy has spent and reserved, in wei, excluding the reservation of the evaluated nonce. */
export interface Spent {
  readonly total: bigint
  readonly today: bigint
  readonly user: bigint
}

export interface PolicyReason {
  readonly policy: string
  readonly reason: Reason
  /** text with figures */
  readonly message: string
}

export interface Refusal {
  readonly isGranted: false
  /** reason of the policy that passed the most checks */
  readonly reason: Reason
  readonly policy: string | null
  readonly message: string
  /** reason of each policy that was evaluated */
  readonly reasons: readonly PolicyReason[]
}

export type Decision = { readonly isGranted: true; readonly policy: Policy } | Refusal

/** Returns the first policy that grants the operation, or a refusal. Pure. */
export function decide(policies: readonly Policy[], input: PolicyInput, spentOf: (policy: Policy) => Spent): Decision {
  const candidates = input.policy === null ? policies : policies.filter(({ name }) => name === input.policy)
  const failures: Failure[] = []
  for (const policy of candidates) {
    const failure = failureOf(policy, input, spentOf)
    if (failure === null) return { isGranted: true, policy }
    failures.push(failure)
  }
  return refusalOf(failures, input)
}

/** Returns a refusal that no policy caused, such as a fault or a low deposit. */
export function refusal(reason: Reason, message: string, policy: string | null = null): Refusal {
  return { isGranted: false, reason, policy, message, reasons: [] }
}

interface Failure extends PolicyReason {
  /** number of passed checks */
  readonly passed: number
}

function failureOf(policy: Policy, input: PolicyInput, spentOf: (policy: Policy) => Spent): Failure | null {
  for (const [passed, check] of CHECKS.entries()) {
    const failed = check(policy, input, spentOf)
    if (failed !== null) return { policy: policy.name, reason: failed[0], message: failed[1], passed }
  }
  return null
}

function refusalOf(failures: readonly Failure[], input: PolicyInput): Refusal {
  const [closest] = failures.toSorted((a, b) => b.passed - a.passed)
  if (closest === undefined)
    return refusal(
      'policy',
      input.policy === null ? 'there is no policy' : `there is no policy "${input.policy.slice(0, POLICY_NAME_CHARS)}"`,
    )
  const reasons = failures.map(({ policy, reason, message }) => ({ policy, reason, message }))
  const message = `policy "${closest.policy}": ${closest.message}`
  return { isGranted: false, reason: closest.reason, policy: closest.policy, message, reasons }
}

type Check = (policy: Policy, input: PolicyInput, spentOf: (policy: Policy) => Spent) => readonly [Reason, string] | null

/** In order of evaluation: an unauthorised caller does not learn remaining budgets. */
const CHECKS: readonly Check[] = [
  ({ chains }, { chainId }) => (chains === null || chains.has(chainId) ? null : ['chain', `chain ${chainId} is not sponsored`]),
  ({ entryPoints }, { entryPoint, version }) =>
    entryPoints === null || entryPoints.has(entryPoint) ? null : ['entry-point', `EntryPoint ${version} is not sponsored`],
  ({ apiKeys }, { apiKey }) => apiKeyFailure(apiKeys, apiKey),
  ({ senders }, { sender }) => (senders === null || senders.has(sender) ? null : ['sender', `${sender} is not sponsored`]),
  ({ until }, { now }) =>
    until === null || now < until ? null : ['ended', `it ended at ${when(until)}; the chain's time is ${when(now)}`],
  ({ contracts }, input) => (contracts === null ? null : contractFailure(contracts, input)),
  ({ perOperation }, { maxCost }) => budgetFailure('per-operation', perOperation, 0n, maxCost),
  (policy, { maxCost }, spentOf) => budgetFailure('per-user', policy.perUser, policy.perUser === null ? 0n : spentOf(policy).user, maxCost),
  (policy, { maxCost }, spentOf) => budgetFailure('per-day', policy.perDay, policy.perDay === null ? 0n : spentOf(policy).today, maxCost),
  (policy, { maxCost }, spentOf) => budgetFailure('total', policy.total, policy.total === null ? 0n : spentOf(policy).total, maxCost),
]

type Budget = 'per-operation' | 'per-user' | 'per-day' | 'total'

const BUDGETS: Readonly<Record<Budget, string>> = {
  'per-operation': 'for one operation',
  'per-user': 'for this account',
  'per-day': 'for today',
  total: 'in all',
}

/** A stub has no cost yet: the remainder must be positive. */
function budgetFailure(reason: Budget, limit: bigint | null, spent: bigint, maxCost: bigint | null): readonly [Reason, string] | null {
  if (limit === null) return null
  const left = limit > spent ? limit - spent : 0n
  const of = `${left} of ${limit} wei are left ${BUDGETS[reason]}`
  if (maxCost === null) return left > 0n ? null : [reason, of]
  return maxCost <= left ? null : [reason, `the operation may cost ${maxCost} wei, ${of}`]
}

function contractFailure(contracts: readonly PolicyContract[], { calls, unreadable }: PolicyInput): readonly [Reason, string] | null {
  if (calls === null)
    return ['unreadable-calls', `the account's call data cannot be read, and this policy is for certain contracts only: ${unreadable}`]
  if (calls.length === 0) return ['contract', 'the operation calls nothing, and this policy is for certain contracts only']
  const wrong = calls.find((call) => !contracts.some((contract) => isCovered(contract, call)))
  if (wrong === undefined) return null
  const what = wrong.selector === null ? 'ether without data' : `the function ${wrong.selector}`
  return ['contract', `a call to ${wrong.to} with ${what} is not sponsored`]
}

/** The zero address means the account itself (ERC-7821) or the address, depending on the account, so no policy covers it. */
function isCovered({ address, selectors }: PolicyContract, { to, selector }: InnerCall): boolean {
  if (to !== address || to === Address.zero) return false
  return selectors === null || selectors.has(selector ?? PLAIN)
}

function apiKeyFailure(digests: readonly Uint8Array[] | null, key: string | null): readonly [Reason, string] | null {
  if (digests === null) return null
  if (key === null) return ['api-key', 'the request carries no API key']
  return isOneOf(digests, digestOf(key.slice(0, API_KEY_CHARS + 1))) ? null : ['api-key', "the request's API key is not one of this policy"]
}

/** Compares all digests in full, in constant time. */
function isOneOf(digests: readonly Uint8Array[], digest: Uint8Array): boolean {
  let isFound = 0
  for (const each of digests) {
    let difference = 0
    for (let i = 0; i < 32; i++) difference |= (each[i] ?? 0) ^ (digest[i] ?? 0)
    isFound |= difference === 0 ? 1 : 0
  }
  return isFound === 1
}

export function digestOf(key: string): Uint8Array {
  return sha256(new TextEncoder().encode(key))
}

function when(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString()
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

export function policyJson(policy: Policy): PolicyFields {
  const { name, chains, entryPoints, contracts, senders, apiKeys, until } = policy
  const amounts: { [K in (typeof AMOUNTS)[number]]?: Hex } = {}
  for (const key of AMOUNTS) if (policy[key] !== null) amounts[key] = Hex.fromQuantity(policy[key])
  return {
    name,
    ...(chains && { chains: [...chains] }),
    ...(entryPoints && { entryPoints: [...entryPoints].map(Address.checksum) }),
    ...(contracts && { contracts: contracts.map(contractJson) }),
    ...(senders && { senders: [...senders].map(Address.checksum) }),
    ...(apiKeys && { apiKeys: apiKeys.length }),
    ...amounts,
    ...(until !== null && { until }),
  }
}

function contractJson({ address, selectors }: PolicyContract) {
  return { address: Address.checksum(address), ...(selectors && { selectors: [...selectors.values()] }) }
}

const AMOUNTS = ['perOperation', 'perUser', 'perDay', 'total'] as const

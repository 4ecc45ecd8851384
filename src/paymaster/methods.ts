import type { Address, Hash } from '../eth/index.ts'
import { CODE, defineMethods, optional, required, schema } from '../jsonrpc/index.ts'
import type { JsonSchema, Method, Schema } from '../jsonrpc/index.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, QUANTITY, STRING, listOf, orNull, record } from '../jsonrpc/jsonschema.ts'
import { ENTRY_STATES } from './entry.ts'
import type { EntryState } from './entry.ts'
import { FAULT_SCHEMA } from './faults.ts'
import type { Fault } from './faults.ts'
import type { Policy, PolicyFields } from './policy.ts'
import { POLICY_LIST } from './policyschema.ts'
import type { LedgerEntry, LedgerPage, PaymasterStatus, PolicyStatus, SponsorStatus } from './results.ts'
import { SPONSORED_VERSIONS } from './sponsoredversion.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

// The rows of the sponsor's methods, a second entry point of the module: a node lists the methods without loading the sponsor.

/** The implementation of the methods. */
export interface SponsorApi {
  readonly status: () => Promise<SponsorStatus>
  readonly ledger: (query: LedgerQuery) => LedgerPage
  /** Returns the fault in force. */
  readonly setFault: (fault: Fault | null) => Fault | null
  /** Replaces the policies if given. Returns all policies with their use. */
  readonly setPolicies: (policies: readonly Policy[] | undefined) => Promise<readonly PolicyStatus[]>
  readonly deposit: (version: SponsoredVersion, wei: bigint) => Promise<Hash>
}

export interface LedgerQuery {
  readonly limit?: number | undefined
  readonly before?: number | undefined
  readonly sender?: Address | undefined
  readonly state?: EntryState | undefined
}

/** `api` loads the sponsor at the first request. */
export interface SponsorContext {
  readonly api: () => Promise<SponsorApi>
}

/** A JSON Schema per key. */
type Schemas<T> = { readonly [K in keyof T]-?: JsonSchema }

const method = defineMethods<SponsorContext, unknown>()

const NUMBER: JsonSchema = { type: 'integer', minimum: 0 }
const VERSION: Schema<SponsoredVersion> = schema.oneOf(...SPONSORED_VERSIONS)
const AMOUNT: JsonSchema = { title: 'wei, decimal or hexadecimal', type: 'string' }

const POLICY_FIELDS = {
  chains: listOf(NUMBER),
  entryPoints: listOf(ADDRESS),
  contracts: listOf(record('contract', { address: ADDRESS }, { selectors: listOf(STRING) })),
  senders: listOf(ADDRESS),
  perOperation: AMOUNT,
  perUser: AMOUNT,
  perDay: AMOUNT,
  total: AMOUNT,
  until: { title: 'ISO date or Unix seconds', type: ['string', 'integer'] },
  apiKeys: { title: 'number', ...NUMBER },
} satisfies Schemas<Omit<PolicyFields, 'name'>>
const USE = record('use', { reserved: QUANTITY, settled: QUANTITY, today: QUANTITY, users: NUMBER })
const POLICY_SHOWN = record('policy and its use', { name: STRING, use: USE, left: orNull(QUANTITY) }, POLICY_FIELDS)
const POLICY_EXAMPLE = { name: 'everything', use: { reserved: '0x0', settled: '0x0', today: '0x0', users: 0 }, left: null }

const PAYMASTER = record('paymaster', {
  version: VERSION.json,
  entryPoint: ADDRESS,
  address: ADDRESS,
  deployed: BOOLEAN,
  deposit: QUANTITY,
  reserved: QUANTITY,
  isLow: BOOLEAN,
} satisfies Schemas<PaymasterStatus>)

const STATE: Schema<EntryState> = schema.oneOf(...ENTRY_STATES)

const QUERY: Schema<LedgerQuery> = schema.titled(
  'query',
  schema.object({
    limit: schema.maybe(schema.atLeast(1, schema.integer)),
    before: schema.maybe(schema.integer),
    sender: schema.maybe(schema.address),
    state: schema.maybe(STATE),
  }),
)

/** A deposit of 0 wei would be a transaction without effect. */
const WEI: Schema<bigint> = {
  json: schema.bigInteger.json,
  parse: (value, path) => {
    const wei = schema.bigInteger.parse(value, path)
    if (wei === 0n) throw schema.refused(path, 'must be more than 0')
    return wei
  },
}

const ENTRY = record('decision', {
  id: NUMBER,
  at: { title: 'Unix time in milliseconds', ...NUMBER },
  state: STATE.json,
  stage: { enum: ['stub', 'final'] },
  version: VERSION.json,
  entryPoint: ADDRESS,
  paymaster: ADDRESS,
  policy: orNull(STRING),
  sender: ADDRESS,
  nonce: QUANTITY,
  userOpHash: orNull(HASH),
  calls: orNull(listOf(record('call', { to: ADDRESS, value: QUANTITY, selector: orNull(BYTES) }))),
  callCount: { title: 'number of calls; `calls` has the first ones', ...NUMBER },
  maxCost: orNull(QUANTITY),
  cost: orNull(QUANTITY),
  maxFeePerGas: { title: 'wei per gas, of the latest signature', ...orNull(QUANTITY) },
  maxPriorityFeePerGas: orNull(QUANTITY),
  gasUsed: { title: 'gas that was charged: the price paid is `cost` by it', ...orNull(QUANTITY) },
  validUntil: orNull(NUMBER),
  transactionHash: orNull(HASH),
  blockNumber: orNull(QUANTITY),
  success: orNull(BOOLEAN),
  reason: orNull(STRING),
  message: orNull(STRING),
  reasons: listOf(record('reason', { policy: STRING, reason: STRING, message: STRING })),
} satisfies Schemas<LedgerEntry>)

const PAYMASTER_ADDRESS = '0x2222222222222222222222222222222222222222'
const OWNER = '0xd1111111111111111111111111111111111111d1'
const EP08 = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
const TX_HASH = '0x3fbac8b19b59077cd29bbacc3815d73577b45a4d976cae80b04c98c793684c07'

/** The methods do not exist on a node without a sponsor. */
const ABSENT = { [CODE.methodNotFound]: 'the node runs without a sponsor' }
const CONTROL = { [CODE.unauthorized]: 'the request has an Origin and no control credential' }

/** Methods for the operator and for tests. `POST /paymaster` sponsors operations. */
export const SPONSOR_METHODS: readonly Method<SponsorContext, unknown>[] = [
  method({
    name: 'pocketchain_sponsorStatus',
    doc: 'Returns the state of the sponsor: paymasters with their deposits, policies with the use of their budgets, and the numbers of operations by state.',
    params: [],
    result: record('status', {
      name: STRING,
      icon: orNull(STRING),
      owner: ADDRESS,
      signer: ADDRESS,
      validForSeconds: NUMBER,
      fault: orNull(FAULT_SCHEMA.json),
      paymasters: listOf(PAYMASTER),
      policies: listOf(POLICY_SHOWN),
      counts: record('counts', { reserved: NUMBER, included: NUMBER, settled: NUMBER, expired: NUMBER, refused: NUMBER }),
      totals: record('wei', { reserved: QUANTITY, settled: QUANTITY }),
    } satisfies Schemas<SponsorStatus>),
    errors: ABSENT,
    example: {
      params: [],
      result: {
        name: 'Pocketchain',
        icon: null,
        owner: OWNER,
        signer: OWNER,
        validForSeconds: 300,
        fault: null,
        paymasters: [
          {
            version: '0.8',
            entryPoint: EP08,
            address: PAYMASTER_ADDRESS,
            deployed: true,
            deposit: '0x56bc75e2d63100000',
            reserved: '0x0',
            isLow: false,
          },
        ],
        policies: [POLICY_EXAMPLE],
        counts: { reserved: 0, included: 0, settled: 0, expired: 0, refused: 0 },
        totals: { reserved: '0x0', settled: '0x0' },
      },
    },
    handler: async ({ api }) => (await api()).status(),
  }),
  method({
    name: 'pocketchain_sponsorLedger',
    doc: 'Returns the decisions of the sponsor, newest first, with sender, calls, prices, cost and reason of refusal; `before` is the `next` of the previous page.',
    params: [optional('query', QUERY)],
    result: record('page', { entries: listOf(ENTRY), next: orNull(NUMBER) }),
    errors: ABSENT,
    example: { params: [{ limit: 10 }], result: { entries: [], next: null } },
    handler: async ({ api }, [query = {}]) => (await api()).ledger(query),
  }),
  method({
    name: 'pocketchain_sponsorFault',
    doc: 'Sets a fault that the sponsor applies to its next requests (`times`, or until null is set), and returns the current fault.',
    params: [required('fault', schema.nullable(FAULT_SCHEMA))],
    control: 'always',
    result: orNull(FAULT_SCHEMA.json),
    errors: { ...ABSENT, ...CONTROL },
    example: { params: [{ kind: 'refuse', times: 1 }], result: { kind: 'refuse', times: 1 } },
    handler: async ({ api }, [fault]) => (await api()).setFault(fault),
  }),
  method({
    name: 'pocketchain_sponsorPolicies',
    doc: 'Replaces the policies, if given, until the node stops, and returns all policies with their use; the use of a name continues under a new policy of that name.',
    params: [optional('policies', POLICY_LIST)],
    control: 'with-arguments',
    result: listOf(POLICY_SHOWN),
    errors: { ...ABSENT, [CODE.unauthorized]: 'the request has an Origin and no control credential, and an argument is given' },
    example: { params: [[{ name: 'everything' }]], result: [POLICY_EXAMPLE] },
    handler: async ({ api }, [policies]) => (await api()).setPolicies(policies),
  }),
  method({
    name: 'pocketchain_sponsorDeposit',
    doc: "Deposits wei from the owner's account for the paymaster of an EntryPoint version, which is deployed first if necessary, and returns the transaction's hash.",
    params: [required('version', VERSION), required('wei', WEI)],
    control: 'always',
    result: HASH,
    errors: { [CODE.server]: "the owner's account cannot pay, or the chain lacks a required contract", ...ABSENT, ...CONTROL },
    example: { params: ['0.8', '0xde0b6b3a7640000'], result: TX_HASH },
    handler: async ({ api }, [version, wei]) => (await api()).deposit(version, wei),
  }),
]

import { Address, Hex } from '../eth/index.ts'
import type { EntryPointVersion } from '../eth/index.ts'
import { CODE, RpcError, invalidParams, schema } from '../rpc/index.ts'
import type { RpcRequest } from '../rpc/index.ts'
import type { DepositWatch } from './deposit.ts'
import type { SponsorDeployment } from './deployment.ts'
import { ENTRY_STATES } from './entry.ts'
import type { Entry } from './entry.ts'
import { readFault } from './faults.ts'
import type { Fault, Faults } from './faults.ts'
import type { Ledger } from './ledger.ts'
import type { SponsorNode } from './node.ts'
import { parsePolicies, policyJson } from './policy.ts'
import type { Policy } from './policy.ts'
import type { SetUp } from './setup.ts'

export interface ControlParts {
  readonly node: SponsorNode
  readonly setUp: SetUp
  readonly deposits: DepositWatch
  readonly faults: Faults
  readonly ledger: Ledger
  readonly deployments: readonly SponsorDeployment[]
  readonly owner: Address
  readonly signer: Address
  readonly sponsor: { readonly name: string; readonly icon: string | null }
  readonly validForSeconds: number
  readonly policies: () => readonly Policy[]
  readonly setPolicies: (policies: readonly Policy[]) => void
}

/** What a person or a test tells the sponsor and is shown. Their doc lines stand in rpc/. */
export class Control {
  readonly #parts: ControlParts

  constructor(parts: ControlParts) {
    this.#parts = parts
  }

  /** Throws RpcError; -32601 for what is no method of a sponsor. */
  async request({ method, params = [] }: RpcRequest): Promise<unknown> {
    const answer = METHODS.get(method)
    if (answer === undefined) throw new RpcError(CODE.methodNotFound, `the method ${method.slice(0, 100)} does not exist/is not available`)
    return answer(this.#parts, params)
  }
}

type Answer = (parts: ControlParts, params: readonly unknown[]) => unknown

const METHODS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  ['pocketchain_sponsorStatus', status],
  ['pocketchain_sponsorLedger', ledgerPage],
  ['pocketchain_sponsorFault', setFault],
  ['pocketchain_sponsorPolicies', policies],
  ['pocketchain_sponsorDeposit', deposit],
])

async function status(parts: ControlParts): Promise<unknown> {
  const { owner, signer, sponsor, validForSeconds, faults, ledger, deployments } = parts
  const paymasters = await Promise.all(deployments.map((each) => paymasterJson(parts, each)))
  const { reserved, settled } = ledger.totals
  return {
    name: sponsor.name,
    icon: sponsor.icon,
    owner: Address.checksum(owner),
    signer: Address.checksum(signer),
    validForSeconds,
    fault: faults.current,
    paymasters,
    policies: await policiesJson(parts),
    counts: ledger.counts,
    totals: { reserved: Hex.fromQuantity(reserved), settled: Hex.fromQuantity(settled) },
  }
}

async function paymasterJson({ node, deposits }: ControlParts, deployment: SponsorDeployment): Promise<unknown> {
  const { version, entryPoint, address } = deployment
  const [deployed, now] = await Promise.all([node.hasCode(address), deposits.read(deployment)])
  return {
    version,
    entryPoint: Address.checksum(entryPoint),
    address: Address.checksum(address),
    deployed,
    deposit: Hex.fromQuantity(now.deposit),
    reserved: Hex.fromQuantity(now.reserved),
    isLow: now.isLow,
  }
}

async function policiesJson({ node, ledger, policies: all }: ControlParts): Promise<unknown> {
  const { timestamp } = await node.now()
  return all().map((policy) => {
    const { reserved, settled, today, users, left } = ledger.budget(policy, timestamp)
    const [held, spent, ofToday] = [reserved, settled, today].map(Hex.fromQuantity)
    const use = { reserved: held, settled: spent, today: ofToday, users }
    return { ...policyJson(policy), use, left: left === null ? null : Hex.fromQuantity(left) }
  })
}

async function policies(parts: ControlParts, [value]: readonly unknown[]): Promise<unknown> {
  if (value !== undefined && value !== null) parts.setPolicies(readPolicies(value))
  return policiesJson(parts)
}

function readPolicies(value: unknown): readonly Policy[] {
  try {
    return parsePolicies(value)
  } catch (error) {
    if (error instanceof RangeError) throw invalidParams(`invalid argument 0 (policies): ${error.message}`)
    throw error
  }
}

function setFault({ faults }: ControlParts, [value]: readonly unknown[]): Fault | null {
  faults.set(readFault(value))
  return faults.current
}

const VERSION = schema.oneOf('0.6', '0.7', '0.8')

async function deposit({ setUp }: ControlParts, [version, wei]: readonly unknown[]): Promise<unknown> {
  const read: EntryPointVersion = VERSION.parse(version, 'argument 0 (version)')
  const amount = schema.bigInteger.parse(wei, 'argument 1 (wei)')
  if (amount === 0n) throw invalidParams('invalid argument 1 (wei): must be more than 0')
  return setUp.deposit(read, amount)
}

// --- the ledger -------------------------------------------------------------------------------------------------------

const QUERY = schema.object({
  limit: schema.maybe(schema.integer),
  before: schema.maybe(schema.integer),
  sender: schema.maybe(schema.address),
  state: schema.maybe(schema.oneOf(...ENTRY_STATES)),
})

function ledgerPage({ ledger, setUp }: ControlParts, [value]: readonly unknown[]): unknown {
  const { limit, before, sender, state } = QUERY.parse(value ?? {}, 'argument 0 (query)')
  if (limit === 0) throw invalidParams('invalid argument 0 (query).limit: must be 1 or more')
  const query = {
    ...(limit === undefined ? null : { limit }),
    ...(before === undefined ? null : { before }),
    ...(sender === undefined ? null : { sender }),
    ...(state === undefined ? null : { state }),
  }
  const { entries, next } = ledger.entries(query)
  return { entries: entries.map((entry) => entryJson(entry, setUp)), next }
}

function entryJson(entry: Entry, setUp: SetUp): unknown {
  const { id, at, state, stage, version, policy, validUntil, place, success, reason, message, reasons, callCount } = entry
  return {
    id,
    at,
    state,
    stage,
    version,
    entryPoint: Address.checksum(entry.entryPoint),
    paymaster: Address.checksum(entry.paymaster ?? setUp.of(version).address),
    policy,
    sender: Address.checksum(entry.sender),
    nonce: Hex.fromQuantity(entry.nonce),
    userOpHash: entry.userOpHash,
    calls: entry.calls?.map(({ to, value, selector }) => ({ to: Address.checksum(to), value: Hex.fromQuantity(value), selector })) ?? null,
    callCount,
    maxCost: entry.maxCost === null ? null : Hex.fromQuantity(entry.maxCost),
    cost: entry.cost === null ? null : Hex.fromQuantity(entry.cost),
    validUntil,
    transactionHash: place?.transactionHash ?? null,
    blockNumber: place === null ? null : Hex.fromQuantity(place.blockNumber),
    success,
    reason,
    message,
    reasons,
  }
}

import { ENTRY_POINTS, Hash, Hex, Address, UserOperation, entryPoint } from '../eth/index.ts'
import type { EntryPoint, EntryPointVersion, PrivateKey } from '../eth/index.ts'
import {
  CODE,
  Endpoint,
  JSON_WRITER,
  Router,
  RpcError,
  UserOperationJson,
  invalidParams,
  routesOf,
  schema,
  tableOf,
  toRpcErrorBy,
} from '../jsonrpc/index.ts'
import { innerCalls } from './calls.ts'
import type { DepositWatch } from './deposit.ts'
import type { SponsorDeployment } from './deployment.ts'
import type { Entry } from './entry.ts'
import { ERC7677_METHODS } from './erc7677.ts'
import type { Answer, Args, Exchange, PaymasterCaller } from './erc7677.ts'
import { FAULTS } from './faults.ts'
import type { Fault, Faults, Stage } from './faults.ts'
import type { Ledger, Terms } from './ledger.ts'
import { BATCH_ITEMS, FAULT_DELAY_MS, POST_OP_GAS } from './limits.ts'
import type { SponsorNode } from './node.ts'
import { refusal } from './policy.ts'
import type { Ask, Policy, Reason, Refusal } from './policy.ts'
import { NotDeployed } from './setup.ts'
import type { SetUp } from './setup.ts'
import { PaymasterData } from './signer.ts'

export interface ServiceParts {
  readonly node: SponsorNode
  readonly setUp: SetUp
  readonly deposits: DepositWatch
  readonly faults: Faults
  readonly ledger: Ledger
  /** those that hold now */
  readonly policies: () => readonly Policy[]
  readonly signer: PrivateKey
  /** what wallets show */
  readonly sponsor: { readonly name: string; readonly icon: string | null }
  readonly validForSeconds: number
  readonly onError: (error: unknown) => void
  /** the chain is watched: before that nothing is promised */
  readonly watching: () => Promise<unknown>
}

/** What is refused says so as Coinbase's service does, whose errors apps know. */
const SPONSOR_CODE = {
  /** a policy, or a fault on demand */
  denied: -32001,
  /** nobody's fault who asks: the paymaster does not stand, or has no money */
  unavailable: -32003,
} as const

/** The two methods of ERC-7677. */
export class Service {
  readonly #parts: ServiceParts
  readonly #endpoint: Endpoint<Exchange>

  constructor(parts: ServiceParts) {
    this.#parts = parts
    const toRpcError = toRpcErrorBy({ onBug: parts.onError })
    const answer: Answer = (stage, args, caller) => this.#answer(stage, args, caller)
    const router = new Router<Exchange>({ find: tableOf(routesOf(ERC7677_METHODS, answer)), toRpcError })
    this.#endpoint = new Endpoint({
      call: (method, params, caller) => router.call(method, params, caller, true),
      toRpcError,
      writer: JSON_WRITER,
      maxItems: BATCH_ITEMS,
    })
  }

  /** Never rejects. */
  async handle(body: Uint8Array, caller: PaymasterCaller): Promise<{ readonly status: number; readonly body: string }> {
    const exchange: Exchange = { ...caller, isBroken: false }
    const response = await this.#endpoint.handle(body, exchange)
    return { status: exchange.isBroken ? 500 : 200, body: response ?? '' }
  }

  async #answer(stage: Stage, args: Args, caller: Exchange): Promise<unknown> {
    const { node, faults, policies, watching } = this.#parts
    const chainId = await node.chainId()
    const asked = readRequest(stage, args, chainId, policies())
    const { timestamp } = await node.now()
    const asking: Request = { ...asked, stage, ask: askOf(asked, chainId, timestamp, caller) }
    const fault = faults.take(stage)
    const now = fault === null ? timestamp : await this.#meet(fault, asking, caller)
    const request = { ...asking, ask: { ...asking.ask, now } }
    this.#decide(request)
    if (stage === 'stub') {
      const { paymaster, deposit } = await this.#standing(request, fault)
      this.#assertDeposit(request, deposit)
      return this.#json(request, paymaster, { ...request.operation, paymasterData: PaymasterData.STUB })
    }
    await watching()
    const delegate = await this.#delegateOf(request)
    const { paymaster, deposit } = await this.#standing(request, fault)
    if (caller.signal?.aborted === true) throw new RpcError(CODE.timeout, 'the caller is gone: nothing was signed')
    // From here on nobody else comes in between.
    return this.#grant(request, { paymaster, fault, deposit, delegate })
  }

  /** What a fault does before anything is looked at. Answers the chain's time afterwards. */
  async #meet(fault: Fault, request: Request, exchange: Exchange): Promise<number> {
    const why = refusal('fault', `the sponsor was told to fail: ${fault.kind}`)
    if (fault.kind === 'refuse') throw this.#refused(request, why)
    if (fault.kind === 'http-500') {
      this.#record(request, why)
      exchange.isBroken = true
      throw new RpcError(CODE.internal, why.message)
    }
    if (fault.kind !== 'slow') return request.ask.now
    await passed(fault.delayMs ?? FAULT_DELAY_MS, exchange.signal)
    return (await this.#parts.node.now()).timestamp
  }

  /** Throws RpcError for what no policy grants. */
  #decide(request: Request): void {
    const decision = this.#parts.ledger.decide(this.#parts.policies(), request.ask)
    if (!decision.isGranted) throw this.#refused(request, decision)
  }

  /** The paymaster that pays, when it stands, and what it has. */
  async #standing(request: Request, fault: Fault | null): Promise<Pick<Grounds, 'paymaster' | 'deposit'>> {
    const { setUp } = this.#parts
    const { version } = request.entryPoint
    try {
      const deposit = await this.#depositOf(version)
      if (fault?.kind !== 'empty-deposit') return { paymaster: setUp.of(version), deposit }
      const other = version === '0.8' ? '0.7' : '0.8'
      await setUp.ensure(other)
      return { paymaster: setUp.of(other), deposit }
    } catch (error) {
      if (!(error instanceof NotDeployed)) throw error
      this.#record(request, refusal('not-deployed', error.message))
      throw new RpcError(SPONSOR_CODE.unavailable, `unavailable - ${error.message}`, error.data)
    }
  }

  /** wei. Deploys before when it has to: at first, and again when the chain went back behind that. Throws NotDeployed. */
  async #depositOf(version: EntryPointVersion): Promise<bigint> {
    const { deposits, setUp } = this.#parts
    await setUp.ensure(version)
    const { deposit } = await deposits.watch(setUp.of(version))
    if (deposit > 0n || (await setUp.stillStands(version))) return deposit
    return this.#depositOf(version)
  }

  /** What is reserved for others is theirs. */
  #assertDeposit(request: Request, deposit: bigint): void {
    const { setUp, ledger } = this.#parts
    const { ask } = request
    const { address, entryPoint: at, version } = setUp.of(request.entryPoint.version)
    const left = deposit - ledger.reservedOf(address, ask)
    if (left > 0n && left >= (ask.maxCost ?? 0n)) return
    const wanted = ask.maxCost === null ? '' : `the operation may cost ${ask.maxCost} wei, `
    const message = `${wanted}${left > 0n ? left : 0n} wei are left of the paymaster's deposit in EntryPoint ${version} (${deposit} wei)`
    throw this.#refused(request, refusal('deposit-too-low', message), { paymaster: address, entryPoint: at })
  }

  #grant(request: Request, { paymaster, fault, deposit, delegate }: Grounds): unknown {
    const { ledger, policies, signer, validForSeconds } = this.#parts
    const { ask, entryPoint: at } = request
    this.#assertDeposit(request, deposit)
    const validUntil = fault?.kind === 'expired' ? Math.max(ask.now - 1, 1) : ask.now + validForSeconds
    const limited = { ...request.operation, paymaster: paymaster.address }
    const key = fault?.kind === 'wrong-signature' ? NOBODY : signer
    const domain = { version: at.version, chainId: ask.chainId, paymaster: paymaster.address }
    const signed = PaymasterData.sign(limited, domain, validUntil, key)
    const paymasterData = fault?.kind === 'differ' ? Uint8Array.of(...signed, 0xff) : signed
    const operation: UserOperation = { ...limited, paymasterData }
    if (fault !== null && FAULTS[fault.kind].isUseless) {
      this.#record(request, refusal('fault', `the sponsor was told to fail: ${fault.kind}; what it signed nobody can use`))
      return this.#json(request, paymaster, operation)
    }
    const terms: Terms = { paymaster: paymaster.address, validUntil, userOpHash: hashOf(operation, at, ask.chainId, delegate) }
    const reserved = ledger.reserve(policies(), ask, terms)
    if (!reserved.isGranted) throw this.#refused(request, reserved)
    return this.#json(request, paymaster, operation)
  }

  /** The code that the account delegates to is part of the hash; null: it does not delegate, or nobody knows yet. */
  async #delegateOf({ operation }: Request): Promise<Address | null> {
    if (operation.factory !== UserOperation.DELEGATION) return null
    return operation.authorization?.address ?? (await this.#parts.node.delegate(operation.sender))
  }

  #json({ stage, entryPoint: { version } }: Request, { address }: SponsorDeployment, operation: UserOperation): unknown {
    const { name, icon } = this.#parts.sponsor
    const sponsor = stage === 'stub' ? { sponsor: icon === null ? { name } : { name, icon } } : null
    const sponsored: UserOperation = { ...operation, paymaster: address }
    if (version === '0.6') return { paymasterAndData: Hex.fromBytes(UserOperation.paymasterAndData(sponsored, '0.6')), ...sponsor }
    return {
      paymaster: Address.checksum(address),
      paymasterData: Hex.fromBytes(sponsored.paymasterData),
      paymasterVerificationGasLimit: Hex.fromQuantity(sponsored.paymasterVerificationGasLimit),
      paymasterPostOpGasLimit: Hex.fromQuantity(sponsored.paymasterPostOpGasLimit),
      ...sponsor,
    }
  }

  /** Anybody may ask: which policies there are and what is left of them stands in the ledger only, in the line that `data.entry` names. */
  #refused(request: Request, refused: Refusal, more: object = {}): RpcError {
    const { id } = this.#record(request, refused)
    const { reason } = refused
    const isUnavailable = UNAVAILABLE.has(reason)
    const message = `${isUnavailable ? 'unavailable' : 'request denied'} - ${toldOf(refused)}`
    return new RpcError(isUnavailable ? SPONSOR_CODE.unavailable : SPONSOR_CODE.denied, message, { reason, entry: id, ...more })
  }

  #record({ ask, stage }: Request, refused: Refusal): Entry {
    return this.#parts.ledger.refuse(ask, stage, refused)
  }
}

/** What says only what the request itself says is told as it is. */
function toldOf({ reason, policy, message, reasons }: Refusal): string {
  return GUARDED.get(reason) ?? reasons.find((each) => each.policy === policy)?.message ?? message
}

/** Whose words tell what others have used, or what an operator has decided. */
const GUARDED: ReadonlyMap<Reason, string> = new Map([
  ['ended', 'nothing is sponsored any more'],
  ['per-operation', 'the operation may cost more than is sponsored at once'],
  ['per-user', 'what is sponsored for this account does not cover it any more'],
  ['per-day', 'what is sponsored in a day does not cover it today'],
  ['total', 'what is sponsored in all does not cover it any more'],
  ['too-many-open', 'too many operations are promised and not sent yet: wait until some are used or run out'],
  ['deposit-too-low', "what is free of the paymaster's deposit does not cover it"],
])

/** A key that no paymaster has as its signer. */
const NOBODY: PrivateKey = Hash.toBytes(Hash.ofText('the signer of nobody'))

const UNAVAILABLE: ReadonlySet<Reason> = new Set(['deposit-too-low', 'not-deployed'])

/** A request as it was read. */
interface Asked {
  readonly entryPoint: EntryPoint
  /** with the gas that its paymaster may use, without paymaster */
  readonly operation: UserOperation
  /** the only policy that may pay; null: any */
  readonly policy: string | null
  readonly maxCost: bigint | null
}

interface Request extends Asked {
  readonly stage: Stage
  readonly ask: Ask
}

/** What was looked up before the decision. */
interface Grounds {
  readonly paymaster: SponsorDeployment
  readonly fault: Fault | null
  readonly deposit: bigint
  readonly delegate: Address | null
}

function askOf({ entryPoint: at, operation, policy, maxCost }: Asked, chainId: number, now: number, { apiKey }: PaymasterCaller): Ask {
  const { sender, nonce, callData } = operation
  const calls = innerCalls(sender, callData)
  return { chainId, version: at.version, entryPoint: at.address, sender, nonce, calls, apiKey, maxCost, now, policy }
}

/** null: what the account delegates to is told with the operation, if at all. */
function hashOf(operation: UserOperation, { version, address }: EntryPoint, chainId: number, delegate: Address | null): Hash | null {
  if (operation.factory === UserOperation.DELEGATION && delegate === null) return null
  return UserOperation.hash(operation, { version, entryPoint: address, chainId, ...(delegate === null ? null : { delegate }) })
}

function passed(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
  })
}

// --- reading ----------------------------------------------------------------------------------------------------------

const BY_ADDRESS: ReadonlyMap<Address, EntryPoint> = new Map(
  (Object.keys(ENTRY_POINTS) as EntryPointVersion[]).map((version) => [ENTRY_POINTS[version], entryPoint(version)]), // keys of that record
)

/** Throws RpcError -32602 that names what is wrong. */
function readRequest(stage: Stage, [value, at, wanted, context]: Args, chainId: number, policies: readonly Policy[]): Asked {
  const found = BY_ADDRESS.get(at)
  if (found === undefined) {
    const known = [...BY_ADDRESS.values()].map(({ version, address }) => `${Address.checksum(address)} (${version})`).join(', ')
    throw invalidParams(`EntryPoint ${Address.checksum(at)} is not supported; supported are: ${known}`)
  }
  if (wanted !== BigInt(chainId)) throw invalidParams(`this sponsor pays on chain ${chainId}, not on ${wanted}`)
  const operation = readOperation(stage, value, found)
  const maxCost = stage === 'stub' ? null : found.prefundGas({ ...operation, paymaster: Address.zero }) * operation.maxFeePerGas
  return { entryPoint: found, operation, policy: policyOf(context, policies), maxCost }
}

const AMOUNTS = ['callGasLimit', 'verificationGasLimit', 'preVerificationGas', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const

/** Whatever paymaster an operation names, it is ours that is asked for. */
const PAYMASTER_FIELDS = {
  paymaster: null,
  paymasterData: null,
  paymasterAndData: null,
  paymasterVerificationGasLimit: null,
  paymasterPostOpGasLimit: null,
}

function readOperation(stage: Stage, value: unknown, { version }: EntryPoint): UserOperation {
  const bare = typeof value === 'object' && value !== null ? { ...value, ...PAYMASTER_FIELDS, signature: null } : value
  const operation = UserOperationJson.read(bare, version, { partial: true })
  const given = value as Readonly<Record<string, unknown>> // it was read as an object
  const missing = stage === 'stub' ? undefined : AMOUNTS.find((name) => given[name] === undefined || given[name] === null)
  if (missing !== undefined) throw invalidParams(`invalid ${PATH}.${missing}: missing value; what is signed holds all gas limits and fees`)
  if (version === '0.6') return operation
  const limit = (name: 'paymasterVerificationGasLimit' | 'paymasterPostOpGasLimit', ours: bigint) =>
    GAS.parse(given[name], `${PATH}.${name}`) ?? ours
  // Stand-ins of a client that does not know better are not meant.
  const verification = limit('paymasterVerificationGasLimit', 0n)
  return {
    ...operation,
    paymasterVerificationGasLimit: verification === 0n ? PaymasterData.verificationGas(operation) : verification,
    paymasterPostOpGasLimit: limit('paymasterPostOpGasLimit', POST_OP_GAS),
  }
}

const PATH = 'argument 0 (userOperation)'
const GAS = {
  parse: (value: unknown, path: string): bigint | null => {
    if (value === undefined || value === null) return null
    const gas = schema.quantity.parse(value, path)
    if (gas >> 120n !== 0n) throw invalidParams(`invalid ${path}: AA94 gas values overflow: more than 120 bits`)
    return gas
  },
}

/** `policy` of the context; what Pimlico and Coinbase call it is meant when there is one of that name, and else for their services. */
function policyOf(context: unknown, policies: readonly Policy[]): string | null {
  if (context === undefined || context === null) return null
  if (typeof context !== 'object' || Array.isArray(context)) throw invalidParams('invalid argument 3 (context): expected an object or null')
  const { policy, sponsorshipPolicyId, policyId } = context as Readonly<Record<string, unknown>> // any object has this shape
  if (policy === undefined || policy === null)
    return policies.find(({ name }) => name === sponsorshipPolicyId || name === policyId)?.name ?? null
  if (typeof policy !== 'string') throw invalidParams('invalid argument 3 (context).policy: expected the name of a policy')
  return policy
}

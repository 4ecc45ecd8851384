import { ENTRY_POINTS, Hash, Hex, Address, UserOperation, entryPoint, isObject } from '../eth/index.ts'
import type { EntryPoint, PrivateKey } from '../eth/index.ts'
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
import type { DepositMonitor } from './deposit.ts'
import type { SponsorDeployment } from './deployment.ts'
import type { Entry } from './entry.ts'
import { PAYMASTER_METHODS } from './erc7677.ts'
import type { Args, Exchange, PaymasterCaller, SponsorRequest, SponsorService } from './erc7677.ts'
import { FAULT_RULES } from './faults.ts'
import type { Fault, FaultInjector, Stage } from './faults.ts'
import type { Ledger, Terms } from './ledger.ts'
import { BATCH_ITEMS, FAULT_DELAY_MS, POST_OP_GAS } from './limits.ts'
import type { SponsorNode } from './node.ts'
import { refusal } from './policy.ts'
import type { PolicyInput, Policy, Reason, Refusal } from './policy.ts'
import { NotDeployed } from './deployer.ts'
import type { PaymasterDeployer } from './deployer.ts'
import { PaymasterData } from './signer.ts'
import { SPONSORED_VERSIONS } from './sponsoredversion.ts'
import type { SponsoredVersion } from './sponsoredversion.ts'

interface ServiceParts {
  readonly node: SponsorNode
  readonly deployer: PaymasterDeployer
  readonly deposits: DepositMonitor
  readonly faults: FaultInjector
  readonly ledger: Ledger
  /** the current policies */
  readonly policies: () => readonly Policy[]
  readonly signer: PrivateKey
  /** shown by wallets */
  readonly sponsor: { readonly name: string; readonly icon: string | null }
  readonly validForSeconds: number
  readonly onError: (error: unknown) => void
  /** resolves once the chain is watched; reservations require it */
  readonly ensureWatching: () => Promise<unknown>
}

/** Codes of Coinbase's paymaster service, which apps handle. */
const SPONSOR_CODE = {
  /** refused by a policy or a fault */
  denied: -32001,
  /** the paymaster is not deployed or its deposit is too low */
  unavailable: -32003,
} as const

/** The methods of the sponsor for wallets. */
export class Service {
  readonly #parts: ServiceParts
  readonly #endpoint: Endpoint<Exchange>

  constructor(parts: ServiceParts) {
    this.#parts = parts
    const toRpcError = toRpcErrorBy({ onBug: parts.onError })
    const methods: SponsorService = {
      answer: (stage, args, caller) => this.#answer(stage, args, caller),
      sponsor: (args, caller) => this.#sponsor(args, caller),
      grantingPolicies: (operation, at, names, caller) => this.#grantingPolicies(operation, at, names, caller),
    }
    const router = new Router<Exchange>({ find: tableOf(routesOf(PAYMASTER_METHODS, methods)), toRpcError })
    this.#endpoint = new Endpoint({
      call: (method, params, caller) => router.call(method, params, caller, true),
      toRpcError,
      writer: JSON_WRITER,
      maxItems: BATCH_ITEMS,
    })
  }

  /** Never rejects. */
  async handle(body: Uint8Array, caller: PaymasterCaller): Promise<{ readonly status: number; readonly body: string }> {
    const exchange: Exchange = { ...caller, isServerError: false }
    const response = await this.#endpoint.handle(body, exchange)
    return { status: exchange.isServerError ? 500 : 200, body: response ?? '' }
  }

  async #answer(stage: Stage, args: Args, caller: Exchange): Promise<unknown> {
    const { node, faults, policies, ensureWatching } = this.#parts
    const chainId = await node.chainId()
    const parsed = readRequest(stage, args, chainId, policies())
    const { timestamp } = await node.now()
    const received: Request = { ...parsed, stage, input: policyInputOf(parsed, chainId, timestamp, caller) }
    const fault = faults.take(stage)
    const now = fault === null ? timestamp : await this.#applyFault(fault, received, caller)
    const request = { ...received, input: { ...received.input, now } }
    this.#decide(request)
    if (stage === 'stub') {
      const { paymaster, deposit } = await this.#payer(request, fault)
      this.#assertDeposit(request, deposit)
      return this.#json(request, paymaster, { ...request.operation, paymasterData: PaymasterData.STUB })
    }
    await ensureWatching()
    const delegate = await this.#delegateOf(request)
    const { paymaster, deposit } = await this.#payer(request, fault)
    if (caller.signal?.aborted === true) throw new RpcError(CODE.timeout, 'the caller has disconnected: nothing was signed')
    // Synchronous from here on: no other request is decided in between.
    return this.#grant(request, { paymaster, fault, deposit, delegate })
  }

  /** Stub, estimate and signature in one request. Throws RpcError, also those of the bundler. */
  async #sponsor({ operation, entryPoint, chainId, context }: SponsorRequest, caller: Exchange): Promise<unknown> {
    const { node } = this.#parts
    const chain = chainId ?? BigInt(await node.chainId())
    const stub = STUB_FIELDS.parse(await this.#answer('stub', [operation, entryPoint, chain, context], caller), 'stub')
    const fields = operation as object // parsed as an object with the stub
    const limits = ESTIMATE.parse(
      await node.ask('eth_estimateUserOperationGas', { ...fields, ...stub }, Address.checksum(entryPoint)),
      'estimate',
    )
    const signed = await this.#answer('final', [{ ...fields, ...stub, ...limits }, entryPoint, chain, context], caller)
    return { ...limits, ...(signed as object) } // an object of paymaster fields
  }

  async #grantingPolicies(value: unknown, at: Address, names: readonly string[], caller: Exchange): Promise<unknown> {
    const { node, ledger, policies } = this.#parts
    const chainId = await node.chainId()
    const hasAmounts = isObject(value) && missingAmountOf(value) === undefined
    const parsed = readRequest(hasAmounts ? 'final' : 'stub', [value, at, BigInt(chainId)], chainId, policies())
    const { timestamp } = await node.now()
    const input = policyInputOf(parsed, chainId, timestamp, caller)
    const granting = policies().filter(
      ({ name }) => names.includes(name) && ledger.decide(policies(), { ...input, policy: name }).isGranted,
    )
    return granting.map(({ name }) => ({ sponsorshipPolicyId: name, data: { name, author: null, icon: null, description: null } }))
  }

  /** Applies a fault before the policies. Returns the chain's time afterwards. */
  async #applyFault(fault: Fault, request: Request, exchange: Exchange): Promise<number> {
    const why = refusal('fault', `the sponsor is set to fail (${fault.kind}); pocketchain_sponsorFault changes that`)
    if (fault.kind === 'refuse') throw this.#refused(request, why)
    if (fault.kind === 'http-500') {
      this.#record(request, why)
      exchange.isServerError = true
      throw new RpcError(CODE.internal, why.message)
    }
    if (fault.kind !== 'slow') return request.input.now
    await delay(fault.delayMs ?? FAULT_DELAY_MS, exchange.signal)
    return (await this.#parts.node.now()).timestamp
  }

  /** Throws RpcError for a refusal by the policies. */
  #decide(request: Request): void {
    const decision = this.#parts.ledger.decide(this.#parts.policies(), request.input)
    if (!decision.isGranted) throw this.#refused(request, decision)
  }

  /** Returns the paying paymaster, deployed if necessary, with its deposit. */
  async #payer(request: Request, fault: Fault | null): Promise<Pick<GrantContext, 'paymaster' | 'deposit'>> {
    const { deployer } = this.#parts
    const { version } = request.entryPoint
    try {
      const deposit = await this.#depositOf(version)
      if (fault?.kind !== 'empty-deposit') return { paymaster: deployer.of(version), deposit }
      const other = version === '0.8' ? '0.7' : '0.8'
      await deployer.ensureDeployed(other)
      return { paymaster: deployer.of(other), deposit }
    } catch (error) {
      if (!(error instanceof NotDeployed)) throw error
      this.#record(request, refusal('not-deployed', error.message))
      throw new RpcError(SPONSOR_CODE.unavailable, `unavailable - ${error.message}`, error.data)
    }
  }

  /** Returns the deposit in wei. Deploys the paymaster at the first use, and again after a reorg that removed it. Throws NotDeployed. */
  async #depositOf(version: SponsoredVersion): Promise<bigint> {
    const { deposits, deployer } = this.#parts
    await deployer.ensureDeployed(version)
    const { deposit } = await deposits.check(deployer.of(version))
    if (deposit > 0n || (await deployer.isStillDeployed(version))) return deposit
    return this.#depositOf(version)
  }

  /** Throws RpcError unless the deposit without other reservations covers the operation. */
  #assertDeposit(request: Request, deposit: bigint): void {
    const { deployer, ledger } = this.#parts
    const { input } = request
    const { address, entryPoint: at, version } = deployer.of(request.entryPoint.version)
    const left = deposit - ledger.reservedOf(address, input)
    if (left > 0n && left >= (input.maxCost ?? 0n)) return
    const wanted = input.maxCost === null ? '' : `the operation may cost ${input.maxCost} wei, `
    const message = `${wanted}${left > 0n ? left : 0n} wei are left of the paymaster's deposit in EntryPoint ${version} (${deposit} wei)`
    throw this.#refused(request, refusal('deposit-too-low', message), { paymaster: address, entryPoint: at })
  }

  #grant(request: Request, { paymaster, fault, deposit, delegate }: GrantContext): unknown {
    const { ledger, policies, signer, validForSeconds } = this.#parts
    const { input, entryPoint: at } = request
    this.#assertDeposit(request, deposit)
    const validUntil = fault?.kind === 'expired' ? Math.max(input.now - 1, 1) : input.now + validForSeconds
    const limited = { ...request.operation, paymaster: paymaster.address }
    const key = fault?.kind === 'wrong-signature' ? UNRELATED_KEY : signer
    const domain = { version: at.version, chainId: input.chainId, paymaster: paymaster.address }
    const signed = PaymasterData.sign(limited, domain, validUntil, key)
    const paymasterData = fault?.kind === 'differ' ? Uint8Array.of(...signed, 0xff) : signed
    const operation: UserOperation = { ...limited, paymasterData }
    if (fault !== null && FAULT_RULES[fault.kind].isUnusable) {
      this.#record(
        request,
        refusal('fault', `the sponsor is set to fail (${fault.kind}): the signature is unusable; pocketchain_sponsorFault changes that`),
      )
      return this.#json(request, paymaster, operation)
    }
    const { maxFeePerGas, maxPriorityFeePerGas } = operation
    const userOpHash = hashOf(operation, at, input.chainId, delegate)
    const terms: Terms = { paymaster: paymaster.address, validUntil, userOpHash, maxFeePerGas, maxPriorityFeePerGas }
    const reserved = ledger.reserve(policies(), input, terms)
    if (!reserved.isGranted) throw this.#refused(request, reserved)
    return this.#json(request, paymaster, operation)
  }

  /** Returns the account's delegate, which is part of the hash; `null` if it does not delegate, or the delegate is unknown. */
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

  /** The response does not name policies or remaining budgets, because any client may send requests; the ledger's entry `data.entry` does. */
  #refused(request: Request, refused: Refusal, more: object = {}): RpcError {
    const { id } = this.#record(request, refused)
    const { reason } = refused
    const isUnavailable = UNAVAILABLE.has(reason)
    const message = `${isUnavailable ? 'unavailable' : 'request denied'} - ${publicReason(refused)}`
    return new RpcError(isUnavailable ? SPONSOR_CODE.unavailable : SPONSOR_CODE.denied, message, { reason, entry: id, ...more })
  }

  #record({ input, stage }: Request, refused: Refusal): Entry {
    return this.#parts.ledger.refuse(input, stage, refused)
  }
}

/** Returns the policy's message, if it depends on the request only. */
function publicReason({ reason, policy, message, reasons }: Refusal): string {
  return CONFIDENTIAL_REASONS.get(reason) ?? reasons.find((each) => each.policy === policy)?.message ?? message
}

/** Messages that would reveal the use of other callers, or settings of the operator. */
const CONFIDENTIAL_REASONS: ReadonlyMap<Reason, string> = new Map([
  ['ended', 'sponsoring has ended'],
  ['per-operation', 'the operation may cost more than the limit per operation'],
  ['per-user', 'the budget of this account does not cover it'],
  ['per-day', 'the budget of this day does not cover it'],
  ['total', 'the total budget does not cover it'],
  ['too-many-open', 'too many operations are reserved and not sent yet: wait until some are used or expire'],
  ['deposit-too-low', "the paymaster's free deposit does not cover it"],
])

/** No paymaster has this signer. */
const UNRELATED_KEY: PrivateKey = Hash.toBytes(Hash.ofText('an unrelated signer'))

const UNAVAILABLE: ReadonlySet<Reason> = new Set(['deposit-too-low', 'not-deployed'])

interface ParsedRequest {
  readonly entryPoint: SponsoredEntryPoint
  /** the operation with the paymaster's gas limits, but without the paymaster */
  readonly operation: UserOperation
  /** the only policy that may pay; `null` for any */
  readonly policy: string | null
  readonly maxCost: bigint | null
}

interface Request extends ParsedRequest {
  readonly stage: Stage
  readonly input: PolicyInput
}

/** Facts that were read from the node before the reservation. */
interface GrantContext {
  readonly paymaster: SponsorDeployment
  readonly fault: Fault | null
  readonly deposit: bigint
  readonly delegate: Address | null
}

function policyInputOf(
  { entryPoint: at, operation, policy, maxCost }: ParsedRequest,
  chainId: number,
  now: number,
  { apiKey }: PaymasterCaller,
): PolicyInput {
  const { sender, nonce, callData } = operation
  const calls = innerCalls(sender, callData)
  return { chainId, version: at.version, entryPoint: at.address, sender, nonce, ...calls, apiKey, maxCost, now, policy }
}

/** Returns `null` if the delegate is unknown. */
function hashOf(operation: UserOperation, { version, address }: EntryPoint, chainId: number, delegate: Address | null): Hash | null {
  if (operation.factory === UserOperation.DELEGATION && delegate === null) return null
  return UserOperation.hash(operation, { version, entryPoint: address, chainId, ...(delegate === null ? null : { delegate }) })
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
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

// --- parsing ----------------------------------------------------------------------------------------------------------

interface SponsoredEntryPoint extends EntryPoint {
  readonly version: SponsoredVersion
}

const BY_ADDRESS: ReadonlyMap<Address, SponsoredEntryPoint> = new Map(
  SPONSORED_VERSIONS.map((version) => [ENTRY_POINTS[version], { ...entryPoint(version), version }]),
)

/** Throws RpcError -32602 with the path of the invalid value. */
function readRequest(stage: Stage, [value, at, wanted, context]: Args, chainId: number, policies: readonly Policy[]): ParsedRequest {
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

function missingAmountOf(given: Readonly<Record<string, unknown>>): string | undefined {
  return AMOUNTS.find((name) => given[name] === undefined || given[name] === null)
}

/** Paymaster fields of the request are ignored: the response replaces them. */
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
  const given = value as Readonly<Record<string, unknown>> // parsed as an object before
  const missing = stage === 'stub' ? undefined : missingAmountOf(given)
  if (missing !== undefined) throw invalidParams(`invalid ${PATH}.${missing}: missing value; the signature covers all gas limits and fees`)
  if (version === '0.6') return operation
  const limit = (name: 'paymasterVerificationGasLimit' | 'paymasterPostOpGasLimit', ours: bigint) =>
    GAS.parse(given[name], `${PATH}.${name}`) ?? ours
  // Clients send 0 as a placeholder.
  const verification = limit('paymasterVerificationGasLimit', 0n)
  return {
    ...operation,
    paymasterVerificationGasLimit: verification === 0n ? PaymasterData.verificationGas(operation) : verification,
    paymasterPostOpGasLimit: limit('paymasterPostOpGasLimit', POST_OP_GAS),
  }
}

const TEXT = schema.maybe(schema.string)
/** The paymaster fields of a stub, in JSON. */
const STUB_FIELDS = schema.object({
  paymaster: TEXT,
  paymasterData: TEXT,
  paymasterAndData: TEXT,
  paymasterVerificationGasLimit: TEXT,
  paymasterPostOpGasLimit: TEXT,
})
/** The operation's limits; the limits of the paymaster come from its stub. */
const ESTIMATE = schema.object({ preVerificationGas: schema.string, verificationGasLimit: schema.string, callGasLimit: schema.string })

const PATH = 'argument 0 (userOperation)'
const GAS = {
  parse: (value: unknown, path: string): bigint | null => {
    if (value === undefined || value === null) return null
    const gas = schema.quantity.parse(value, path)
    if (gas >> 120n !== 0n) throw invalidParams(`invalid ${path}: AA94 gas values overflow: more than 120 bits`)
    return gas
  },
}

/** Reads `policy` of the context. The keys of Pimlico and Coinbase select a policy of that name, and are otherwise ignored. */
function policyOf(context: unknown, policies: readonly Policy[]): string | null {
  if (context === undefined || context === null) return null
  if (typeof context !== 'object' || Array.isArray(context)) throw invalidParams('invalid argument 3 (context): expected an object or null')
  const { policy, sponsorshipPolicyId, policyId } = context as Readonly<Record<string, unknown>> // any object has this shape
  if (policy === undefined || policy === null)
    return policies.find(({ name }) => name === sponsorshipPolicyId || name === policyId)?.name ?? null
  if (typeof policy !== 'string') throw invalidParams('invalid argument 3 (context).policy: expected the name of a policy')
  return policy
}

import { Abi, Address, Hash, Hex } from '../eth/index.ts'
import type { UserOperation } from '../eth/index.ts'
import type { RpcError } from '../jsonrpc/index.ts'
import { codesOf, delegatesOf } from './codes.ts'
import type { Codes } from './codes.ts'
import { refuse } from './errors.ts'
import type { BundlerNode } from './node.ts'
import { factoryOf } from './reputation.ts'
import type { StakeLimits } from './rulesettings.ts'
import type { Candidate } from './validation.ts'
import { isPaymasterValidation } from './validationtrace.ts'
import type { Frame, ValidationTrace } from './validationtrace.ts'

// ERC-7562: restricts what validations access, so that an operation stays valid until it is included and one change of state cannot
// invalidate many operations.

export type Role = 'account' | 'factory' | 'paymaster'

/** The entity whose validation runs. */
interface Entity {
  readonly role: Role
  readonly address: Address
}

interface Violation {
  readonly rule: string
  readonly what: string
  readonly entity: Entity
  /** entities whose stake allows it; empty: none */
  readonly allowedBy: readonly Entity[]
}

/** A violation of a rule by a validation, for which a public bundler refuses the operation. */
export interface RuleWarning {
  /** such as `OP-011` */
  readonly rule: string
  /** null: not of one entity */
  readonly role: Role | null
  readonly entity: Address | null
  /** the refusal of `strict` */
  readonly error: RpcError
}

/**
 * Checks a traced validation against the rules. Returns the code that ran and the first violation of each rule by each entity, with -32502, or -32505 for one
 * that the entity's stake is too low for.
 */
export async function checkRules(
  node: BundlerNode,
  trace: ValidationTrace,
  candidate: Candidate,
  { minStake, minUnstakeDelay }: StakeLimits,
): Promise<{ readonly codes: Codes; readonly warnings: readonly RuleWarning[] }> {
  const { found, visited } = findViolations(trace, candidate)
  const stakes = new Map<Address, Stake>()
  const stakeOfEntity = async (address: Address) => {
    const stake = stakes.get(address) ?? (await stakeOf(node, candidate.entryPoint.address, address))
    stakes.set(address, stake)
    return stake
  }
  const warnings: RuleWarning[] = []
  for (const { entity, allowedBy, rule, what } of found) {
    // A validation may access thousands of slots.
    if (warnings.some((each) => each.rule === rule && each.role === entity.role && each.entity === entity.address)) continue
    const staked = await Promise.all(allowedBy.map(async (each) => ({ entity: each, stake: await stakeOfEntity(each.address) })))
    if (staked.some(({ stake }) => stake.amount >= minStake && stake.unstakeSeconds >= minUnstakeDelay)) continue
    const data = { rule, [entity.role]: entity.address }
    const which = `(${rule} of ERC-7562, ${entity.role} ${entity.address})`
    const short = staked.find(({ stake }) => stake.amount > 0n)
    const error =
      short === undefined
        ? refuse('rule', `${entity.role} ${what} ${which}, which a validation must not do; ${ADVICE}`, data)
        : refuse(
            'stake',
            `${entity.role} ${what} ${which} and may do so with a stake of ${minStake} wei for ${minUnstakeDelay} s; ${short.entity.role} ${short.entity.address} has ${short.stake.amount} wei for ${short.stake.unstakeSeconds} s`,
            { ...data, minimumStake: Hex.fromQuantity(minStake), minimumUnstakeDelay: Hex.fromQuantity(minUnstakeDelay) },
          )
    warnings.push({ rule, role: entity.role, entity: entity.address, error })
  }
  return { codes: await codesOf(node, visited, delegatesOf([candidate.operation])), warnings }
}

const ADVICE = 'a public bundler refuses it too; --bundler-rules relaxed accepts it here with a warning'

// --- entities ---------------------------------------------------------------------------------------------------------

interface ValidationAccesses {
  readonly found: readonly Violation[]
  readonly visited: ReadonlySet<Address>
}

function findViolations({ frames, preimages }: ValidationTrace, { entryPoint, operation }: Candidate): ValidationAccesses {
  const found: Violation[] = []
  const visited = new Set<Address>()
  const hashed = new Map<Address, ReadonlySet<bigint>>()
  const associated = (slot: Hash, holder: Address): boolean => {
    const bases = hashed.get(holder) ?? basesOf(holder, preimages)
    hashed.set(holder, bases)
    return isAssociated(slot, holder, bases)
  }
  for (const frame of frames) {
    const entity = entityOf(frame, operation, entryPoint.senderCreator)
    if (entity === null) continue
    const context: Context = { entity, operation, entryPoint: entryPoint.address, associated, found, visited, creations: { count: 0 } }
    assertContext(frame, entity, found)
    const own = frame.to === entryPoint.senderCreator ? frame.calls : [frame]
    for (const each of own) walk(each, context)
  }
  return { found, visited }
}

function entityOf(frame: Frame, operation: UserOperation, senderCreator: Address): Entity | null {
  const { sender, paymaster } = operation
  if (frame.to === senderCreator) return factoryEntity(operation) ?? { role: 'account', address: sender }
  if (paymaster !== null && isPaymasterValidation(frame, paymaster)) return { role: 'paymaster', address: paymaster }
  return frame.to === sender ? { role: 'account', address: sender } : null
}

// --- the rules --------------------------------------------------------------------------------------------------------

interface Context {
  readonly entity: Entity
  readonly operation: UserOperation
  readonly entryPoint: Address
  readonly associated: (slot: Hash, holder: Address) => boolean
  readonly found: Violation[]
  readonly visited: Set<Address>
  readonly creations: { count: number }
}

/** OP-011: opcodes that depend on the block, the transaction or the remaining gas. */
const BANNED: ReadonlyMap<number, string> = new Map([
  [0x32, 'ORIGIN'],
  [0x3a, 'GASPRICE'],
  [0x40, 'BLOCKHASH'],
  [0x41, 'COINBASE'],
  [0x42, 'TIMESTAMP'],
  [0x43, 'NUMBER'],
  [0x44, 'DIFFICULTY'],
  [0x45, 'GASLIMIT'],
  [0x48, 'BASEFEE'],
  [0x49, 'BLOBHASH'],
  [0x4a, 'BLOBBASEFEE'],
  [0xfe, 'INVALID'],
  [0xff, 'SELFDESTRUCT'],
])
/** OP-080: allowed with a stake. */
const BALANCES: ReadonlyMap<number, string> = new Map([
  [0x31, 'BALANCE'],
  [0x47, 'SELFBALANCE'],
])
const GAS = 0x5a

function walk(frame: Frame, context: Context): void {
  const { entryPoint, found } = context
  const add: Add = (rule, what, allowedBy = [], entity = context.entity) => found.push({ rule, what, entity, allowedBy })
  // The EntryPoint's own frames are exempt; the frame of the caller is checked for calls to it.
  if (frame.to === entryPoint && frame.type !== 'DELEGATECALL') return
  if (frame.to !== null && !isPrecompile(frame.to)) context.visited.add(frame.to)
  opcodes(frame, context, add)
  creations(frame, context, add)
  accesses(frame, context, add)
  storage(frame, context, add)
  for (const call of frame.calls) {
    if (call.to === entryPoint) entryPointCall(call, context, add)
    else if (call.value > 0n && call.type === 'CALL') add('OP-061', `sends ${call.value} wei to ${call.to ?? 'a new contract'}`)
    walk(call, context)
  }
}

/** `allowedBy`: the entities whose stake allows it, by default none. `entity`: by default the one whose validation runs. */
type Add = (rule: string, what: string, allowedBy?: readonly Entity[], entity?: Entity) => unknown

function opcodes({ opcodes: used, outOfGas }: Frame, { entity }: Context, add: Add): void {
  for (const op of used) {
    const banned = BANNED.get(op)
    if (banned !== undefined) add('OP-011', `uses banned opcode: ${banned}`)
    const balance = BALANCES.get(op)
    if (balance !== undefined) add('OP-080', `uses banned opcode: ${balance}`, [entity])
    if (op === GAS) add('OP-012', 'uses banned opcode: GAS, other than for a call')
    if (!isAssigned(op)) add('OP-013', `uses the unassigned opcode 0x${op.toString(16)}`)
  }
  if (outOfGas) add('OP-020', 'runs out of gas')
}

/** Ranges of assigned opcodes. */
const ASSIGNED: readonly (readonly [number, number])[] = [
  [0x00, 0x0b],
  [0x10, 0x1e],
  [0x20, 0x20],
  [0x30, 0x4a],
  [0x50, 0xa4],
  [0xf0, 0xf5],
  [0xfa, 0xfa],
  [0xfd, 0xff],
]

function isAssigned(op: number): boolean {
  return ASSIGNED.some(([first, last]) => op >= first && op <= last)
}

/**
 * OP-031: one CREATE2, that of the sender. OP-032: a sender in creation may CREATE. EREP-060: with a staked factory, it and the sender may create more.
 * EREP-061: a contract that the factory calls may do so too.
 */
function creations(frame: Frame, { entity, operation, creations: made }: Context, add: Add): void {
  const factory = factoryEntity(operation)
  const staked = factory === null || entity.role === 'paymaster' ? [] : [factory]
  for (const { type, from, to } of frame.calls) {
    if (type === 'CREATE2') {
      made.count += 1
      if (entity.role !== 'factory') add('OP-031', 'uses banned opcode: CREATE2', from === operation.sender ? staked : [])
      else if (made.count > 1 || to !== operation.sender)
        add('OP-031', `uses banned opcode: CREATE2, for ${to ?? 'a contract'} besides the sender`, staked)
    }
    if (type !== 'CREATE') continue
    const ofSender = from === operation.sender && operation.factory !== null
    if (!ofSender) add('OP-011', 'uses banned opcode: CREATE', entity.role === 'factory' ? staked : [])
  }
}

function factoryEntity(operation: UserOperation): Entity | null {
  const address = factoryOf(operation)
  return address === null ? null : { role: 'factory', address }
}

/** OP-041, OP-042, OP-051, OP-062: which code may be called or inspected. */
function accesses(frame: Frame, { operation, entryPoint }: Context, add: Add): void {
  for (const [address, size] of frame.sizes) {
    if (isPrecompile(address)) {
      if (!ALLOWED_PRECOMPILES.has(address)) add('OP-062', `calls the precompile ${address}`)
    } else if (size === 0 && address !== operation.sender) add('OP-041', `calls or inspects ${address}, which has no code`)
  }
  if (frame.codeAccesses.includes(entryPoint)) add('OP-054', 'inspects the code of the EntryPoint')
}

function isPrecompile(address: Address): boolean {
  return BigInt(address) <= 0x1ffn && BigInt(address) > 0n
}

/** 1 to 17, the last ones of BLS12-381 (EIP-2537), and P256VERIFY (RIP-7212). */
const ALLOWED_PRECOMPILES: ReadonlySet<Address> = new Set(
  [...Array.from({ length: 17 }, (_, i) => BigInt(i + 1)), 0x100n].map(Address.fromBigint),
)

const DEPOSIT_TO = Abi.selector('depositTo(address)')
const INCREMENT_NONCE = Abi.selector('incrementNonce(uint192)')

/** OP-052 to OP-054. As in the reference bundler, a contract that the account or the factory calls may pay for it. */
function entryPointCall(call: Frame, { entity, operation }: Context, add: Add): void {
  const selector = call.input.slice(0, 10)
  const toSender = Hex.fromBytes32(BigInt(operation.sender)).slice(2)
  const isPayment = call.input === '0x' || (selector === DEPOSIT_TO && call.input.slice(10) === toSender)
  if (isPayment && entity.role !== 'paymaster') return
  if (selector === INCREMENT_NONCE && call.from === operation.sender) return
  add('OP-054', `calls the EntryPoint (${selector})`)
}

/** STO-010 to STO-033. OP-070: transient storage counts as storage. */
function storage(frame: Frame, { entity, operation, associated }: Context, add: Add): void {
  const owner = frame.type === 'DELEGATECALL' || frame.type === 'CALLCODE' ? frame.from : frame.to
  if (owner === null || owner === operation.sender) return
  for (const slot of frame.slots) {
    const writes = frame.written.has(slot)
    const what = `${writes ? 'writes' : 'reads'} slot ${slot} of ${owner}`
    if (owner === entity.address) add('STO-031', what, [entity])
    else if (associated(slot, operation.sender)) ofSender(what, writes)
    else if (associated(slot, entity.address)) add('STO-032', what, [entity])
    else add('STO-033', what, writes ? [] : [entity])
  }
  // Storage of an existing sender is unrestricted. That of a sender in creation needs a staked factory, or, to be read, a staked entity (STO-033).
  function ofSender(what: string, writes: boolean): void {
    const factory = factoryEntity(operation)
    if (factory !== null) add('STO-022', what, writes ? [factory] : [factory, entity], factory)
  }
}

/** EREP-050: the context that a paymaster returns. */
function assertContext(frame: Frame, entity: Entity, found: Violation[]): void {
  if (entity.role !== 'paymaster' || frame.output.length < 2 + 3 * 64) return
  const at = 2 + 2 * Number(BigInt(frame.output.slice(0, 66)))
  const length = frame.output.slice(at, at + 64)
  if (length.length === 64 && BigInt(`0x${length}`) > 0n)
    found.push({ rule: 'EREP-050', what: 'returns a context', entity, allowedBy: [entity] })
}

/** Associated storage (ERC-7562): the slot with the address as its number, and slots of mappings keyed by the address. */
function isAssociated(slot: Hash, holder: Address, bases: ReadonlySet<bigint>): boolean {
  const number = BigInt(slot)
  if (number === BigInt(holder)) return true
  for (const base of bases) if (number >= base && number - base <= ASSOCIATED_SLOTS) return true
  return false
}

const ASSOCIATED_SLOTS = 128n

function basesOf(holder: Address, preimages: readonly Uint8Array[]): ReadonlySet<bigint> {
  const prefix = Hex.fromBytes32(BigInt(holder))
  const mappings = preimages.filter((preimage) => preimage.length >= 32 && Hex.fromBytes(preimage.subarray(0, 32)) === prefix)
  return new Set(mappings.map((preimage) => BigInt(Hash.keccak(preimage))))
}

// --- stakes -----------------------------------------------------------------------------------------------------------

export interface Stake {
  /** wei */
  readonly amount: bigint
  readonly unstakeSeconds: bigint
}

const GET_DEPOSIT_INFO = Abi.selector('getDepositInfo(address)')

/** Returns (deposit, staked, stake, unstakeDelaySec, withdrawTime). A stake in withdrawal counts as zero. */
export async function stakeOf(node: BundlerNode, entryPoint: Address, entity: Address): Promise<Stake> {
  const info = Abi.Reader(await node.read(entryPoint, Abi.call(GET_DEPOSIT_INFO, [entity])))
  return info.word(1) === 0n ? { amount: 0n, unstakeSeconds: 0n } : { amount: info.word(2), unstakeSeconds: info.word(3) }
}

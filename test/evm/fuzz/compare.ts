import { Address, Delegation, Hash, Hex } from '../../../src/eth/index.ts'
import type { BlockContext, StateReader, WriteSet } from '../../../src/evm/index.ts'
import type { Frame, FrameResult } from '../../../src/evm/engine.fixture.ts'
import { COINBASE, contextOf } from './block.ts'
import { BaseState, type Case, type MessageOf } from './program.ts'

/** The part of a world needed to run a case, common to engine and oracle. */
export interface ExecutionWorld extends StateReader {
  codeAt(address: Address): Uint8Array
  setNonce(address: Address, nonce: bigint): void
  setAccount(address: Address, account: null): void
  clearStorage(address: Address): void
  checkpoint(): number
  revertTo(mark: number): void
  beginTransaction(): void
  removeTouchedEmpty(): void
  writes(): WriteSet
  rebase?(base: StateReader): void
  release?(): void
}

/** Runs frames on worlds of its kind. */
export interface Engine<World extends ExecutionWorld> {
  readonly open: (base: StateReader) => World
  readonly run: (frame: Frame, context: BlockContext, world: World) => FrameResult | Promise<FrameResult>
}

/** Observable results of one message as comparable text. */
export interface Observed {
  readonly kind: string
  readonly output: Hex
  readonly gasUsed: bigint
  readonly refund: bigint
  readonly logs: string
  readonly destroyed: string
  readonly writes: string
}

/** A difference between two engines. */
export interface Mismatch {
  readonly message: number
  readonly fields: readonly (keyof Observed)[]
  readonly ours: Observed
  readonly oracle: Observed
}

/** Results of all messages of a case. */
export async function observe<World extends ExecutionWorld>(it: Case, engine: Engine<World>): Promise<Observed[]> {
  const context = contextOf(it.fork, it.codeSizeLimit)
  let base = BaseState.of(it)
  let world = engine.open(base)
  const all: Observed[] = []
  for (const message of it.messages) {
    const mark = world.checkpoint()
    const result = await runMessage(message, context, world, engine)
    const writes = world.writes()
    // Frontier creates although the code cannot be paid for; the output of such a creation is irrelevant.
    const isSilent = message.to === null && !context.rules.has('homestead')
    all.push(observed(isSilent ? { ...result, output: new Uint8Array() } : result, writes))
    if (message.after === 'undo') world.revertTo(mark)
    if (message.after === 'keep' || message.after === 'undo') continue
    base = message.after === 'back' ? base.before : base.with(writes)
    if (message.after === 'rebase' && world.rebase !== undefined) {
      world.rebase(base)
    } else {
      world.release?.()
      world = engine.open(base)
    }
  }
  world.release?.()
  return all
}

/** The first message with a different result, or null. */
export function firstDifference(ours: readonly Observed[], oracle: readonly Observed[]): Mismatch | null {
  for (const [message, wanted] of oracle.entries()) {
    const found = ours[message]
    if (found === undefined) throw new RangeError('an engine skipped a message')
    const fields = FIELDS.filter((field) => found[field] !== wanted[field])
    if (fields.length > 0) return { message, fields, ours: found, oracle: wanted }
  }
  return null
}

const FIELDS = ['kind', 'output', 'gasUsed', 'refund', 'logs', 'destroyed', 'writes'] as const

async function runMessage<World extends ExecutionWorld>(
  message: MessageOf<Hex>,
  context: BlockContext,
  world: World,
  engine: Engine<World>,
): Promise<FrameResult> {
  const { caller, to, value } = message
  world.beginTransaction()
  const { nonce, balance } = world.account(caller) ?? { nonce: 0n, balance: 0n }
  const created = to === null ? Address.create(caller, nonce) : null
  world.setNonce(caller, nonce + 1n)
  const target = to === null || !context.rules.has('prague') ? null : Delegation.of(world.codeAt(to))
  const coinbase = context.rules.has('shanghai') ? COINBASE : null
  const result = await engine.run(
    {
      caller,
      to,
      data: Hex.toBytes(message.data),
      value: balance < value ? 0n : value,
      gas: message.gas,
      gasPrice: 11n,
      blobVersionedHashes: Array.from({ length: message.blobs }, (_, index) => Hash.fromBigint((1n << 248n) + BigInt(index))),
      warm: [caller, to ?? created, target, coinbase].filter((address) => address !== null),
      accessList: message.accessList,
      movedPrecompiles: message.moved.length === 0 ? null : new Map(message.moved),
      maskedPrecompiles: message.masked.length === 0 ? null : new Set(message.masked),
      deadline: null,
      tracer: null,
    },
    context,
    world,
  )
  cleanUp(result, context, world)
  return result
}

/** Removes destroyed and touched empty accounts, as at the end of a transaction. */
function cleanUp({ destroyed }: FrameResult, { rules }: BlockContext, world: ExecutionWorld): void {
  for (const address of destroyed) {
    world.clearStorage(address)
    world.setAccount(address, null)
  }
  if (rules.has('spurious')) world.removeTouchedEmpty()
}

function observed({ outcome, output, gasUsed, refund, logs, destroyed }: FrameResult, writes: WriteSet): Observed {
  const good = outcome.kind === 'success'
  return {
    kind: outcome.kind,
    output: outcome.kind === 'halt' ? '0x' : Hex.fromBytes(output),
    gasUsed,
    refund: good ? refund : 0n,
    logs: good ? JSON.stringify(logs.map(({ address, topics, data }) => [address, topics, Hex.fromBytes(data)])) : '[]',
    destroyed: good ? destroyed.toSorted().join() : '',
    writes: textOf(writes),
  }
}

function textOf({ accounts, storage, codes }: WriteSet): string {
  const lines = [...accounts].map(([address, account]) => {
    if (account === null) return `${address} gone`
    const code = codes.get(account.codeHash)
    const written = code === undefined ? account.codeHash : Hash.keccak(code)
    return `${address} nonce ${account.nonce} balance ${account.balance} code ${account.codeHash}${written === account.codeHash ? '' : ' WRONG CODE'}`
  })
  for (const [address, slots] of storage) for (const [slot, value] of slots) lines.push(`${address}[${BigInt(slot)}] = ${value}`)
  return lines.toSorted().join('\n')
}

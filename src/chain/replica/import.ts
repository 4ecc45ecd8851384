import { Block, DecodeError, Header, Hex } from '../../eth/index.ts'
import type { DecodedBlock } from '../../eth/index.ts'
import { InvalidTransaction, rulesAt } from '../../evm/index.ts'
import type { Rules, WriteSet } from '../../evm/index.ts'
import { BLOCK_BYTES, MAX_GAS_LIMIT, MIN_GAS_LIMIT } from '../limits.ts'
import { TimeSlice } from '../timeslice.ts'
import { BlockBuilder, BlockFull } from '../sequencing/builder.ts'
import type { Chain } from '../chain.ts'
import { timestampMsOf } from '../sequencing/chaintime.ts'
import { decodeTimestampMs } from '../sequencing/deposits.ts'
import type { SealedChain } from '../view/sealedchain.ts'

/**
 * Executes the RLP blocks of a chain file (geth's `export` format) on top of the head. A header field that follows from the parent and the
 * execution must be equal; one that the producer chooses must be allowed, see `producerRules`. Known blocks are skipped. All or nothing:
 * throws ImportError, DecodeError, an error of `onBlock` or of the store, and leaves the chain as it was; if the process ends meanwhile, the
 * blocks flushed so far stay. Returns the number of blocks in the file.
 */
export async function importChain(chain: Chain, file: Uint8Array, onBlock: (number: number) => void = () => undefined): Promise<number> {
  const blocks = decodeAll(file)
  await chain.importBlocks(async ({ sealed, flush, announce, markKnown }) => {
    const start = sealed.head.header.number
    const timeSlice = new TimeSlice()
    const done: Executed[] = []
    const announceAll = () => done.forEach(({ block, writes }) => announce(block, writes))
    try {
      for (const decoded of blocks) {
        if (!isKnown(decoded, sealed)) done.push(execute(decoded, chain, sealed))
        onBlock(decoded.header.number)
        if (timeSlice.isExpired) flush()
        await timeSlice.yieldIfExpired() // lets signals through, which stop the import
      }
      flush()
    } catch (error) {
      done.splice(rewindTo(sealed, start))
      announceAll()
      throw error
    }
    if (done.length === 0) markKnown(blocks.at(-1)!.header.number) // decodeAll returns at least one
    announceAll()
  })
  return blocks.length
}

/** Executes a sealed block on top of the head, with its base fee, and checks the header as `importChain` does, and the hash. Throws ImportError. */
export async function replayBlock(chain: Chain, block: Block): Promise<void> {
  await chain.importBlocks(async ({ sealed, flush, announce }) => {
    const start = sealed.head.header.number
    try {
      const executed = execute(block, chain, sealed, block.header.baseFeePerGas)
      if (executed.block.hash !== Header.hash(block.header))
        throw new ImportError(start + 1, `has the hash ${block.hash}, its header gives ${Header.hash(block.header)}`)
      flush()
      announce(executed.block, executed.writes)
    } catch (error) {
      rewindTo(sealed, start)
      throw error
    }
  })
}

/** An executed block that is not announced yet. */
interface Executed {
  readonly block: Block
  readonly writes: WriteSet
}

/** Returns the number of blocks after `start` that stay because the store refuses to remove them; usually 0. */
function rewindTo(sealed: SealedChain, start: number): number {
  try {
    sealed.rewind(start)
  } catch {
    // The caller throws the original error.
    sealed.discardStaged()
  }
  return sealed.head.header.number - start
}

function decodeAll(file: Uint8Array): DecodedBlock[] {
  const blocks = [...Block.decodeChain(file)]
  if (blocks.length === 0) throw new DecodeError('chain file', 'holds no block')
  return blocks
}

/** Throws ImportError for another genesis. */
function isKnown({ header, hash }: DecodedBlock, sealed: SealedChain): boolean {
  const ours = sealed.blockHash(header.number)
  if (header.number === sealed.store.firstBlock && ours !== hash) {
    throw new ImportError(header.number, `is another genesis: the file has ${hash}, this chain ${ours ?? 'none'}`)
  }
  return ours === hash
}

/** `baseFee` in wei; null: by the rules. */
function execute(decoded: DecodedBlock, chain: Chain, sealed: SealedChain, baseFee: bigint | null = null): Executed {
  const { header } = decoded
  const parent = sealed.head
  if (header.number !== parent.header.number + 1) {
    throw new ImportError(header.number, `does not follow block ${parent.header.number}`)
  }
  if (header.parentHash !== parent.hash) {
    throw new ImportError(header.number, `parentHash is ${header.parentHash}, block ${parent.header.number} has ${parent.hash}`)
  }
  const timestampMs = decodeTimestampMs(decoded)
  const rules = rulesAt(chain.config, header.number, header.timestamp)
  assertSize(decoded, rules)
  assertWithdrawals(decoded, rules)
  assertProducerRules(decoded, producerRules({ ...decoded, timestampMs }, parent, rules))
  const builder = new BlockBuilder(
    sealed.history,
    chain.config,
    parent,
    { ...attributesOf(decoded), baseFeePerGas: baseFee },
    sealed.blockHash,
  )
  const { block, writes } = build(builder, decoded)
  assertSameHeader(block.header, header)
  const imported: Block = { ...decoded, receipts: block.receipts, timestampMs }
  sealed.append(imported)
  return { block: imported, writes }
}

/** EIP-7934. */
function assertSize({ header, sizeBytes }: DecodedBlock, rules: Rules): void {
  if (rules.op !== null || !rules.has('osaka') || sizeBytes <= BLOCK_BYTES) return
  throw new ImportError(header.number, `block RLP-encoded size exceeds maximum: ${sizeBytes} bytes, limit ${BLOCK_BYTES}`)
}

/** EIP-4895, and OP's Canyon. A block before Shanghai can have an empty list without another header field. */
function assertWithdrawals({ header, withdrawals }: DecodedBlock, rules: Rules): void {
  const since = 'list of withdrawals, which blocks have since Shanghai'
  if (rules.has('shanghai') !== (withdrawals !== null))
    throw new ImportError(header.number, `${withdrawals === null ? 'has no' : 'has a'} ${since}`)
  if (rules.op !== null && withdrawals !== null && withdrawals.length > 0)
    throw new ImportError(header.number, 'has withdrawals of the consensus layer, which OP chains do not have')
}

/** What one header field must satisfy. */
interface ProducerRule {
  readonly field: keyof Header
  readonly isValid: boolean
  /** follows `timestamp is 5, ` */
  readonly rule: string
}

/**
 * The rules for the fields that the producer of a block chooses (geth's consensus/beacon and consensus/misc). Any value is valid for
 * coinbase, mixHash, the beacon root, and nonce and difficulty before the merge, because proof of work is not verified.
 *
 * Two rules are wider than geth's after the merge, because blocks that this program made on L1 rules need it: the gas limit may change by
 * any amount (evm_setBlockGasLimit), and blocks may have the second of their parent (the native cadence). Neither is in a mined block. On an
 * OP chain the L1 sets the gas limit, and only milliseconds, which are in a deposit, make two blocks of one second possible.
 */
function producerRules(
  { header, ommers, timestampMs }: Pick<Block, 'header' | 'ommers' | 'timestampMs'>,
  parent: Block,
  rules: Rules,
): readonly ProducerRule[] {
  const isMerged = rules.has('paris')
  const isMined = header.difficulty > 0n
  const parentName = `block ${parent.header.number}`
  const [time, parentTime] =
    rules.op === null ? [header.timestamp, parent.header.timestamp] : [timestampMs ?? header.timestamp * 1_000, timestampMsOf(parent)]
  const mayBeEqual = rules.op === null && !isMined
  const parentGasLimit = parent.header.gasLimit * (rules.has('london') && parent.header.baseFeePerGas === null ? LONDON_ELASTICITY : 1n)
  const change = header.gasLimit - parentGasLimit
  const bound = parentGasLimit / GAS_LIMIT_BOUND_DIVISOR
  return [
    { field: 'difficulty', isValid: !isMerged || !isMined, rule: 'which is zero after the merge' },
    { field: 'nonce', isValid: !isMerged || header.nonce.every((byte) => byte === 0), rule: 'which is zero after the merge' },
    { field: 'ommersHash', isValid: !isMerged || ommers.length === 0, rule: 'but there are no ommers after the merge' },
    {
      field: 'timestamp',
      isValid: mayBeEqual ? time >= parentTime : time > parentTime,
      rule: `which ${mayBeEqual ? 'is before' : 'is not after'} that of ${parentName}, ${parent.header.timestamp}`,
    },
    { field: 'extraData', isValid: header.extraData.length <= MAX_EXTRA_DATA_BYTES, rule: `but has at most ${MAX_EXTRA_DATA_BYTES} bytes` },
    { field: 'gasLimit', isValid: rules.op !== null || header.gasLimit >= MIN_GAS_LIMIT, rule: `but is at least ${MIN_GAS_LIMIT}` },
    { field: 'gasLimit', isValid: header.gasLimit <= MAX_GAS_LIMIT, rule: `but is at most ${MAX_GAS_LIMIT}` },
    {
      field: 'gasLimit',
      isValid: !isMined || (change < bound && change > -bound),
      rule: `but differs by less than a 1/${GAS_LIMIT_BOUND_DIVISOR} of that of ${parentName}, ${parentGasLimit}`,
    },
  ]
}

/** Throws ImportError for the first rule that is not satisfied. */
function assertProducerRules({ header }: DecodedBlock, checked: readonly ProducerRule[]): void {
  for (const { field, isValid, rule } of checked)
    if (!isValid) throw new ImportError(header.number, `${field} is ${format(header[field])}, ${rule}`)
}

/** geth's params.MaximumExtraDataSize. */
const MAX_EXTRA_DATA_BYTES = 32
/** geth's params.GasLimitBoundDivisor. */
const GAS_LIMIT_BOUND_DIVISOR = 1_024n
/** The first block with a base fee has a multiple of its parent's gas limit (EIP-1559). */
const LONDON_ELASTICITY = 2n

function build(builder: BlockBuilder, { transactions }: DecodedBlock) {
  try {
    builder.begin()
    for (const [index, tx] of transactions.entries()) includeImported(builder, tx, index)
    return builder.seal()
  } finally {
    builder.release()
  }
}

function includeImported(builder: BlockBuilder, tx: Block['transactions'][number], index: number): void {
  const { chainId } = builder.context.config
  if (tx.chainId !== null && tx.chainId !== chainId)
    throw new ImportError(
      builder.number,
      `transaction ${index} (${tx.hash}) is signed for the chain id ${tx.chainId}, this chain has ${chainId}`,
    )
  try {
    builder.add(tx)
  } catch (error) {
    if (!(error instanceof InvalidTransaction) && !(error instanceof BlockFull)) throw error
    throw new ImportError(builder.number, `transaction ${index} (${tx.hash}) cannot be included: ${error.message}`)
  }
}

function attributesOf({ header, ommers, withdrawals }: DecodedBlock) {
  return {
    timestamp: header.timestamp,
    timestampMs: null,
    prevRandao: header.mixHash,
    feeRecipient: header.coinbase,
    gasLimit: header.gasLimit,
    extraData: header.extraData,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    withdrawals,
    difficulty: header.difficulty,
    ommers,
  }
}

/** `producerRules` has its rule; the others that the producer chooses are copied, so they are equal. */
const NOT_COMPUTED: ReadonlySet<string> = new Set<keyof Header>(['nonce'])

function assertSameHeader(computed: Header, given: Header): void {
  for (const [field, value] of Object.entries(given)) {
    if (NOT_COMPUTED.has(field)) continue
    const ours = format(computed[field as keyof Header])
    if (ours !== format(value)) throw new ImportError(given.number, `${field} is ${format(value)}, executing the block gives ${ours}`)
  }
}

function format(value: unknown): string {
  return value instanceof Uint8Array ? Hex.fromBytes(value) : String(value)
}

/** A block of a chain file that does not extend the chain or does not execute to its header. */
export class ImportError extends Error {
  readonly blockNumber: number

  constructor(blockNumber: number, message: string) {
    super(`block ${blockNumber}: ${message}`)
    this.name = 'ImportError'
    this.blockNumber = blockNumber
  }
}

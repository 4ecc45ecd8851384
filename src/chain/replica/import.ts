import { Block, DecodeError } from '../../eth/index.ts'
import type { DecodedBlock, Header } from '../../eth/index.ts'
import { InvalidTransaction } from '../../evm/index.ts'
import type { WriteSet } from '../../evm/index.ts'
import { Breath } from '../timeslice.ts'
import { BlockBuilder, BlockFull } from '../sequencing/builder.ts'
import type { Chain } from '../chain.ts'
import { timestampMsInside } from '../sequencing/deposits.ts'
import type { SealedChain } from '../view/sealedchain.ts'

/**
 * Executes the RLP blocks of a chain file (geth's `export` format) on top of the head and checks every header field. Blocks that are here are
 * passed over. All or nothing: throws ImportError, DecodeError, what `onBlock` threw to stop it or what the store throws, with the chain as it
 * was; a process that ends on the way leaves the blocks that it came to. Answers the number of blocks in the file.
 */
export async function importChain(chain: Chain, file: Uint8Array, onBlock: (number: number) => void = () => undefined): Promise<number> {
  const blocks = decodeAll(file)
  await chain.adopt(async ({ sealed, settle, announce, recognise }) => {
    const start = sealed.head.header.number
    const breath = new Breath()
    const done: Executed[] = []
    const announceAll = () => done.forEach(({ block, writes }) => announce(block, writes))
    try {
      for (const decoded of blocks) {
        if (!isHere(decoded, sealed)) done.push(execute(decoded, chain, sealed))
        onBlock(decoded.header.number)
        if (breath.isDue) settle()
        await breath.take() // who wants to stop it must be heard
      }
      settle()
    } catch (error) {
      done.splice(goBack(sealed, start))
      announceAll()
      throw error
    }
    if (done.length === 0) recognise(blocks.at(-1)!.header.number) // there is one
    announceAll()
  })
  return blocks.length
}

/** A block that is not announced yet. */
interface Executed {
  readonly block: Block
  readonly writes: WriteSet
}

/** Answers how many blocks after `start` cannot be taken back, because the store refuses: usually none. */
function goBack(sealed: SealedChain, start: number): number {
  try {
    sealed.rewind(start)
  } catch {
    // What broke before is what the caller has to hear of.
    sealed.settleBack()
  }
  return sealed.head.header.number - start
}

function decodeAll(file: Uint8Array): DecodedBlock[] {
  const blocks = [...Block.decodeChain(file)]
  if (blocks.length === 0) throw new DecodeError('chain file', 'holds no block')
  return blocks
}

/** Throws ImportError for another genesis. */
function isHere({ header, hash }: DecodedBlock, sealed: SealedChain): boolean {
  const ours = sealed.blockHash(header.number)
  if (header.number === 0 && ours !== hash) {
    throw new ImportError(0, `is another genesis: the file has ${hash}, this chain ${ours ?? 'none'}`)
  }
  return ours === hash
}

function execute(decoded: DecodedBlock, chain: Chain, sealed: SealedChain): Executed {
  const { header } = decoded
  const parent = sealed.head
  if (header.number !== parent.header.number + 1) {
    throw new ImportError(header.number, `does not follow block ${parent.header.number}`)
  }
  if (header.parentHash !== parent.hash) {
    throw new ImportError(header.number, `parentHash is ${header.parentHash}, block ${parent.header.number} has ${parent.hash}`)
  }
  const builder = new BlockBuilder(sealed.history, chain.config, parent, attributesOf(decoded), sealed.blockHash)
  const { block, writes } = build(builder, decoded)
  assertSameHeader(block.header, header)
  const imported: Block = { ...decoded, receipts: block.receipts, timestampMs: timestampMsInside(decoded) }
  sealed.append(imported)
  return { block: imported, writes }
}

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
    baseFeePerGas: null,
    difficulty: header.difficulty,
    ommers,
  }
}

/** Fields that are the miner's free choice and were taken over, not computed. */
const TAKEN_OVER: ReadonlySet<string> = new Set<keyof Header>(['nonce'])

function assertSameHeader(computed: Header, given: Header): void {
  for (const [field, value] of Object.entries(given)) {
    if (TAKEN_OVER.has(field)) continue
    const ours = shown(computed[field as keyof Header])
    if (ours !== shown(value)) throw new ImportError(given.number, `${field} is ${shown(value)}, executing the block gives ${ours}`)
  }
}

function shown(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}

/** A block of a chain file that is not a child of what stands before it, or does not do what its header says. */
export class ImportError extends Error {
  readonly blockNumber: number

  constructor(blockNumber: number, message: string) {
    super(`block ${blockNumber}: ${message}`)
    this.name = 'ImportError'
    this.blockNumber = blockNumber
  }
}

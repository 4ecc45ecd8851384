import { Block, DecodeError } from '../eth/index.ts'
import type { DecodedBlock, Header } from '../eth/index.ts'
import { InvalidTransaction } from '../evm/index.ts'
import type { WriteSet } from '../evm/index.ts'
import { Breath } from './breath.ts'
import { BlockBuilder, BlockFull } from './builder.ts'
import type { Chain } from './chain.ts'
import { timestampMsInside } from './deposits.ts'
import type { SealedChain } from './sealed.ts'

/**
 * Executes the RLP blocks of a chain file (geth's `export` format) on top of the head and checks every header field.
 * All or nothing: throws ImportError, DecodeError or what `onBlock` threw to stop it, with the chain as it was. Answers the number of new
 * blocks.
 */
export async function importChain(chain: Chain, file: Uint8Array, onBlock: (number: number) => void = () => undefined): Promise<number> {
  const blocks = decodeAll(file)
  await chain.adopt(async (sealed, announce) => {
    const start = { number: sealed.head.header.number, version: sealed.headVersion }
    const breath = new Breath()
    const done: { block: Block; writes: WriteSet }[] = []
    try {
      for (const decoded of blocks) {
        if (decoded.header.number === 0) assertGenesis(decoded, sealed)
        else done.push(execute(decoded, chain, sealed))
        onBlock(decoded.header.number)
        await breath.take() // who wants to stop it must be heard
      }
    } catch (error) {
      sealed.rewind(start.number, start.version)
      throw error
    }
    for (const { block, writes } of done) announce(block, writes)
  })
  return blocks.length
}

function decodeAll(file: Uint8Array): DecodedBlock[] {
  const blocks = [...Block.decodeChain(file)]
  if (blocks.length === 0) throw new DecodeError('chain file', 'holds no block')
  return blocks
}

function assertGenesis(decoded: DecodedBlock, sealed: SealedChain): void {
  const genesis = sealed.store.byNumber(0)
  if (genesis?.hash !== decoded.hash) {
    throw new ImportError(0, `is another genesis: the file has ${decoded.hash}, this chain ${genesis?.hash ?? 'none'}`)
  }
}

function execute(decoded: DecodedBlock, chain: Chain, sealed: SealedChain): { block: Block; writes: WriteSet } {
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

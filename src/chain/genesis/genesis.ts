import { Block, EMPTY_OMMERS, EMPTY_REQUESTS_HASH, EMPTY_ROOT, Bloom, Hash, Header } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { L2_TO_L1_MESSAGE_PASSER, rulesAt } from '../../evm/index.ts'
import type { ChainConfig, WriteSet } from '../../evm/index.ts'
import { INITIAL_BASE_FEE } from '../sequencing/basefee.ts'
import type { StateHistory } from '../state/history.ts'

/** EIP-7825. */
export const DEFAULT_TRANSACTION_GAS_CAP = 16_777_216n
/** Bytes (EIP-170). */
export const DEFAULT_CODE_SIZE_LIMIT = 24_576

/** Initial state and rules of a chain, and block 0 without the roots that follow from the state. */
export interface Genesis {
  readonly config: ChainConfig
  readonly number: number
  /** seconds */
  readonly timestamp: number
  readonly extraData: Uint8Array
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  readonly difficulty: bigint
  readonly mixHash: Hash
  readonly nonce: Uint8Array
  readonly coinbase: Address
  readonly parentHash: Hash
  /** Wei; `null` means 1 gwei if the rules have a base fee. */
  readonly baseFeePerGas: bigint | null
  readonly excessBlobGas: bigint | null
  readonly blobGasUsed: bigint | null
  readonly state: WriteSet
  /** True for the default genesis: another version of this program may have other contracts, so a stored chain may start with others. */
  readonly contractsMayDiffer?: boolean
  /** Accounts that the state has and earlier versions of this program did not always fund: a stored chain may start without them. */
  readonly mayLack?: readonly Address[]
}

/** Returns block 0; `history` holds the genesis state. */
export function genesisBlock(genesis: Genesis, history: StateHistory): Block {
  const rules = rulesAt(genesis.config, genesis.number, genesis.timestamp)
  const cancun = rules.has('cancun')
  const header: Header = {
    parentHash: genesis.parentHash,
    ommersHash: EMPTY_OMMERS,
    coinbase: genesis.coinbase,
    stateRoot: history.stateRoot(),
    transactionsRoot: EMPTY_ROOT,
    receiptsRoot: EMPTY_ROOT,
    logsBloom: Bloom.empty,
    difficulty: genesis.difficulty,
    number: genesis.number,
    gasLimit: genesis.gasLimit,
    gasUsed: genesis.gasUsed,
    timestamp: genesis.timestamp,
    extraData: genesis.extraData,
    mixHash: genesis.mixHash,
    nonce: genesis.nonce,
    baseFeePerGas: rules.has('london') ? (genesis.baseFeePerGas ?? INITIAL_BASE_FEE) : null,
    withdrawalsRoot: rules.hasOp('isthmus') ? history.storageRoot(L2_TO_L1_MESSAGE_PASSER) : rules.has('shanghai') ? EMPTY_ROOT : null,
    blobGasUsed: cancun ? (genesis.blobGasUsed ?? 0n) : null,
    excessBlobGas: cancun ? (genesis.excessBlobGas ?? 0n) : null,
    parentBeaconBlockRoot: cancun ? Hash.zero : null,
    requestsHash: rules.has('prague') ? EMPTY_REQUESTS_HASH : null,
  }
  const block: Block = {
    header,
    hash: Header.hash(header),
    transactions: [],
    receipts: [],
    ommers: [],
    withdrawals: rules.has('shanghai') ? [] : null,
    timestampMs: null,
    sizeBytes: 0,
  }
  return { ...block, sizeBytes: Block.encode(block).length }
}

import type { BlockStore, Chain } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Header } from '../../eth/index.ts'
import { blobBaseFee, rulesAt } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { encodeBlock } from '../record/index.ts'
import { Store } from '../store.ts'
import { accountsText } from './accounts.ts'
import { headerJson } from './header.ts'
import { StateFileError } from './jsonfield.ts'
import { STATE_FILE_BYTES, STATE_FILE_KEYS_PER_PIECE } from './limits.ts'
import { nativeText } from './nativeformat.ts'
import { pastStatesOf, pastStatesText } from './paststates.ts'

/**
 * Writes a chain as a state file: anvil's JSON with the newest sealed state, its edits and the head's header, and under the key `pocketchain`
 * the data that restores the chain. In pieces of about a millisecond's work, all of the chain as of the first one. Throws StateFileError for
 * a file too large to be read, and RewoundState or PrunedState if the chain rewinds meanwhile. A fork is written as the accounts that were
 * changed here, with their slots, and the identity of the fork block; a chain that does not begin with block 0 as its accounts. Throws
 * MissingState for them.
 */
export function* stateFileText(chain: Chain, { pastStates = false }: StateFileOptions = {}): Generator<string, void, undefined> {
  let chars = 0 // as many as bytes: all are ASCII
  for (const piece of unlimitedText(chain, pastStates)) {
    if ((chars += piece.length) > STATE_FILE_BYTES) throw tooLarge(pastStates)
    yield piece
  }
}

export interface StateFileOptions {
  /** also the states of older blocks that are in memory; not of a fork. false by default */
  readonly pastStates?: boolean
}

function tooLarge(pastStates: boolean): StateFileError {
  const advice = pastStates ? 'leave out the states of older blocks' : 'keep a chain of this size in a directory, with --data'
  return new StateFileError('file', `would have more than ${STATE_FILE_BYTES / 2 ** 20} MB of text: ${advice}`)
}

function* unlimitedText(chain: Chain, pastStates: boolean): Iterable<string> {
  const { sealed, config } = chain
  const { history, headVersion, head, store } = sealed
  const { header } = head
  const state = history.at(headVersion)
  const assertHeld = () => void state.account(header.coinbase)
  const past = pastStates ? pastStatesOf(sealed) : null
  const stateRoot = history.stateRoot(headVersion)
  yield `{"block":${blockEnvironment(header, config)},"accounts":`
  assertHeld()
  yield* accountsText(history.dump(headVersion, STATE_FILE_KEYS_PER_PIECE))
  const block = { header: headerJson(header), transactions: [], ommers: [], withdrawals: null }
  yield `,"best_block_number":${header.number},"blocks":[${JSON.stringify(block)}],"transactions":[],"historical_states":null`
  if (history.base === null && store.firstBlock === 0) {
    yield ',"pocketchain":'
    const pastText = past === null ? null : pastStatesText(past, assertHeld)
    yield* nativeText(chain, stateRoot, recordsOf(store, header.number, assertHeld), pastText)
  } else if (history.base !== null) {
    const { chainId, number, hash } = history.base.origin
    yield `,"fork":{"chainId":${chainId},"blockNumber":${number},"blockHash":"${hash}"}`
  }
  yield '}\n'
}

/** `assertHeld` throws once the chain has rewound below its head. */
function* recordsOf(store: BlockStore, height: number, assertHeld: () => void): Iterable<Uint8Array> {
  for (let number = 0; number <= height; number++) {
    assertHeld()
    yield store instanceof Store ? store.recordOf(number) : encodeBlock(store.byNumber(number)!) // every block up to the head exists
  }
}

/** In revm's format, with numbers as JSON numbers; anvil reads 64 bits. */
function blockEnvironment(
  { number, timestamp, coinbase, gasLimit, baseFeePerGas, difficulty, mixHash, excessBlobGas }: Header,
  config: ChainConfig,
): string {
  const { blob } = rulesAt(config, number, timestamp)
  const price = blob === null ? 1n : blobBaseFee(excessBlobGas ?? 0n, blob)
  const blobs = excessBlobGas === null ? 'null' : `{"excess_blob_gas":${word64(excessBlobGas)},"blob_gasprice":${word64(price)}}`
  return (
    `{"number":"${Hex.fromQuantity(number)}","beneficiary":"${coinbase}","timestamp":"${Hex.fromQuantity(timestamp)}","gas_limit":${word64(gasLimit)},` +
    `"basefee":${word64(baseFeePerGas ?? 0n)},"difficulty":"${Hex.fromQuantity(difficulty)}","prevrandao":"${mixHash}","blob_excess_gas_and_price":${blobs}}`
  )
}

function word64(value: bigint): bigint {
  return value < MOST ? value : MOST
}

const MOST = 2n ** 64n - 1n

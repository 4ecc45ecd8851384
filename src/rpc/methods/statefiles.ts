import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { constants, createGzip } from 'node:zlib'
import { PrunedState, RewoundState } from '../../chain/index.ts'
import type { Chain, ForkOrigin } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import { StateFileError, assertSameFork, mergeAccounts, readStateAccounts, stateFileText } from '../../store/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { BOOLEAN } from '../../jsonrpc/jsonschema.ts'
import { boolean, bytes, refused } from '../../jsonrpc/schema.ts'
import { prefixed, named } from './named.ts'

/** The bytes of a state file; a refusal names the path of the wrong value. */
const accountsOfFile: Schema<ReturnType<typeof readStateAccounts>> = {
  json: { ...bytes.json, title: 'state file' },
  parse: (value, path) => {
    const file = bytes.parse(value, path)
    try {
      return readStateAccounts(file)
    } catch (error) {
      if (error instanceof StateFileError) throw refused(path, error.message)
      throw error
    }
  },
}

/** State files in anvil's format. */
export const STATE_FILE_METHODS: readonly Method[] = [
  ...named(prefixed('dumpState'), {
    doc: 'Seals the pending block and returns the chain as a state file (gzipped JSON) for anvil_loadState, --load-state and anvil; of a fork what was changed here.',
    params: [optional('preserveHistoricalStates', boolean)],
    result: { title: 'state file', ...bytes.json },
    errors: { [-32000]: 'the chain takes more room than a state file has' },
    timeLimitMs: Infinity,
    example: { params: [], result: '0x1f8b08000000000000…' },
    handler: async ({ chain }, [pastStates = false]) => Hex.fromBytes(await packedState(chain, pastStates)),
  }),
  ...named(prefixed('loadState'), {
    doc: 'Merges the accounts of a state file into the state after the head: balance, nonce, code and the given slots are replaced; its blocks are ignored. The file of a fork is for a fork of the same block.',
    params: [required('state', accountsOfFile)],
    result: BOOLEAN,
    timeLimitMs: Infinity,
    example: { params: ['0x7b226163636f756e7473223a7b7d7d'], result: true },
    handler: async ({ chain }, [{ accounts, fork }]) => {
      assertFork(fork, chain)
      await chain.edit((world) => mergeAccounts(world, accounts))
      return true
    },
  }),
]

/** Throws RpcError -32602. */
function assertFork(fork: ForkOrigin | null, chain: Chain): void {
  try {
    assertSameFork({ fork }, chain.sealed.history.base?.origin ?? null)
  } catch (error) {
    throw error instanceof StateFileError ? refused('argument 0 (state)', error.message) : error
  }
}

/** If the chain is rewound meanwhile, reads again while it does not change. */
async function packedState(chain: Chain, pastStates: boolean): Promise<Uint8Array> {
  try {
    return await packed(await sealedText(chain, pastStates))
  } catch (error) {
    if (!(error instanceof RewoundState || error instanceof PrunedState)) throw error
    return chain.readSealed(() => packed(stateFileText(chain, { pastStates })))
  }
}

/** Reads the first piece while no block is open; the rest belongs to the same block. */
async function sealedText(chain: Chain, pastStates: boolean): Promise<Iterable<string>> {
  const text = stateFileText(chain, { pastStates })
  const first = await chain.readSealed(() => text.next())
  return (function* () {
    if (first.done !== true) yield first.value
    yield* text
  })()
}

/** zlib compresses in its own thread, so the event loop runs between two pieces. */
async function packed(text: Iterable<string>): Promise<Uint8Array> {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED })
  const pieces = Readable.from(text)
  pieces.once('error', (error) => gzip.destroy(error))
  try {
    return await buffer(pieces.pipe(gzip))
  } catch (error) {
    if (error instanceof StateFileError) throw new RpcError(CODE.server, error.message)
    throw error
  }
}

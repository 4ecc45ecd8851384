import { Hex, keccak256 } from '../../eth/index.ts'
import { chainForks } from '../forks.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { ADDRESS, BOOLEAN, HASH, QUANTITY, STRING, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { bytes } from '../../jsonrpc/schema.ts'
import { ALICE, BLOCK_HASH, SEQUENCER_FEE_VAULT } from './examples.ts'
import { VERSION } from '../version.ts'

const RESOURCE = record('resource', { disabled: BOOLEAN }, { oldestBlock: QUANTITY, deleteStrategy: { type: 'object' } })

export const NODE_METHODS: readonly Method[] = [
  method({
    name: 'web3_clientVersion',
    doc: 'Name, version, platform and runtime of this node.',
    params: [],
    result: STRING,
    example: { params: [], result: `pocketchain/${VERSION}/linux-x64/node20.20.2` },
    handler: ({ clientVersion, devClientVersion }, _, { tier }) => (tier === 'public' ? clientVersion : devClientVersion),
  }),
  method({
    name: 'web3_sha3',
    doc: 'The keccak-256 hash of some bytes.',
    params: [required('data', bytes)],
    result: HASH,
    example: { params: ['0x68656c6c6f'], result: '0x1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8' },
    handler: (_, [data]) => Hex.fromBytes(keccak256(data)),
  }),
  method({
    name: 'net_version',
    doc: 'The chain id as a decimal string.',
    params: [],
    result: STRING,
    example: { params: [], result: '31337' },
    handler: ({ chain }) => String(chain.config.chainId),
  }),
  constant('net_listening', true, { doc: 'Always true.', result: BOOLEAN }),
  constant('net_peerCount', '0x0', { doc: 'Always zero: this chain has one sequencer and no peers.', result: QUANTITY }),
  method({
    name: 'eth_chainId',
    doc: 'The EIP-155 chain id.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x7a69' },
    handler: ({ chain }) => Hex.fromQuantity(chain.config.chainId),
  }),
  method({
    name: 'eth_blockNumber',
    doc: 'The number of the last sealed block.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x1b4' },
    handler: ({ chain }) => Hex.fromQuantity(chain.head.view.head.header.number),
  }),
  constant('eth_syncing', false, { doc: 'Always false: blocks are produced here.', result: BOOLEAN }),
  method({
    name: 'eth_accounts',
    doc: 'The development accounts, whose keys this node holds.',
    params: [],
    result: listOf(ADDRESS),
    example: { params: [], result: [ALICE] },
    handler: ({ accounts }) => accounts.addresses,
  }),
  method({
    name: 'eth_coinbase',
    doc: 'The fee recipient of the block under construction, or of the next one.',
    params: [],
    result: ADDRESS,
    example: { params: [], result: SEQUENCER_FEE_VAULT },
    handler: ({ chain }) => (chain.head.view.pending?.header ?? chain.head.view.nextHeader).coinbase,
  }),
  method({
    name: 'eth_mining',
    doc: 'False under the manual cadence, where blocks come on request only; otherwise true.',
    params: [],
    result: BOOLEAN,
    example: { params: [], result: true },
    handler: ({ chain }) => chain.cadence.kind !== 'manual',
  }),
  constant('eth_hashrate', '0x0', { doc: 'Always zero: there is no proof of work.', result: QUANTITY }),
  method({
    name: 'eth_config',
    doc: 'The rules in force, the next and the last known ones (EIP-7910).',
    params: [],
    result: record('configuration', {
      current: { type: 'object' },
      next: { type: ['object', 'null'] },
      last: { type: ['object', 'null'] },
    }),
    example: { params: [], result: { current: { activationTime: 0, chainId: '0x7a69', forkId: '0x9c2ec7d8' }, next: null, last: null } },
    handler: ({ chain }) => chainForks(chain.config, chain.genesis, chain.head.view.head.header),
  }),
  method({
    name: 'eth_capabilities',
    doc: 'The oldest block for which this node has state, transactions, logs and receipts.',
    params: [],
    result: record('capabilities', {
      head: record('head', { number: QUANTITY, hash: HASH }),
      state: RESOURCE,
      tx: RESOURCE,
      logs: RESOURCE,
      receipts: RESOURCE,
      blocks: RESOURCE,
      stateproofs: RESOURCE,
    }),
    example: {
      params: [],
      result: {
        head: { number: '0x1b4', hash: BLOCK_HASH },
        blocks: { disabled: false, oldestBlock: '0x0' },
      },
    },
    handler: ({ chain }) => {
      const { head } = chain.head.view
      const kept = { disabled: false, oldestBlock: '0x0' }
      const recent = { disabled: false, oldestBlock: Hex.fromQuantity(chain.sealed.oldestStateBlock()) }
      return {
        head: { number: Hex.fromQuantity(head.header.number), hash: head.hash },
        state: recent,
        tx: kept,
        logs: kept,
        receipts: kept,
        blocks: kept,
        stateproofs: recent,
      }
    },
  }),
]

function constant(name: string, value: unknown, { doc, result }: Pick<Method, 'doc' | 'result'>): Method {
  return method({ name, doc, params: [], result, example: { params: [], result: value }, handler: () => value })
}

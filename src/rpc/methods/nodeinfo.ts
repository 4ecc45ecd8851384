import type { Chain } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { nextBlockBaseFee, offeredGasPrice } from '../execution/gasprice.ts'
import type { ForkStatus } from '../forkport.ts'
import type { Json } from '../json.ts'
import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { HASH, INTEGER, NULL, QUANTITY, STRING, orNull, record } from '../../jsonrpc/jsonschema.ts'
import { boolean, string } from '../../jsonrpc/schema.ts'
import { voidMethods, prefixed, named } from './named.ts'
import { BLOCK_HASH } from './examples.ts'
import { VERSION } from '../version.ts'

const ENVIRONMENT = record('environment', { baseFee: QUANTITY, chainId: INTEGER, gasLimit: QUANTITY, gasPrice: QUANTITY })

export const NODE_INFO_METHODS: readonly Method[] = [
  ...named(['anvil_nodeInfo'], {
    doc: 'The head, the fork and the settings of this node, in the form of anvil.',
    params: [],
    result: record('node information', {
      currentBlockNumber: QUANTITY,
      currentBlockTimestamp: INTEGER,
      currentBlockHash: HASH,
      hardFork: STRING,
      transactionOrder: { enum: ['fees', 'fifo'] },
      environment: ENVIRONMENT,
      forkConfig: record('fork', { forkUrl: orNull(STRING), forkBlockNumber: orNull(INTEGER), forkRetryBackoff: orNull(INTEGER) }),
      network: { enum: ['optimism', 'ethereum'] },
    }),
    example: {
      params: [],
      result: {
        currentBlockNumber: '0x0',
        currentBlockTimestamp: 1_700_000_000,
        currentBlockHash: BLOCK_HASH,
        hardFork: 'jovian',
        transactionOrder: 'fees',
        environment: { baseFee: '0x3b9aca00', chainId: 31_337, gasLimit: '0x1c9c380', gasPrice: '0x77359400' },
        forkConfig: { forkUrl: null, forkBlockNumber: null, forkRetryBackoff: null },
        network: 'optimism',
      },
    },
    handler: ({ chain, fork }) => nodeInfo(chain, fork?.status ?? null),
  }),
  ...named(['anvil_metadata', 'hardhat_metadata'], {
    doc: 'The version and the instance id of this node, the head, the snapshots, and where the chain is forked from.',
    params: [],
    result: record('metadata', {
      clientVersion: STRING,
      clientSemver: STRING,
      clientCommitSha: NULL,
      chainId: INTEGER,
      instanceId: HASH,
      latestBlockNumber: INTEGER,
      latestBlockHash: HASH,
      forkedNetwork: orNull(record('forked network', { chainId: INTEGER, forkBlockNumber: INTEGER, forkBlockHash: HASH })),
      snapshots: { type: 'object' },
    }),
    example: {
      params: [],
      result: {
        clientVersion: `anvil/v1.7.1/pocketchain/${VERSION}`,
        clientSemver: VERSION,
        clientCommitSha: null,
        chainId: 31_337,
        instanceId: BLOCK_HASH,
        latestBlockNumber: 0,
        latestBlockHash: BLOCK_HASH,
        forkedNetwork: null,
        snapshots: { '0x1': [0, BLOCK_HASH] },
      },
    },
    handler: ({ chain, fork, clientVersion, devClientVersion }) => ({
      clientVersion: devClientVersion,
      // `pocketchain/1.2.3/linux-x64/node20.20.2`; a package has no commit.
      clientSemver: clientVersion.split('/')[1] ?? '',
      clientCommitSha: null,
      ...metadata(chain, fork?.status ?? null),
    }),
  }),
  ...voidMethods(prefixed('setLoggingEnabled'), {
    doc: 'Accepted without effect: the command line decides what the node prints.',
    params: [required('enabled', boolean)],
    example: [true],
    handler: () => undefined,
  }),
  ...named(prefixed('setRpcUrl'), {
    doc: 'Reads the forked chain from another endpoint, which must have the same chain id and the same fork block. Headers of the start are sent to the same host only.',
    params: [required('url', string)],
    result: NULL,
    errors: { [CODE.server]: 'the chain is not a fork, or the endpoint does not answer or has another chain; nothing is changed then' },
    timeLimitMs: Infinity,
    example: { params: ['http://127.0.0.1:8546'], result: null },
    handler: async ({ fork }, [url]) => {
      if (fork?.isFork !== true) throw new RpcError(CODE.server, 'this chain is not a fork: there is no rpc url behind it to set')
      await fork.setUrl(url)
      return null
    },
  }),
]

function nodeInfo(chain: Chain, fork: ForkStatus | null): Json {
  const { view } = chain.head
  const { header, hash } = view.head
  const rules = rulesAt(chain.config, header.number, header.timestamp)
  return {
    currentBlockNumber: Hex.fromQuantity(header.number),
    currentBlockTimestamp: header.timestamp,
    currentBlockHash: hash,
    hardFork: rules.op ?? rules.l1,
    transactionOrder: chain.pool.order,
    environment: {
      baseFee: Hex.fromQuantity(nextBlockBaseFee(view)),
      chainId: chain.config.chainId,
      gasLimit: Hex.fromQuantity(chain.gasLimit),
      gasPrice: Hex.fromQuantity(offeredGasPrice(view, chain)),
    },
    forkConfig: {
      forkUrl: fork?.url ?? null,
      forkBlockNumber: fork?.blockNumber ?? null,
      forkRetryBackoff: fork?.retryBackoffMs ?? null,
    },
    network: rules.op === null ? 'ethereum' : 'optimism',
  }
}

function metadata(chain: Chain, fork: ForkStatus | null): Json {
  const { view } = chain.head
  return {
    chainId: chain.config.chainId,
    instanceId: chain.instanceId,
    latestBlockNumber: view.head.header.number,
    latestBlockHash: view.head.hash,
    forkedNetwork: fork === null ? null : { chainId: fork.chainId, forkBlockNumber: fork.blockNumber, forkBlockHash: fork.blockHash },
    snapshots: Object.fromEntries(chain.snapshots.map(({ id, number }) => [id, [number, view.blockHash(number)]])),
  }
}

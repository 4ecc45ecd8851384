import {
  CADENCES,
  Chain,
  DEFAULT_CODE_SIZE_LIMIT,
  DEFAULT_FEE_PARAMETERS,
  DEFAULT_HARDFORK,
  DEFAULT_L1,
  DEFAULT_TRANSACTION_GAS_CAP,
  ManualClock,
  SEQUENCER_FEE_VAULT,
  defaultGenesis,
} from '../../../src/chain/index.ts'
import { Address, Hash, Hex, Mnemonic, Secp256k1, Transaction } from '../../../src/eth/index.ts'
import type { TransactionFields } from '../../../src/eth/index.ts'
import { TraceBudget, World, executeTransaction, loadPrecompiles, revertReason, structLogTrace } from '../../../src/evm/index.ts'
import { ALICE, CONTRACT, ETHER, Memory, contextOf, l1Config, message } from '../../../src/evm/evm.fixture.ts'
import { ListedBlocks } from './listedblocks.ts'

const SECONDS = 1_700_000_000
const GWEI = 10n ** 9n
const GAS_LIMIT = 60_000_000n
/** Longer than a time slice, so that the chain yields between them. */
const BLOCKS = 300
const WORDS = 'test test test test test test test test test test test junk'
/** Init code that adds the generator of bn254 to itself (precompile 6) and stores the sum. */
const ADD_POINTS = '0x6001600052600260205260016040526002606052604060006080600060065afa5060005160005560205160015500'
/** Error(string) with a byte order mark and an umlaut. */
const REASON = Hex.toBytes(`0x08c379a0${'20'.padStart(64, '0')}${'6'.padStart(64, '0')}${'efbbbf47c3bc'.padEnd(64, '0')}`)

/** What a chain computed: all of it is the same wherever it runs. */
export interface Played {
  readonly accounts: readonly string[]
  readonly hashes: readonly string[]
  /** of the transactions of the first block, with its deposit */
  readonly statuses: readonly (number | null)[]
  readonly reason: string | null
  /** steps of a loop, as JSON */
  readonly trace: string
}

/** Runs a chain with transfers, a contract and several hundred blocks. */
export async function playChain(): Promise<Played> {
  await loadPrecompiles()
  const keys = Mnemonic.privateKeys(WORDS, 2).map((key) => Hex.fromBytes(key))
  const accounts = keys.map((key) => Secp256k1.address(key))
  const bugs: unknown[] = []
  const chain = new Chain({
    genesis: defaultGenesis({
      chainId: 31_337,
      timestamp: SECONDS,
      hardfork: DEFAULT_HARDFORK,
      gasLimit: GAS_LIMIT,
      baseFeePerGas: GWEI,
      feeParameters: DEFAULT_FEE_PARAMETERS,
      accounts: accounts.map((address) => ({ address, balance: 10n ** 22n })),
      codeSizeLimit: DEFAULT_CODE_SIZE_LIMIT,
      transactionGasCap: DEFAULT_TRANSACTION_GAS_CAP,
    }),
    cadence: CADENCES.manual,
    l1: DEFAULT_L1,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    gasLimit: GAS_LIMIT,
    coinbase: SEQUENCER_FEE_VAULT,
    order: 'fees',
    seed: 'page',
    historyBlocks: 8_192,
    instanceId: Hash.zero,
    clock: new ManualClock(SECONDS * 1_000),
    store: new ListedBlocks(),
    onBug: (error) => bugs.push(error),
  })
  await chain.start()
  const common: TransactionFields = { type: 2, chainId: 31_337, maxFeePerGas: 10n * GWEI, maxPriorityFeePerGas: 1n }
  const recipient = Address.from('0x00000000000000000000000000000000000abcde')
  await chain.submit(Transaction.sign({ ...common, nonce: 0n, gas: 21_000n, to: recipient, value: 1n }, keys[0]!))
  await chain.submit(Transaction.sign({ ...common, nonce: 0n, gas: 200_000n, to: null, data: Hex.toBytes(ADD_POINTS) }, keys[1]!))
  const blocks = [...(await chain.mine(1)), ...(await chain.mine(BLOCKS))]
  await chain.stop()
  if (bugs.length > 0) throw bugs[0]
  return {
    accounts,
    hashes: blocks.map(({ hash }) => hash),
    statuses: blocks[0]!.receipts.map(({ status }) => status),
    reason: revertReason(REASON),
    trace: traceOfLoop(),
  }
}

function traceOfLoop(): string {
  const stateBefore = new Memory({ [ALICE]: { balance: ETHER }, [CONTRACT]: { nonce: 1n, code: '0x5b5f56' } })
  const request = message({ to: CONTRACT, gas: 60_000n })
  const context = contextOf(l1Config('prague'))
  const state = new World(stateBefore, { traced: true })
  const { tracer, json } = structLogTrace(
    { message: request, context, stateBefore, state, location: null, budget: new TraceBudget(1 << 24) },
    { disableStorage: false, disableStack: false, enableMemory: false, enableReturnData: false, limit: 0 },
  )
  return json(executeTransaction(request, context, state, { tracer, skipFees: true }))
}

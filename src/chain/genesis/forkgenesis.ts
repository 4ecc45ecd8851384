import { Address, Delegation, EMPTY_CODE_HASH, Hash } from '../../eth/index.ts'
import type { Block } from '../../eth/index.ts'
import { BASE_FEE_VAULT, L1_BLOCK, L1_FEE_VAULT, OPERATOR_FEE_VAULT, SYSTEM_ACCOUNTS } from '../../evm/index.ts'
import type { Account, ChainConfig, WriteSet } from '../../evm/index.ts'
import { FETCH_ROUNDS, SETUP_PROBE_MS } from '../limits.ts'
import { MissingState } from '../state/basestate.ts'
import type { BaseState } from '../state/basestate.ts'
import { StateHistory, captureWrites } from '../state/history.ts'
import { mergeWrites } from '../state/writesetbuilder.ts'
import { DEPOSITOR } from '../sequencing/deposits.ts'
import { CHAIN_ID_CONTRACTS, SEQUENCER_FEE_VAULT, commonContracts, setUpContracts } from './defaultgenesis.ts'
import type { DefaultContract } from './defaultcontract.ts'
import type { GenesisCall } from './defaultgenesis.ts'
import type { OpenedChain } from './openchain.ts'

/** The keys that the set-up and each block read. */
const READ_BY_BLOCKS = [Address.zero, ...SYSTEM_ACCOUNTS] as const

/** Further keys that each block of an OP chain reads: sender and contract of its first deposit, and the recipients of its fees. */
const READ_BY_OP_BLOCKS = [DEPOSITOR, L1_BLOCK, SEQUENCER_FEE_VAULT, BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT] as const

/** Slots of L1Block, which is a proxy: the values of its first deposit, the implementation and the administrator (EIP-1967). */
const L1_BLOCK_SLOTS = [
  ...Array.from({ length: 9 }, (_, slot) => Hash.from(`0x${slot.toString(16).padStart(64, '0')}`)),
  Hash.from('0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'),
  Hash.from('0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103'),
]

export interface ForkGenesisOptions {
  readonly config: ChainConfig
  /** The fork block, without its transactions. */
  readonly block: Block
  readonly base: BaseState
  /** Accounts that get this balance (wei). Their nonces are upstream's. */
  readonly accounts: readonly { readonly address: Address; readonly balance: bigint }[]
  /** Contracts in addition to the default ones. */
  readonly contracts: readonly DefaultContract[]
  /** Executed after the contracts are in place. */
  readonly calls: readonly GenesisCall[]
  /** Receives lines for the user. */
  readonly onNote: (line: string) => void
}

/**
 * Returns the start of a forked chain: the fork block, and its state with funded accounts and the contracts that wallet, bundler and sponsor
 * need. Nothing that upstream has is overwritten, except balances and EIP-7702 delegations of the funded accounts. Throws UpstreamError.
 */
export async function openFork({
  config,
  block,
  base,
  accounts,
  contracts: further,
  calls,
  onNote,
}: ForkGenesisOptions): Promise<OpenedChain> {
  const contracts = [...commonContracts().filter(({ address }) => !CHAIN_ID_CONTRACTS.has(address)), ...further]
  const addresses = [...contracts, ...accounts].map(({ address }) => address)
  const read = [...addresses, ...CHAIN_ID_CONTRACTS, ...READ_BY_BLOCKS, ...(config.op === null ? [] : READ_BY_OP_BLOCKS)]
  const slots = config.op === null ? [] : L1_BLOCK_SLOTS.map((slot) => ({ kind: 'slot', address: L1_BLOCK, slot }) as const)
  const setUpOf = (history: StateHistory) => () =>
    captureWrites(history.at(history.version), (world) => setUpContracts(world, calls, config))
  // What the set-up reads if upstream has none of the contracts is fetched with the rest, in one request.
  const guess = new StateHistory(
    contractWrites(contracts, () => null),
    base,
  )
  const guessed = guess.missingKeysOf(setUpOf(guess), SETUP_PROBE_MS)
  await base.fetch([...read.map((address) => ({ kind: 'account', address }) as const), ...slots, ...guessed])
  const deployed = mergeWrites(
    contractWrites(contracts, (address) => base.account(address)),
    accountWrites(base, accounts, onNote),
  )
  const history = new StateHistory(deployed, base)
  const writes = await fetching(history, base, setUpOf(history))
  history.apply(writes)
  return { genesis: block, genesisState: mergeWrites(deployed, writes), history }
}

/** Fetches what `work` misses. */
async function fetching<T>(history: StateHistory, base: BaseState, work: () => T): Promise<T> {
  for (let round = 0; ; round++) {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof MissingState) || round === FETCH_ROUNDS) throw error
      await base.fetch([...error.keys, ...history.missingKeysOf(work, SETUP_PROBE_MS)])
    }
  }
}

/** @param upstream an account there; null if it does not exist */
function contractWrites(contracts: readonly DefaultContract[], upstream: (address: Address) => Account | null): WriteSet {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, ReadonlyMap<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  for (const { address, account, code, storage: slots } of contracts) {
    const present = upstream(address)
    if (present !== null && (code.length === 0 || present.codeHash !== EMPTY_CODE_HASH)) continue
    accounts.set(address, { ...account, balance: account.balance + (present?.balance ?? 0n) })
    codes.set(account.codeHash, code)
    if (slots.size > 0) storage.set(address, slots)
  }
  return { accounts, storage, codes }
}

function accountWrites(base: BaseState, funded: ForkGenesisOptions['accounts'], onNote: (line: string) => void): WriteSet {
  const accounts = new Map<Address, Account>()
  for (const { address, balance } of funded) {
    const { nonce, codeHash } = base.account(address) ?? { nonce: 0n, codeHash: EMPTY_CODE_HASH }
    const delegate = codeHash === EMPTY_CODE_HASH ? null : Delegation.of(base.code(codeHash))
    if (delegate !== null) {
      onNote(`account ${address} delegates to ${delegate} upstream (EIP-7702), which could move its funds: the delegation is removed here`)
    }
    accounts.set(address, { nonce, balance, codeHash: delegate === null ? codeHash : EMPTY_CODE_HASH })
  }
  return { accounts, storage: new Map(), codes: new Map() }
}

import { Address, Delegation, EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Block, Hash } from '../../eth/index.ts'
import { BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT, SYSTEM_ACCOUNTS } from '../../evm/index.ts'
import type { Account, ChainConfig, WriteSet } from '../../evm/index.ts'
import { FETCH_ROUNDS, SETUP_PROBE_MS } from '../limits.ts'
import { MissingState } from '../state/basestate.ts'
import type { BaseState } from '../state/basestate.ts'
import { StateHistory, captureWrites } from '../state/history.ts'
import { CHAIN_ID_CONTRACTS, commonContracts, setUpContracts } from './defaultgenesis.ts'
import type { GenesisCall } from './defaultgenesis.ts'
import type { OpenedChain } from './openchain.ts'

/** What the set-up and each block read. The last three receive the fees of an OP chain. */
const READ_BY_BLOCKS = [Address.zero, ...SYSTEM_ACCOUNTS, BASE_FEE_VAULT, L1_FEE_VAULT, OPERATOR_FEE_VAULT] as const

export interface ForkGenesisOptions {
  readonly config: ChainConfig
  /** The fork block, without its transactions. */
  readonly block: Block
  readonly base: BaseState
  /** Accounts that get this balance (wei). Their nonces are upstream's. */
  readonly accounts: readonly { readonly address: Address; readonly balance: bigint }[]
  /** Executed after the contracts are in place. */
  readonly calls: readonly GenesisCall[]
  /** Receives lines for the user. */
  readonly onNote: (line: string) => void
}

/**
 * Returns the start of a forked chain: the fork block, and its state with funded accounts and the contracts that wallet, bundler and sponsor
 * need. Nothing that upstream has is overwritten, except balances and EIP-7702 delegations of the funded accounts. Throws UpstreamError.
 */
export async function openFork({ config, block, base, accounts, calls, onNote }: ForkGenesisOptions): Promise<OpenedChain> {
  const contracts = commonContracts().filter(({ address }) => !CHAIN_ID_CONTRACTS.has(address))
  const addresses = [...contracts, ...accounts].map(({ address }) => address)
  await base.fetch([...addresses, ...CHAIN_ID_CONTRACTS, ...READ_BY_BLOCKS].map((address) => ({ kind: 'account', address })))
  const history = new StateHistory(contractWrites(base, contracts), base)
  history.apply(accountWrites(base, accounts, onNote))
  const setUp = () => captureWrites(history.at(history.version), (world) => setUpContracts(world, calls, config))
  history.apply(await fetching(history, base, setUp))
  return { genesis: block, history }
}

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

function contractWrites(base: BaseState, contracts: ReturnType<typeof commonContracts>): WriteSet {
  const accounts = new Map<Address, Account>()
  const storage = new Map<Address, ReadonlyMap<Hash, bigint>>()
  const codes = new Map<Hash, Uint8Array>()
  for (const { address, account, code, storage: slots } of contracts) {
    const present = base.account(address)
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

import { isDeepStrictEqual } from 'node:util'
import { StateHistory, genesisBlock } from '../chain/index.ts'
import type { Cadence, Clock, Genesis } from '../chain/index.ts'
import type { Address } from '../eth/index.ts'
import type { Fleet } from '../fleet/index.ts'
import { chainHardforkOf, chosenAccounts, genesisOf } from './genesis.ts'
import type { DevAccount } from './keys.ts'
import type { PocketchainOptions, StartOptions } from './options.ts'

/** A chain that began before this start, elsewhere. */
interface EarlierChain {
  readonly genesis: Genesis
  /** where it comes from, as in "the chain of the state file" */
  readonly source: string
  /** what to do for another chain, as in "omit it, or …" */
  readonly otherwise: string
  /** null: the options determine them */
  readonly settings: NonNullable<Fleet['definition']>['settings'] | null
}

/** What an option requests and what the chain has; both are shown. */
type Difference = readonly [subject: string, chosen: Value | undefined, actual: Value | undefined, hint?: string]
type Value = string | number | bigint | Cadence | Pick<Cadence, 'kind'> | null

/** Throws RangeError for an option that requests another chain than this one. Without the error it would have no effect. */
export function assertSameChain(options: StartOptions, accounts: readonly DevAccount[], clock: Clock, chain: EarlierChain): void {
  const { source, otherwise } = chain
  for (const [subject, chosen, actual, hint] of [
    ...ofTheFirstBlock(options, accounts, clock, chain),
    ...ofTheRules(options, chain),
    ...ofTheBlocks(options, chain),
    ...ofTheAccounts(options, accounts, chain),
  ]) {
    if (chosen === undefined || isDeepStrictEqual(chosen, actual)) continue
    throw new RangeError(
      `the ${subject} of ${source} is ${shown(actual)}, and ${shown(chosen)} was requested; omit the option${hint === undefined ? '' : ` (${hint})`}, or ${otherwise}`,
    )
  }
}

function ofTheFirstBlock(
  options: StartOptions,
  accounts: readonly DevAccount[],
  clock: Clock,
  { genesis }: EarlierChain,
): readonly Difference[] {
  if (options.genesis !== undefined) {
    const chosen = genesisOf(options, accounts, clock)
    return [
      ['first block', hashOf(chosen), hashOf(genesis)],
      ['chain id', chosen.config.chainId, genesis.config.chainId],
    ]
  }
  return [
    ['number of the first block', options.number, genesis.number],
    ['time of the first block', options.timestamp, genesis.timestamp, NEXT_TIME],
    ['base fee of the first block', options.baseFee, genesis.baseFeePerGas, NEXT_BASE_FEE],
  ]
}

export const NEXT_TIME = 'evm_setNextBlockTimestamp sets the time of the next block'
export const NEXT_BASE_FEE = 'anvil_setNextBlockBaseFeePerGas sets that of the next block'

function hashOf(genesis: Genesis): string {
  return genesisBlock(genesis, new StateHistory(genesis.state)).hash
}

/** A genesis file determines these, and a note says so. */
function ofTheRules(options: StartOptions, { genesis: { config, state } }: EarlierChain): readonly Difference[] {
  if (options.genesis !== undefined) return []
  const type = config.op === null ? 'l1' : 'op'
  const newest = (config.op?.activations ?? config.l1).at(-1)?.fork
  const { chainType = type, hardfork } = options
  const has = (address: Address) => state.accounts.get(address) !== undefined
  return [
    ['chain type', chainType, type],
    ['hardfork', hardfork === undefined ? undefined : chainHardforkOf({ hardfork, chainType }), newest],
    [
      'set of smart account contracts',
      options.withAccounts === true ? 'whole' : undefined,
      options.genesisContracts.every(({ address }) => has(address)) ? 'whole' : 'not whole',
    ],
  ]
}

function ofTheBlocks(options: PocketchainOptions, { settings, genesis: { config } }: EarlierChain): readonly Difference[] {
  if (settings === null) return []
  return [
    [
      'cadence',
      typeof options.cadence === 'string' ? { kind: options.cadence } : options.cadence,
      typeof options.cadence === 'string' ? { kind: settings.cadence.kind } : settings.cadence,
    ],
    ['gas limit', options.gasLimit, settings.gasLimit],
    ['minimum base fee', options.minBaseFee, settings.feeParameters.minBaseFee],
    ['base fee of the simulated L1', options.l1BaseFee, settings.l1.baseFee],
    ['blob base fee of the simulated L1', options.l1BlobBaseFee, settings.l1.blobBaseFee],
    ['seed', options.seed, settings.seed],
    ['limit of contract code', options.codeSizeLimit, config.codeSizeLimit],
    ['gas cap of a transaction', options.transactionGasCap, config.transactionGasCap],
  ]
}

/** A state file keeps its accounts, and the start gives ether to those that it lacks. */
function ofTheAccounts(
  options: PocketchainOptions,
  accounts: readonly DevAccount[],
  { settings, genesis: { state } }: EarlierChain,
): readonly Difference[] {
  if (settings === null || options.genesis !== undefined) return []
  const balanceOf = (address: Address) => state.accounts.get(address)?.balance ?? 0n
  return [
    ...accounts.map(({ address }): Difference => ['balance of the dev accounts', options.balance, balanceOf(address)]),
    ...chosenAccounts(options).map((each): Difference => [`balance of ${each.address}`, each.balance, balanceOf(each.address)]),
  ]
}

function shown(value: Value | undefined): string {
  if (value === null) return 'none'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

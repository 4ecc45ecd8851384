import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { PERMIT2, labelOf } from './labels.ts'
import { PREVIEW_GRANTS, PREVIEW_TOKENS } from '../limits.ts'
import type { AssetMovement, Grant, Movements } from './movements.ts'
import type { Allowance, BalanceChange } from '../question.ts'
import { coversSupply } from './permitvalues.ts'
import { inTurn } from './precedence.ts'
import { answerOf } from './simulation.ts'
import type { Read, SimulatedCall } from './simulation.ts'
import { supplyRead, tokenOf, tokenReads, viewOf, wordOf } from './tokens.ts'
import type { Token } from './tokens.ts'

/** Changes of balances and allowances, read before and after the calls, since logs are unverified. */
export interface Outcome {
  readonly changes: readonly BalanceChange[]
  readonly allowances: readonly Allowance[]
}

/** The same reads before and after the calls. */
export interface SimulatedReads {
  readonly before: readonly SimulatedCall[]
  readonly after: readonly SimulatedCall[]
}

/** The reads for these movements, in their order: tokens of outflows and of grants in turn, so that a flood of one cannot push the other over the limit. */
export function readsFor(account: Address, { assets, grants }: Movements): readonly Read[] {
  const tokens = new Set(inTurn([...assets, ...grants], (each) => ('asset' in each ? 'asset' : 'grant')).map(({ token }) => token))
  const held = new Set(assets.filter(({ asset }) => asset === 'erc20').map(({ token }) => token))
  const allowed = new Set(grants.filter(({ kind }) => isCounted(kind)).map(({ token }) => token))
  return [
    ...[...tokens]
      .slice(0, PREVIEW_TOKENS)
      .flatMap((token) => [
        ...tokenReads(token),
        ...(held.has(token) ? [balanceRead(token, account)] : []),
        ...(allowed.has(token) ? [supplyRead(token)] : []),
      ]),
    ...grants.slice(0, PREVIEW_GRANTS).map((grant) => grantRead(account, grant)),
  ]
}

/** `observed`: results of the reads. null if there are none; the logs are used then. */
export function outcomeOf(
  chain: WalletChain,
  account: Address,
  movements: Movements,
  reads: readonly Read[],
  observed: SimulatedReads | null,
): Outcome {
  const state = new ObservedState(reads, observed)
  const ether = movements.ether === 0n ? [] : [nativeChange(chain, movements.ether)]
  const assets = movements.assets.flatMap((movement) => changeOf(account, movement, state))
  return {
    changes: [...ether, ...assets],
    allowances: movements.grants.flatMap((grant) => allowanceOf(chain, account, grant, state)),
  }
}

export function nativeChange({ nativeCurrency }: WalletChain, amount: bigint): BalanceChange {
  const { symbol, decimals } = nativeCurrency
  return { asset: 'native', token: null, symbol, decimals, tokenId: null, amount: amount.toString() }
}

// --- reads ----------------------------------------------------------------------------------------------------------------

function balanceRead(to: Address, account: Address): Read {
  return { to, input: viewOf('balanceOf(address)', account) }
}

/** The read of the present allowance. */
export function grantRead(
  account: Address,
  { kind, token, spender, tokenId }: Pick<Grant, 'kind' | 'token' | 'spender' | 'tokenId'>,
): Read {
  if (kind === 'permit2') return { to: PERMIT2, input: viewOf('allowance(address,address,address)', account, token, spender) }
  if (kind === 'nft') return { to: token, input: viewOf('getApproved(uint256)', tokenId ?? 0n) }
  const signature = kind === 'erc20' ? 'allowance(address,address)' : 'isApprovedForAll(address,address)'
  return { to: token, input: viewOf(signature, account, spender) }
}

interface Answers {
  readonly before: Hex | null
  readonly after: Hex | null
}

class ObservedState {
  readonly #answers: ReadonlyMap<string, Answers>

  constructor(reads: readonly Read[], observed: SimulatedReads | null) {
    const answer = (calls: readonly SimulatedCall[], i: number): Hex | null => {
      const call = calls[i]
      return call === undefined ? null : answerOf(call)
    }
    const { before, after } = observed ?? { before: [], after: [] }
    const queried = observed === null ? [] : reads
    this.#answers = new Map(queried.map((read, i) => [keyOf(read), { before: answer(before, i), after: answer(after, i) }]))
  }

  /** undefined if it was not read. */
  answers(read: Read): Answers | undefined {
    return this.#answers.get(keyOf(read))
  }

  /** From the reads after the calls, which may have deployed the token. */
  token(address: Address): Token | null {
    return tokenOf(
      address,
      tokenReads(address).map((read) => this.answers(read)?.after ?? null),
    )
  }
}

function keyOf({ to, input }: Read): string {
  return `${to} ${input}`
}

// --- changes --------------------------------------------------------------------------------------------------------------

/** Empty if the balance is the same in the end, or the contract has no balances. */
function changeOf(
  account: Address,
  { asset, token, tokenId, amount: logged }: AssetMovement,
  state: ObservedState,
): readonly BalanceChange[] {
  const answers = asset === 'erc20' ? state.answers(balanceRead(token, account)) : undefined
  const [before, after] = [wordOf(answers?.before ?? null), wordOf(answers?.after ?? null)]
  if (answers !== undefined && before === null && after === null) return []
  const amount = after === null ? logged : after - (before ?? 0n)
  if (amount === 0n) return []
  const known = state.token(token)
  return [
    {
      asset,
      token,
      symbol: known?.symbol ?? null,
      decimals: asset === 'erc20' ? (known?.decimals ?? null) : null,
      tokenId: tokenId === null ? null : Hex.fromQuantity(tokenId),
      amount: amount.toString(),
    },
  ]
}

// --- allowances -----------------------------------------------------------------------------------------------------------

function allowanceOf(chain: WalletChain, account: Address, grant: Grant, state: ObservedState): readonly Allowance[] {
  const { kind, token, spender, tokenId } = grant
  const given = givenBy(grant, state.answers(grantRead(account, grant)))
  if (given === null) return []
  const known = state.token(token)
  const supply = wordOf(state.answers(supplyRead(token))?.after ?? null)
  return [
    {
      kind,
      token,
      ...(tokenId === null ? {} : { tokenId: Hex.fromQuantity(tokenId) }),
      symbol: known?.symbol ?? null,
      decimals: kind === 'erc20' || kind === 'permit2' ? (known?.decimals ?? null) : null,
      spender,
      spenderLabel: labelOf(spender, chain.chainId, []),
      amount: isCounted(kind) && !coversSupply(given.amount, supply) ? given.amount.toString() : null,
      isSpent: given.isSpent,
    },
  ]
}

/** null if the allowance did not grow. */
function givenBy(
  { kind, spender, amount, maxAmount }: Grant,
  answers: Answers | undefined,
): { readonly amount: bigint; readonly isSpent: boolean } | null {
  const [before, after] = [wordOf(answers?.before ?? null) ?? 0n, wordOf(answers?.after ?? null) ?? amount]
  if (kind === 'nft') {
    if (amount === 0n) return null
    return { amount, isSpent: answers !== undefined && after !== BigInt(spender) }
  }
  if (after > before) return { amount: after, isSpent: false }
  return maxAmount > before ? { amount: maxAmount, isSpent: true } : null
}

function isCounted(kind: Allowance['kind']): boolean {
  return kind === 'erc20' || kind === 'permit2'
}

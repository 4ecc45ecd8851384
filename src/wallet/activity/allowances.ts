import type { Address, Hex } from '../../eth/index.ts'
import { NodeView } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { READ_ALLOWANCES } from '../limits.ts'
import { grantRead } from '../preview/outcome.ts'
import { coversAnySupply } from '../preview/permitvalues.ts'
import { inTurn } from '../preview/precedence.ts'
import { readAll } from '../preview/simulation.ts'
import { wordOf } from '../preview/tokens.ts'
import type { Allowance } from '../question.ts'
import type { Activity } from './activity.ts'

/** An allowance that the chain still has, as far as it is known, named by the newest activity that gave it. */
export interface OpenAllowance {
  readonly activity: string
  /** index of the allowance in the activity */
  readonly index: number
  /** with its current amount; as it was given if it could not be read */
  readonly allowance: Allowance
}

/**
 * Returns the allowances of an account on a chain that its activities gave and that are not known to be gone: those of tokens that the account called, then
 * others, of which any contract can log as many as it likes; one of each token in turn, of one token the newest first. `activities`: newest first.
 */
export async function openAllowances(
  chain: WalletChain,
  account: Address,
  activities: readonly Activity[],
): Promise<readonly OpenAllowance[]> {
  const own = activities.filter((each) => each.account === account && each.chain !== null && Number(each.chain.chainId) === chain.chainId)
  const called = new Set(own.flatMap(({ calls }) => calls.map(({ to }) => to)))
  const given = own.flatMap(({ id, allowances }) => allowances.map((allowance, index) => ({ activity: id, index, allowance })))
  const newest = new Map<string, OpenAllowance>()
  for (const each of given) {
    const key = keyOf(each.allowance)
    if (!newest.has(key)) newest.set(key, each)
  }
  const isCalled = ({ allowance: { kind, token } }: OpenAllowance): boolean => kind === 'permit2' || called.has(token)
  const groups = [[...newest.values()].filter(isCalled), [...newest.values()].filter((each) => !isCalled(each))]
  const all = groups.flatMap((group) => inTurn(group, ({ allowance: { token } }) => token))
  const reads = all
    .slice(0, READ_ALLOWANCES)
    .map(({ allowance: { kind, token, spender, tokenId } }) =>
      grantRead(account, { kind, token, spender, tokenId: tokenId === undefined ? null : BigInt(tokenId) }),
    )
  const answers = await readAll(chain.rpc, reads)
  const hasPeriod = all.some(({ allowance: { kind } }) => kind === 'permit2')
  const timestamp = hasPeriod
    ? await new NodeView(chain.rpc).now().then(
        (now) => now.timestamp,
        () => 0,
      )
    : 0
  return all.flatMap(({ activity, index, allowance }, i) => {
    const current = currentOf(allowance, answers[i] ?? null, timestamp)
    return current === null ? [] : [{ activity, index, allowance: current }]
  })
}

/** `answer`: the contract's answer; null if it was not read. Returns null if the allowance no longer exists. */
function currentOf(allowance: Allowance, answer: Hex | null, timestamp: number): Allowance | null {
  const { kind, spender } = allowance
  const word = wordOf(answer)
  if (answer === null || word === null) return allowance.isSpent ? null : allowance
  if (word === 0n || (kind === 'permit2' && isExpired(answer, timestamp))) return null
  if (kind === 'nft') return word === BigInt(spender) ? { ...allowance, isSpent: false } : null
  if (kind === 'allNfts') return allowance
  return { ...allowance, amount: coversAnySupply(word) ? null : word.toString(), isSpent: false }
}

/** Permit2 returns (amount, expiration, nonce). */
function isExpired(answer: Hex, timestamp: number): boolean {
  const expiration = wordOf(`0x${answer.slice(66)}`)
  return expiration !== null && expiration < BigInt(timestamp)
}

function keyOf({ kind, token, spender, tokenId }: Allowance): string {
  return JSON.stringify([kind, token, spender, tokenId ?? null])
}

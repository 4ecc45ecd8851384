import type { Address } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { READ_ALLOWANCES } from '../limits.ts'
import { grantRead, isUnlimited } from '../preview/outcome.ts'
import { readAll } from '../preview/simulation.ts'
import { wordOf } from '../preview/tokens.ts'
import type { Allowance } from '../question.ts'
import type { Activity } from './activity.ts'

/** An allowance that the chain still has, named by the newest activity that gave it. */
export interface OpenAllowance {
  readonly activity: string
  /** of the allowance in the activity */
  readonly index: number
  /** with its present amount */
  readonly allowance: Allowance
}

/**
 * Returns the allowances of an account on a chain that its activities gave and the chain still has, the newest first. One whose contract does not
 * respond is left out. `activities`: newest first.
 */
export async function openAllowances(
  chain: WalletChain,
  account: Address,
  activities: readonly Activity[],
): Promise<readonly OpenAllowance[]> {
  const given = activities
    .filter((each) => each.account === account && each.chain !== null && Number(each.chain.chainId) === chain.chainId)
    .flatMap(({ id, allowances }) => allowances.map((allowance, index) => ({ activity: id, index, allowance })))
  const newest = new Map<string, OpenAllowance>()
  for (const each of given) {
    const key = keyOf(each.allowance)
    if (!newest.has(key)) newest.set(key, each)
  }
  const queried = [...newest.values()].slice(0, READ_ALLOWANCES)
  const answers = await readAll(
    chain.rpc,
    queried.map(({ allowance: { kind, token, spender, tokenId } }) =>
      grantRead(account, { kind, token, spender, tokenId: tokenId === undefined ? null : BigInt(tokenId) }),
    ),
  )
  return queried.flatMap(({ activity, index, allowance }, i) => {
    const present = presentOf(allowance, wordOf(answers[i] ?? null))
    return present === null ? [] : [{ activity, index, allowance: present }]
  })
}

/** `word`: what the contract answered. null: the allowance is gone, or the contract did not answer. */
function presentOf(allowance: Allowance, word: bigint | null): Allowance | null {
  const { kind, spender } = allowance
  if (word === null || word === 0n) return null
  if (kind === 'nft') return word === BigInt(spender) ? { ...allowance, isSpent: false } : null
  if (kind === 'allNfts') return allowance
  return { ...allowance, amount: isUnlimited(word, kind) ? null : word.toString(), isSpent: false }
}

function keyOf({ kind, token, spender, tokenId }: Allowance): string {
  return JSON.stringify([kind, token, spender, tokenId ?? null])
}

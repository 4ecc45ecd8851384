import type { Header } from '../eth/index.ts'
import type { Rules } from './forks.ts'
import type { BlockContext } from './message.ts'
import type { World } from './world.ts'

const ETHER = 10n ** 18n

/** Proof-of-work rewards for the miner, per ommer included, and for the ommers' miners (Yellow Paper 11.3). */
export function payMiners({ rules, env }: BlockContext, world: World, ommers: readonly Header[]): void {
  const reward = blockReward(rules)
  for (const { coinbase, number } of ommers) {
    world.addBalance(coinbase, (reward * BigInt(number + 8 - env.number)) / 8n)
  }
  world.addBalance(env.coinbase, reward + (reward / 32n) * BigInt(ommers.length))
}

/** EIP-649, EIP-1234. */
function blockReward(rules: Rules): bigint {
  if (rules.has('constantinople')) return 2n * ETHER
  return (rules.has('byzantium') ? 3n : 5n) * ETHER
}

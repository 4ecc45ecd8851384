import { parseArgs } from 'node:util'
import { fuzzPromises } from './fuzz.ts'
import type { Progress } from './fuzz.ts'

// `npm run fuzz -- promises --seed 1 --transactions 1000000`: compares every subscriber's view with the node's, and the ledger with a replay.
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    transactions: { type: 'string', default: '100000' },
    cadence: { type: 'string', default: 'preconf' },
  },
})
const cadence = values.cadence === 'native' ? 'native' : 'preconf'
const transactions = Number(values.transactions)
/** The chain starts anew after so many, which bounds its memory. */
const TRANSACTIONS_PER_CHAIN = 20_000

const start = performance.now()
let printed = start
const total = { transactions: 0, moves: 0, blocks: 0, compared: 0, totals: { kept: 0, changed: 0, retracted: 0 } as Record<string, number> }
for (let seed = Number(values.seed); total.transactions < transactions; seed++) {
  const count = Math.min(TRANSACTIONS_PER_CHAIN, transactions - total.transactions)
  const before = { ...total }
  const end = await fuzzPromises({ seed, transactions: count, cadence, onProgress: (progress) => print(before, progress) })
  total.transactions += end.transactions
  total.moves += end.moves
  total.blocks += end.blocks
  total.compared += end.compared
  for (const [outcome, n] of Object.entries(end.totals)) total.totals[outcome] = (total.totals[outcome] ?? 0) + n
}
say(`${line(total)} in ${Math.round((performance.now() - start) / 1_000)} s, no difference`)

function print(before: typeof total, progress: Progress): void {
  if (performance.now() - printed < 1_000) return
  printed = performance.now()
  say(line({ ...progress, transactions: before.transactions + progress.transactions, blocks: before.blocks + progress.blocks }))
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

function line({ transactions: sent, moves, blocks, compared, totals }: Progress): string {
  const outcomes = Object.entries(totals).map(([outcome, count]) => `${count} ${outcome}`)
  return `${sent} transactions, ${moves} moves, ${blocks} blocks, ${compared} promises compared (${outcomes.join(', ')})`
}

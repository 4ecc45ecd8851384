/** The output of the log at each level of `-v`, in addition to the levels below it. Help, docs and log derive from this table. */
export const VERBOSITY = [
  { flag: 'default', prints: 'transactions, console.log, and why transactions and calls failed' },
  { flag: '-v', prints: 'every sealed block, and the method of every request' },
  { flag: '-vv', prints: 'every request that is answered with an error' },
  { flag: '-vvv', prints: 'call trees of failed transactions' },
  { flag: '-vvvv', prints: 'call trees of all transactions (--print-traces)' },
] as const

/** Levels by what they add. */
export const LEVEL = { blocks: 1, requests: 1, errors: 2, failedTraces: 3, traces: 4 } as const

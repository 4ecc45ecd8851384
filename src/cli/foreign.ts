/** Flags of other nodes, so that a script written for them starts this one, or hears why it cannot. */

/** The same thing under another name. A value makes the alias a flag with that value. */
export const ALIASES: Readonly<Record<string, string>> = {
  '--blockTime': '--block-time',
  '--base-fee': '--block-base-fee-per-gas',
  '--block-gas-limit': '--gas-limit',
  '--no-mine': '--no-mining',
  '--init': '--genesis',
  '--auto-unlock': '--auto-impersonate',
  '--silent': '--quiet',
  '--no-create2': '--disable-default-create2-deployer',
  '--hostname': '--host',
  '--no-colour': '--no-color',
}

const FORKING = 'forking another chain is not built; start from a file with --genesis and --import'

/** What is not built. Starting without it would look like success, so it is an error. */
export const REFUSED: Readonly<Record<string, string>> = {
  '--fork-url': FORKING,
  '--rpc-url': FORKING,
  '--fork': FORKING,
  '-f': FORKING,
  '--fork-block-number': FORKING,
  '--fork-transaction-hash': FORKING,
  '--fork-chain-id': FORKING,
  '--fork-header': FORKING,
  '--ipc': 'a pipe is not built; use HTTP or WebSocket on --port',
  '--number': 'the chain begins at block 0; a genesis file may say otherwise with --genesis',
  '--mnemonic-seed-unsafe': 'words from a seed are not built; give the words with --mnemonic',
  '--fund-accounts': 'use anvil_setBalance, or a genesis file with --genesis',
}

/** Flags without meaning here: true when a value follows. They are named once on stderr. */
export const IGNORED: Readonly<Record<string, boolean>> = {
  '--threads': true,
  '-j': true,
  '--compute-units-per-second': true,
  '--cups': true,
  '--no-rate-limit': false,
  '--no-rpc-rate-limit': false,
  '--no-storage-caching': false,
  '--cache-path': true,
  '--retries': true,
  '--timeout': true,
  '--fork-retry-backoff': true,
  '--memory-limit': true,
  '--celo': false,
  '--optimism': false,
  '--network': true,
  '-n': true,
  '--mixed-mining': false,
  '--slots-in-an-epoch': true,
  '--disable-block-gas-limit': false,
  '--disable-min-priority-fee': false,
  '--preserve-historical-states': false,
  '--max-persisted-states': true,
  '--prune-history': false,
  '--transaction-block-keeper': true,
  '--steps-tracing': false,
  '--print-traces': false,
  '--disable-console-log': false,
  '--no-request-size-limit': false,
  '--color': true,
}

export interface Translated {
  readonly args: readonly string[]
  /** flags that were left out */
  readonly ignored: readonly string[]
  /** the first flag that stands for something not built, with the sentence about it */
  readonly refused: { readonly flag: string; readonly sentence: string } | null
}

/** Rewrites foreign flags into ours. What comes after `--` is left alone. */
export function translate(argv: readonly string[]): Translated {
  const args: string[] = []
  const ignored: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] ?? ''
    if (arg === '--') return { args: [...args, ...argv.slice(i)], ignored, refused: null }
    const [flag, value] = split(arg)
    const sentence = own(REFUSED, flag)
    if (sentence !== undefined) return { args, ignored, refused: { flag, sentence } }
    const hasValue = own(IGNORED, flag)
    if (hasValue === undefined) {
      const name = own(ALIASES, flag) ?? flag
      args.push(value === null ? name : `${name}=${value}`)
      continue
    }
    ignored.push(flag)
    if (hasValue && value === null && !(argv[i + 1] ?? '-').startsWith('-')) i++
  }
  return { args, ignored, refused: null }
}

/** Words such as `constructor` are in no table, though every object knows them. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** `--port=1` is a flag and a value. Only long flags are taken apart. */
function split(arg: string): readonly [string, string | null] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1
  return at < 0 ? [arg, null] : [arg.slice(0, at), arg.slice(at + 1)]
}

// Flags of anvil, Hardhat and Ganache, so that a script written for them starts this node or gets an error with the reason.

/** Flags with the same meaning under another name. */
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
  '--rpc-url': '--fork-url',
  '--fork': '--fork-url',
  '--cups': '--compute-units-per-second',
  '--no-rpc-rate-limit': '--no-rate-limit',
  '--fork-retries': '--retries',
}

/** Unsupported features. Ignoring one would look like success, so the flag is an error. */
export const REFUSED: Readonly<Record<string, string>> = {
  '--ipc': 'IPC is not supported; use HTTP or WebSocket on --port',
  '--number': 'the chain starts at block 0; use --genesis for another number',
  '--mnemonic-seed-unsafe': 'a mnemonic from a seed is not supported; give the words with --mnemonic',
  '--fund-accounts': 'use anvil_setBalance, or a genesis file with --genesis',
}

/** Flags without effect: true if a value follows. They are named once on stderr. */
export const IGNORED: Readonly<Record<string, boolean>> = {
  '--threads': true,
  '-j': true,
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
  '--no-request-size-limit': false,
  '--color': true,
}

export interface TranslatedFlags {
  readonly args: readonly string[]
  /** flags that were removed */
  readonly ignored: readonly string[]
  /** the first flag of an unsupported feature, with its sentence */
  readonly refused: { readonly flag: string; readonly sentence: string } | null
}

/** Replaces aliases and removes ignored flags, up to `--`. */
export function translateFlags(argv: readonly string[]): TranslatedFlags {
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

/** Reads own properties only: a flag may be called `constructor`. */
function own<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined
}

/** Splits `--port=1` into flag and value; short flags are not split. */
function split(arg: string): readonly [string, string | null] {
  const at = arg.startsWith('--') ? arg.indexOf('=') : -1
  return at < 0 ? [arg, null] : [arg.slice(0, at), arg.slice(at + 1)]
}

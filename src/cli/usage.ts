import { OPTIONS, OPTION_ROWS, longName, takesValue, variableOf } from './options.ts'
import type { Option } from './options.ts'

// Sentences for arguments that are no option and no command, which say what to do.

const ROWS: ReadonlyMap<string, Option<unknown>> = new Map(
  OPTION_ROWS.flatMap(([, row]) => [`--${longName(row.flag)}`, ...(/^-\w/.exec(row.flag) ?? [])].map((flag) => [flag, row] as const)),
)

/** Options whose value often has spaces. */
const TEXTS: ReadonlySet<Option<unknown>> = new Set<Option<unknown>>([
  OPTIONS.mnemonic,
  OPTIONS.forkHeader,
  OPTIONS.clientVersion,
  OPTIONS.seed,
])

/** Returns the sentence for a word that is no command. `args`: all arguments. */
export function unknownWord(args: readonly string[], word: string): string {
  const at = args.findIndex((arg, index) => arg === word && !takesValue(ROWS.get(args[index - 1] ?? '')?.flag ?? ''))
  const [beforeLast = '', last = ''] = [args[at - 2], args[at - 1]]
  const [, typographic] = /^[‐-―−]+-*(\S+)$/.exec(word) ?? []
  if (typographic !== undefined) return `${word} begins with a typographic dash; type --${typographic}`
  if (ROWS.has(`-${last}`) && last.length > 2) return `${last} has one dash; the option is -${last}`
  const row = ROWS.get(last) ?? (/^-v+$/.test(last) ? OPTIONS.verbose : undefined)
  if (row === OPTIONS.verbose) return `${last} takes no value; repeat it to print more, as in -vvv`
  if (row !== undefined && !takesValue(row.flag)) return `${noValue(last)}; remove ${JSON.stringify(word)}`
  const text = ROWS.get(beforeLast)
  if (text !== undefined && TEXTS.has(text)) return `a value with spaces needs quotes: ${beforeLast} "${last} ${word} …"`
  return `unknown command ${JSON.stringify(word)}: the commands are demo, audit, fleet and completions; without a command the node starts`
}

/** Returns the sentence for a value after the equals sign of an option without a value, or null. */
export function unexpectedValue(arg: string): string | null {
  const [, flag = '', value = ''] = /^(--[\w-]+)=(.*)$/s.exec(arg) ?? []
  const row = ROWS.get(flag)
  if (row === undefined || takesValue(row.flag)) return null
  if (row.isCounted === true) return `${flag} takes no value; repeat it to print more, as in -vvv`
  return `${noValue(flag)}, or set ${variableOf(row)}=${/^\w{1,5}$/.test(value) ? value : 'true'}`
}

function noValue(flag: string): string {
  return `${flag} takes no value: give it alone, or leave it out`
}

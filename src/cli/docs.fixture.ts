import { ALIASES, IGNORED, REFUSED } from './foreign.ts'
import { OPTION_ROWS, SECTIONS, variableOf } from './options.ts'
import type { Option, OptionName } from './options.ts'

type Row = readonly [OptionName, Option<unknown>]

/** The reference of all options as Markdown: what `docs/flags.md` holds. */
export function flagReference(): string {
  return [
    '# Options of the command',
    '',
    'Generated from the option table by `npm run docs`; do not edit. From a clone, options go after `--`: `npm start -- --port 0`.',
    '',
    'Every option is a flag, an environment variable (`POCKETCHAIN_BLOCK_TIME` for `--block-time`) and a key of a configuration file:',
    '`pocketchain.config.js`, `.mjs` (their default export) or `.json`, the first that is found from the current folder upward. Flags win over',
    'variables, variables over the file. What may be given several times is a list separated by commas in a variable, a list in a file.',
    '',
    'Besides: `-h, --help` prints them all, `-V, --version` the version. `pocketchain demo` plays a sponsored batch on a node of its own and ends;',
    '`pocketchain demo --help` has its options.',
    ...SECTIONS.flatMap(section),
    '',
    '## Flags of other nodes',
    '',
    'Scripts written for anvil, Hardhat or Ganache may use these. They mean the same here:',
    '',
    ...table(
      ['flag', 'stands for'],
      Object.entries(ALIASES).map((pair) => pair.map(code)),
    ),
    '',
    'These ask for something that is not built. Starting without it would look like success, so they end the command with exit code 2:',
    '',
    ...table(['flag', 'what it says'], refusals()),
    '',
    `These have no meaning here. They are named on stderr and ignored: ${Object.keys(IGNORED).map(code).join(', ')}.`,
    '',
    '## Exit codes',
    '',
    ...table(['code', 'meaning'], EXIT_CODES),
    '',
  ].join('\n')
}

/** The test beside this file holds them against the codes of the command. */
export const EXIT_CODES: readonly (readonly [string, string])[] = [
  ['0', 'stopped by Ctrl-C or SIGTERM; also after `--help`, `--version` and a demo that went through'],
  ['1', 'could not start: a busy port, for example; or could not write its state file; a step of the demo failed'],
  ['2', 'a flag, variable or configuration key that is wrong or not built'],
  [
    '3',
    'a genesis, chain, state, keystore or policy file, or a data directory, that cannot be used; the message names the field, the block or the reason',
  ],
]

function section(title: string): readonly string[] {
  const rows = OPTION_ROWS.filter(([, row]) => row.section === title)
  return ['', `## ${title}`, '', ...table(['flag', 'what', 'default', 'key', 'variable'], rows.map(cells))]
}

function cells([key, row]: Row): readonly string[] {
  const what = row.repeatable === true ? `${row.help}; may be given several times` : row.help
  const variables = [variableOf(row), ...(row.variables ?? [])]
  return [code(row.flag), what, defaultOf(row), code(key), variables.map(code).join(', ')]
}

function defaultOf(row: Option<unknown>): string {
  if (row.defaultText !== undefined) return row.defaultText
  if (typeof row.default === 'string') return code(row.default)
  if (typeof row.default === 'number') return String(row.default)
  return row.default === false ? 'off' : 'none'
}

/** Flags that share a sentence share a line. */
function refusals(): readonly (readonly string[])[] {
  const flags = Object.keys(REFUSED)
  return [...new Set(Object.values(REFUSED))].map((sentence) => [
    flags
      .filter((flag) => REFUSED[flag] === sentence)
      .map(code)
      .join(', '),
    sentence,
  ])
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (values: readonly string[]) => `| ${values.map((value) => value.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)]
}

function code(text: string): string {
  return `\`${text}\``
}

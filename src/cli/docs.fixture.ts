import { ALIASES, IGNORED, REFUSED } from './compatflags.ts'
import { VERBOSITY } from './log/verbosity.ts'
import { OPTION_ROWS, SECTIONS, variableOf } from './options.ts'
import type { Option, OptionName } from './options.ts'

type Row = readonly [OptionName, Option<unknown>]

/** Returns the reference of all options as Markdown, the content of `docs/flags.md`. */
export function flagReference(): string {
  return [
    '# Options of the command',
    '',
    'Generated from the option table by `npm run docs`; do not edit. From a clone, options go after `--`: `npm start -- --port 0`.',
    '',
    'Every option is a flag, an environment variable (`POCKETCHAIN_BLOCK_TIME` for `--block-time`) and a key of a configuration file:',
    '`pocketchain.config.js`, `.mjs` (their default export) or `.json`, the nearest one from the current folder upward. Flags override',
    'variables, variables override the file. A repeatable option is a list separated by commas in a variable, and a list in a file.',
    'Of two options that exclude each other, the one from the overriding source is used, and the other one is switched off: `--genesis FILE` starts no fork',
    'although a file has a `forkUrl`. Two from the same source are an error. A flag that requires another option is an error without it; a variable or a key of',
    'a file, which may be meant for other starts, is a warning.',
    '',
    '`-h, --help` prints all options, `-V, --version` the version. `pocketchain demo` runs a sponsored batch on its own node and ends;',
    '`pocketchain demo --help` prints its options. `pocketchain audit` watches the promises of any endpoint; `pocketchain audit --help` prints its options.',
    ...SECTIONS.flatMap(section),
    '',
    '## Levels of -v',
    '',
    'Each level adds to the ones above it; `POCKETCHAIN_VERBOSE` and the key `verbose` are the number of the level.',
    '',
    ...table(
      ['level', 'flag', 'prints'],
      VERBOSITY.map(({ flag, prints }, each) => [String(each), each === 0 ? flag : code(flag), prints]),
    ),
    '',
    '## Flags of other nodes',
    '',
    'These flags of anvil, Hardhat and Ganache are aliases:',
    '',
    ...table(
      ['flag', 'alias of'],
      Object.entries(ALIASES).map((pair) => pair.map(code)),
    ),
    '',
    'These flags select unsupported features and end the command with exit code 2:',
    '',
    ...table(['flag', 'message'], refusals()),
    '',
    `These flags have no effect; they are named on stderr and ignored: ${Object.keys(IGNORED).map(code).join(', ')}.`,
    '',
    '## Exit codes',
    '',
    ...table(['code', 'meaning'], EXIT_CODES),
    '',
  ].join('\n')
}

/** docs.test.ts compares them with the exit codes of the command. */
export const EXIT_CODES: readonly (readonly [string, string])[] = [
  ['0', 'stopped by Ctrl-C, SIGTERM or SIGHUP; also after `--help`, `--version`, a completed demo and the report of an audit'],
  [
    '1',
    'could not start (such as a busy port), not write its state file, or was stopped by a second signal before it was written, or a step of the demo failed',
  ],
  [
    '2',
    'a wrong or unsupported flag, variable or configuration key; `--data` without the package lmdb; an endpoint that cannot be audited',
  ],
  [
    '3',
    'a genesis, chain, state, keystore or policy file, a data directory, or the page of an audit, cannot be used; the message names the field, the block or the reason',
  ],
]

function section(title: string): readonly string[] {
  const rows = OPTION_ROWS.filter(([, row]) => row.section === title)
  return ['', `## ${title}`, '', ...table(['flag', 'description', 'default', 'key', 'variable'], rows.map(cells))]
}

function cells([key, row]: Row): readonly string[] {
  const description = row.repeatable === true ? `${row.help}; repeatable` : row.help
  const variables = [variableOf(row), ...(row.variables ?? [])]
  return [code(row.flag), description, defaultOf(row), code(key), variables.map(code).join(', ')]
}

function defaultOf(row: Option<unknown>): string {
  if (row.defaultText !== undefined) return row.defaultText
  if (typeof row.default === 'string') return code(row.default)
  if (typeof row.default === 'number') return String(row.default)
  return row.default === false ? 'false' : 'none'
}

/** Flags with the same message share a row. */
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

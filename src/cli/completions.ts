import { OPTION_ROWS, longName, takesValue } from './options.ts'

/** Shells for which `pocketchain completions` prints a script. */
type Shell = keyof typeof SCRIPTS

const COMMANDS = ['demo', 'audit', 'fleet', 'completions'] as const

interface Flag {
  readonly name: string
  readonly short: string | null
  readonly help: string
  readonly hasValue: boolean
}

const SCRIPTS = { bash, zsh, fish } as const

export const SHELLS = Object.keys(SCRIPTS) as readonly Shell[] // keys of the literal above

/** Returns the script that completes commands and options in a shell. */
export function completions(shell: Shell): string {
  return SCRIPTS[shell](flags())
}

export function isShell(word: string | undefined): word is Shell {
  return word !== undefined && Object.hasOwn(SCRIPTS, word)
}

function flags(): readonly Flag[] {
  const options = OPTION_ROWS.map(([, { flag, help }]) => ({
    name: longName(flag),
    short: /^-(\w),/.exec(flag)?.[1] ?? null,
    help,
    hasValue: takesValue(flag),
  }))
  return [
    ...options,
    { name: 'help', short: 'h', help: 'print the help', hasValue: false },
    { name: 'version', short: 'V', help: 'print the version', hasValue: false },
  ]
}

function bash(all: readonly Flag[]): string {
  const words = all.flatMap(({ name, short }) => [`--${name}`, ...(short === null ? [] : [`-${short}`])])
  return `_pocketchain() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "${words.join(' ')}" -- "$word"))
  elif [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "${COMMANDS.join(' ')}" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -F _pocketchain pocketchain
`
}

function zsh(all: readonly Flag[]): string {
  const lines = all.flatMap(({ name, short, help, hasValue }) => {
    const described = `[${help.replace(/[[\]':\\]/g, '\\$&').replaceAll("\\'", "'\\''")}]`
    const value = hasValue ? ':value:_files' : ''
    return [`'*--${name}${described}${value}'`, ...(short === null ? [] : [`'*-${short}${described}${value}'`])]
  })
  return `#compdef pocketchain
_arguments \\
  ${lines.join(' \\\n  ')} \\
  '1:command:(${COMMANDS.join(' ')})'
`
}

function fish(all: readonly Flag[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`
  const options = all.map(
    ({ name, short, help, hasValue }) =>
      `complete -c pocketchain -l ${name}${short === null ? '' : ` -s ${short}`}${hasValue ? ' -r' : ''} -d ${quoted(help)}`,
  )
  return `${[`complete -c pocketchain -n __fish_use_subcommand -a ${quoted(COMMANDS.join(' '))}`, ...options].join('\n')}\n`
}

// Every flag of anvil and Hardhat 3 is an option, an alias, ignored with a warning, or refused with a reason.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { ANVIL } from '../../test/anvil.fixture.ts'
import { ALIASES, EXPANSIONS, IGNORED, REFUSED } from './compatflags.ts'
import { OPTION_ROWS, longName } from './options.ts'

/** `hardhat node` of Hardhat 3, and its global options for a network */
const HARDHAT_FLAGS = [
  '--hostname',
  '--port',
  '--chain-type',
  '--chain-id',
  '--fork',
  '--fork-block-number',
  '--config',
  '--network',
  '--verbosity',
]

const FACTS = new URL('../../../shared/facts/dropin.md', import.meta.url)

describe('flags', () => {
  const own = new Set(OPTION_ROWS.flatMap(([, { flag }]) => [`--${longName(flag)}`, ...(/^-\w/.exec(flag) ?? [])]))
  const known = (flag: string) =>
    own.has(flag) ||
    ['--help', '-h', '--version', '-V'].includes(flag) ||
    [ALIASES, EXPANSIONS, IGNORED, REFUSED].some((table) => Object.hasOwn(table, flag))

  it.skipIf(ANVIL === null)('of anvil are options, aliases, ignored with a warning, or refused with a reason', () => {
    const help = execFileSync(ANVIL ?? '', ['--help'], { encoding: 'utf8' })
    const flags = help.split('\n').flatMap((line) => {
      const [, short, long] = /^\s+(?:(-\w), )?(--[\w-]+)/.exec(line) ?? []
      const [, aliases = ''] = /\[aliases?: ([^\]]*)\]/.exec(line) ?? []
      return [short, long, ...aliases.split(', ')].filter((flag) => flag !== undefined && flag.startsWith('-'))
    })
    expect(flags.length).toBeGreaterThan(60)
    expect(flags.filter((flag) => !known(flag ?? ''))).toEqual([])
  })

  it('of Hardhat too', () => {
    expect(HARDHAT_FLAGS.filter((flag) => !known(flag))).toEqual([])
  })

  it.skipIf(!existsSync(FACTS))('of the list of differences too', () => {
    const [, section = ''] = readFileSync(FACTS, 'utf8').split('### 2.2 Flags')
    const [table = ''] = section.split('### 2.3')
    const listed = [...table.matchAll(/(?<![\w-])(--[a-z][\w-]*)/gi)].map(([, flag]) => flag ?? '')
    expect(listed.length).toBeGreaterThan(60)
    expect(listed.filter((flag) => !known(flag))).toEqual([])
  })
})

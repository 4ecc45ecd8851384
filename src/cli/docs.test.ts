import { expect, test } from 'vitest'
import { EXIT_CODES, flagReference } from './docs.fixture.ts'
import { EXIT } from './exit.ts'
import { OPTION_ROWS, longName, variableOf } from './options.ts'

const DOCS = new URL('../../docs/', import.meta.url).pathname

// `npm run docs` runs this with --update, which writes the file.
test('docs/flags.md is generated from the option table', async () => {
  await expect(flagReference()).toMatchFileSnapshot(`${DOCS}flags.md`)
})

test('docs/flags.md has every exit code', () => {
  expect(EXIT_CODES.map(([exitCode]) => Number(exitCode))).toEqual(Object.values(EXIT))
})

test('no two options share a flag or a variable', () => {
  for (const name of [longName, shortName]) {
    const names = OPTION_ROWS.map(([, { flag }]) => name(flag)).filter((each) => each !== null)
    expect(names).toEqual([...new Set(names)])
  }
  const variables = OPTION_ROWS.flatMap(([, row]) => [variableOf(row), ...(row.variables ?? [])])
  expect(variables).toEqual([...new Set(variables)])
})

/** `p` of `-p, --port <number>` */
function shortName(flag: string): string | null {
  return /^-([a-zA-Z]), /.exec(flag)?.[1] ?? null
}

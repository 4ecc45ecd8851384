import { describe, expect, it } from 'vitest'
import { CONTROL_METHODS } from './control.ts'
import { walletReference } from './docs.fixture.ts'
import { CHAPTERS, METHODS } from './table.ts'

const FILE = new URL('../../docs/wallet.md', import.meta.url).pathname
const OWN = CHAPTERS.flatMap(({ methods }) => methods)
const ROWS = [...OWN, ...CONTROL_METHODS.values()]

describe("the wallet's method tables", () => {
  it('have each name once', () => {
    expect(OWN.map(({ name }) => name)).toEqual([...METHODS.keys()])
    for (const name of CONTROL_METHODS.keys()) expect(METHODS.has(name), name).toBe(false)
  })

  it('keep control methods under a prefix that no app may use', () => {
    for (const name of CONTROL_METHODS.keys()) expect(name).toMatch(/^pocketchain_/)
    for (const name of METHODS.keys()) expect(name).not.toMatch(/^pocketchain_/)
  })

  it.each(ROWS.map((row) => [row.name, row] as const))('%s: its example is a valid request', (_, { params, example }) => {
    expect(example.params.length).toBeLessThanOrEqual(params.length)
    for (const [i, { schema, required, name }] of params.entries()) {
      const value = example.params[i]
      if (value === undefined) expect(required, `${name} is required and missing in the example`).toBe(false)
      else schema.parse(value, name)
    }
  })

  it.each(ROWS.map((row) => [row.name, row] as const))('%s: its doc is one sentence', (_, { doc }) => {
    expect(doc).toMatch(/^\S.*[^.]\.$/)
  })
})

// `npm run docs` runs this with --update, which writes the file.
describe('the committed reference', () => {
  it('wallet.md matches the method tables', async () => {
    await expect(walletReference()).toMatchFileSnapshot(FILE)
  })
})

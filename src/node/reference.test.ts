import { describe, expect, it } from 'vitest'
import { PUBLIC_METHODS, PUBLIC_REFUSALS } from '../rpc/index.ts'
import { CHAPTERS } from './methods.ts'
import { methodReference, openRpcDocument } from './reference.fixture.ts'
import { VERSION } from '../rpc/index.ts'

const DOCS = new URL('../../docs/', import.meta.url).pathname
const ROWS = CHAPTERS.flatMap(({ methods }) => methods)

const NAMES = new Set(ROWS.map(({ name }) => name))

describe('the method tables', () => {
  it('have no duplicate names', () => {
    expect(ROWS.map(({ name }) => name)).toEqual([...NAMES])
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

  it('has no optional parameter before a required one', () => {
    for (const { name, params } of ROWS) {
      const flags = params.map(({ required }) => required)
      expect(flags, name).toEqual(flags.toSorted((a, b) => Number(b) - Number(a)))
    }
  })

  it('contain every method of the public tier', () => {
    for (const name of [...PUBLIC_METHODS.keys(), ...PUBLIC_REFUSALS.keys()]) expect(NAMES.has(name), name).toBe(true)
  })
})

// `npm run docs` runs these with --update, which writes the files.
describe('the committed reference', () => {
  it('methods.md is generated from the tables', async () => {
    await expect(methodReference()).toMatchFileSnapshot(`${DOCS}methods.md`)
  })

  it('openrpc.json is generated from the tables', async () => {
    await expect(`${JSON.stringify(openRpcDocument(VERSION), null, 1)}\n`).toMatchFileSnapshot(`${DOCS}openrpc.json`)
  })
})

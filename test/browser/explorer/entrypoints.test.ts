import { expect, it } from 'vitest'
import { ENTRY_POINTS as KNOWN } from '../../../src/eth/index.ts'
import { ENTRY_POINTS } from '../../../pages/explorer/entrypoints.ts'
import { nameOf } from '../../../pages/explorer/names.ts'

it('the EntryPoints of the explorer are those of the bundler, and have their names', () => {
  expect(ENTRY_POINTS).toEqual(KNOWN)
  expect(Object.values(ENTRY_POINTS).map(nameOf)).toEqual(Object.keys(KNOWN).map((version) => `EntryPoint ${version}`))
})

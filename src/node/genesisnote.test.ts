import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createPocketchain } from './index.ts'
import type { PocketchainOptions } from './index.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const NOTE = 'the genesis file gives the dev accounts no ether; set the balance (--balance 10000), or add them to its alloc'

function genesisWith(alloc: object, config: object = {}): string {
  return JSON.stringify({ config: { chainId: 31_337, ...config }, timestamp: 1_600_000_000, gasLimit: '0x3938700', alloc })
}

async function notesOf(options: PocketchainOptions): Promise<readonly string[]> {
  const notes: string[] = []
  await using _node = await createPocketchain({ cadence: 'manual', clock: 'manual', onNote: (line) => notes.push(line), ...options })
  return notes
}

it.each([
  ['no account', genesisWith({}), {}, [NOTE]],
  ['an account without ether', genesisWith({ [ALICE]: { balance: '0x0' } }), {}, [NOTE]],
  ['an account with ether', genesisWith({ [ALICE]: { balance: '0x1' } }), {}, []],
  ['no account, and a balance', genesisWith({}), { balance: 1n }, []],
  ['no account, which none needs', genesisWith({}), { accounts: 0 }, []],
] as const)('a genesis file with %s: the start says whether the dev accounts have ether', async (_, genesis, options, notes) => {
  expect(await notesOf({ genesis, ...options })).toEqual(notes)
})

it('fork times of a genesis file without rules here are named once', async () => {
  const genesis = genesisWith({ [ALICE]: { balance: '0x1' } }, { terminalTotalDifficulty: 0, amsterdamTime: 0, bogotaTime: 1_900_000_000 })
  expect(await notesOf({ genesis })).toEqual([
    'the genesis file schedules forks that are not supported, and blocks keep the rules of earlier ones: amsterdamTime, bogotaTime; remove these keys if that is meant',
  ])
})

it('not when a directory continues', async () => {
  const data = mkdtempSync(join(tmpdir(), 'pocketchain-note-'))
  const options = { genesis: genesisWith({}), data }
  expect([await notesOf(options), await notesOf(options)]).toEqual([[NOTE], []])
  rmSync(data, { recursive: true })
})

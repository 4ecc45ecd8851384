import type { Item, Program } from './program.ts'

/** Maximum runs of one minimisation, in both engines each. */
const TRIES_MAX = 4_000

/** Finds a small program for which `fails` still holds: removes large parts, then single ones, until nothing can be removed. */
export async function minimise(program: Program, fails: (smaller: Program) => Promise<boolean>): Promise<Program> {
  let best = program
  let tries = 0
  const attempt = async (smaller: Program): Promise<boolean> => {
    if (tries++ >= TRIES_MAX || !(await fails(smaller))) return false
    best = smaller
    return true
  }
  for (let changed = true; changed;) {
    changed = false
    for (const list of LISTS)
      changed =
        (await shrink(
          () => list.get(best),
          (items) => attempt(list.set(best, items)),
        )) || changed
    for (let at = 0; at < best.accounts.length; at++) {
      changed =
        (await shrink(
          () => best.accounts[at]?.code ?? [],
          (code) => attempt(withAccount(best, at, { code })),
        )) || changed
      changed =
        (await shrink(
          () => best.accounts[at]?.storage ?? [],
          (storage) => attempt(withAccount(best, at, { storage })),
        )) || changed
    }
    for (let at = 0; at < best.messages.length; at++) {
      changed =
        (await shrink(
          () => best.messages[at]?.data ?? [],
          (data) => attempt(withMessage(best, at, { data })),
        )) || changed
      for (const plainer of PLAINER) changed = (await differs(best, withMessage(best, at, plainer), attempt)) || changed
    }
    changed = (await simplifyNested(() => best, attempt)) || changed
  }
  return best
}

async function differs(best: Program, plainer: Program, attempt: (smaller: Program) => Promise<boolean>): Promise<boolean> {
  return sizeOf(plainer) !== sizeOf(best) && (await attempt(plainer))
}

/** Parts of a message that can be omitted. */
const PLAINER = [{ accessList: [] }, { value: 0n }, { blobs: 0 }, { moved: [], masked: [] }, { after: 'keep' as const }]

interface List<T> {
  readonly get: (program: Program) => readonly T[]
  readonly set: (program: Program, items: readonly T[]) => Program
}

const LISTS: readonly List<never>[] = [
  { get: ({ messages }) => messages as readonly never[], set: (program, messages) => ({ ...program, messages }) },
  { get: ({ accounts }) => accounts as readonly never[], set: (program, accounts) => ({ ...program, accounts }) },
]

/** Delta debugging: removes runs of half the length, then a quarter, down to single items. */
async function shrink<T>(current: () => readonly T[], attempt: (fewer: readonly T[]) => Promise<boolean>): Promise<boolean> {
  let changed = false
  for (let size = current().length; size >= 1; size = size >> 1) {
    for (let at = 0; at < current().length;) {
      const items = current()
      if (await attempt([...items.slice(0, at), ...items.slice(at + size)])) changed = true
      else at += size
    }
  }
  return changed
}

/** The same within data: init code and deployed code. */
async function simplifyNested(best: () => Program, attempt: (smaller: Program) => Promise<boolean>): Promise<boolean> {
  let changed = false
  for (let at = 0; at < best().accounts.length; at++) {
    const read = () => best().accounts[at]?.code ?? []
    changed = (await shrinkWithin(read, (code) => attempt(withAccount(best(), at, { code })))) || changed
  }
  for (let at = 0; at < best().messages.length; at++) {
    const read = () => best().messages[at]?.data ?? []
    changed = (await shrinkWithin(read, (data) => attempt(withMessage(best(), at, { data })))) || changed
  }
  return changed
}

async function shrinkWithin(code: () => readonly Item[], attempt: (code: readonly Item[]) => Promise<boolean>): Promise<boolean> {
  let changed = false
  for (let at = 0; at < code().length; at++) {
    const inner = () => {
      const item = code()[at]
      return item?.kind === 'data' ? item.items : []
    }
    const put = (items: readonly Item[]) => {
      const all = [...code()]
      const item = all[at]
      if (item?.kind === 'data') all[at] = { ...item, items }
      return attempt(all)
    }
    changed = (await shrink(inner, put)) || changed
    if (inner().length > 0) changed = (await shrinkWithin(inner, put)) || changed
  }
  return changed
}

function withAccount(program: Program, at: number, changes: Partial<Program['accounts'][number]>): Program {
  return { ...program, accounts: program.accounts.map((account, index) => (index === at ? { ...account, ...changes } : account)) }
}

function withMessage(program: Program, at: number, changes: Partial<Program['messages'][number]>): Program {
  return { ...program, messages: program.messages.map((message, index) => (index === at ? { ...message, ...changes } : message)) }
}

/** To detect changes only. */
function sizeOf({ messages }: Program): string {
  return JSON.stringify(
    messages.map(({ accessList, value, blobs, moved, masked, after }) => [accessList, `${value}`, blobs, moved, masked, after]),
  )
}

import { Address } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'
import { ACQUAINTANCES } from '../limits.ts'

/** To whom an account has sent something through this wallet: who is new, and who only looks like one of them, is worth a word. */
export const Acquaintances = { of, meet }

/** The newest last. */
function of(records: Records, account: Address): readonly Address[] {
  const kept = JsonRecords.get(records, PREFIX + account)
  return Array.isArray(kept) ? kept.filter((each) => Address.isAddress(each)).map((each) => Address.from(each)) : []
}

function meet(records: Records, account: Address, recipients: readonly Address[]): void {
  const known = of(records, account)
  const met = [...new Set([...known.filter((each) => !recipients.includes(each)), ...recipients])].slice(-ACQUAINTANCES)
  if (met.length !== known.length || met.some((each, i) => each !== known[i])) JsonRecords.put(records, PREFIX + account, met)
}

const PREFIX = 'wallet/dealt/'

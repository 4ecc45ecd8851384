import { Address } from '../../eth/index.ts'
import type { Records } from '../../jsonrpc/index.ts'
import { JsonRecords } from '../../jsonrpc/index.ts'
import { KNOWN_RECIPIENTS } from '../limits.ts'

/** Addresses to which an account has sent something through this wallet, for warnings about new and look-alike recipients. */
export const KnownRecipients = { of, add }

/** The newest last. */
function of(records: Records, account: Address): readonly Address[] {
  const kept = JsonRecords.get(records, PREFIX + account)
  return Array.isArray(kept) ? kept.filter((each) => Address.isAddress(each)).map((each) => Address.from(each)) : []
}

function add(records: Records, account: Address, recipients: readonly Address[]): void {
  const before = of(records, account)
  const after = [...new Set([...before.filter((each) => !recipients.includes(each)), ...recipients])].slice(-KNOWN_RECIPIENTS)
  if (after.length !== before.length || after.some((each, i) => each !== before[i])) JsonRecords.put(records, PREFIX + account, after)
}

const PREFIX = 'wallet/dealt/'

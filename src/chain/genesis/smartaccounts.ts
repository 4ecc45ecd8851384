import { contractOf } from './defaultcontract.ts'
import type { DefaultContract } from './defaultcontract.ts'

/**
 * Returns factories and implementations of smart accounts, which contracts/README.md lists. Their 200 KB are read when it is called, so that
 * other starts take no longer.
 */
export async function smartAccountContracts(): Promise<readonly DefaultContract[]> {
  const { default: artifact } = await import('./smartaccounts.json', { with: { type: 'json' } })
  return artifact.accounts.map(contractOf)
}

import { Abi, Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'
import { RpcError, schema } from '../jsonrpc/index.ts'
import type { Schema } from '../jsonrpc/index.ts'
import { API_KEY_CHARS, POLICIES, POLICY_ITEMS, POLICY_NAME_CHARS } from './limits.ts'
import { PLAIN, digestOf } from './policy.ts'
import type { Policy, PolicyContract } from './policy.ts'

// The one parser of policies: in configuration files, policy files, options and parameters.

const { arrayOf, explained, maybe, refused, shortText, strictObject, time, titled } = schema

const NAME = shortText(POLICY_NAME_CHARS)

const CHAIN_ID: Schema<number> = explained('must be a chain id, such as 31337', schema.atLeast(1, schema.integer))

const ADDRESS: Schema<Address> = explained('must be an address: 0x and 40 hex digits', schema.address)

/** Function signatures need full type names before they are hashed. */
const SIGNATURE = /^[A-Za-z_$][\w$]*\((?:[\w$,()[\]]*)\)$/
const SHORT_TYPE = /[(,](?:uint|int|fixed|ufixed|byte)(?=[,)[])/

const SELECTOR: Schema<readonly [selector: string, text: string]> = {
  json: { title: 'function, selector or none', type: 'string' },
  parse: (value, path) => {
    if (value === PLAIN) return [PLAIN, PLAIN]
    if (Hex.isHex(value, 8)) return [value.toLowerCase(), value.toLowerCase()]
    if (typeof value !== 'string' || !SIGNATURE.test(value))
      throw refused(
        path,
        `must be a function such as transfer(address,uint256), four bytes such as 0xa9059cbb, or ${PLAIN} for plain ether`,
      )
    if (SHORT_TYPE.test(value)) throw refused(path, 'has a type with a short name: write uint256 for uint')
    return [Abi.selector(value), value]
  },
}

const CONTRACT = titled('contract', strictObject({ address: ADDRESS, selectors: maybe(arrayOf(SELECTOR, POLICY_ITEMS)) }))

const AMOUNT: Schema<bigint> = {
  json: { title: 'wei, decimal or hexadecimal', type: 'string' },
  parse: (value, path) => {
    const wei = typeof value === 'bigint' ? value : typeof value === 'string' && WEI.test(value) ? BigInt(value) : -1n
    if (wei >= 0n && wei >> 256n === 0n) return wei
    throw refused(path, 'must be wei as text, decimal or 0x, such as "1000000000000000000"')
  },
}

const WEI = /^(?:0x[0-9a-fA-F]{1,64}|[0-9]{1,78})$/

/** Unknown keys are refused: a misspelt limit would not limit anything. */
const FIELDS = strictObject({
  name: NAME,
  chains: maybe(arrayOf(CHAIN_ID, POLICY_ITEMS)),
  entryPoints: maybe(arrayOf(ADDRESS, POLICY_ITEMS)),
  contracts: maybe(arrayOf(CONTRACT, POLICY_ITEMS)),
  senders: maybe(arrayOf(ADDRESS, POLICY_ITEMS)),
  perOperation: maybe(AMOUNT),
  perUser: maybe(AMOUNT),
  perDay: maybe(AMOUNT),
  total: maybe(AMOUNT),
  until: maybe(time),
  apiKeys: maybe(arrayOf(shortText(API_KEY_CHARS), POLICY_ITEMS)),
})

const POLICY: Schema<Policy> = {
  json: { title: 'policy', ...FIELDS.json },
  parse: (value, path) => {
    const { chains, entryPoints, contracts, senders, apiKeys, ...given } = FIELDS.parse(value, path)
    return {
      name: given.name,
      chains: setOf(chains),
      entryPoints: setOf(entryPoints),
      contracts: contracts?.map(contractOf) ?? null,
      senders: setOf(senders),
      apiKeys: apiKeys?.map(digestOf) ?? null,
      perOperation: given.perOperation ?? null,
      perUser: given.perUser ?? null,
      perDay: given.perDay ?? null,
      total: given.total ?? null,
      until: given.until ?? null,
    }
  },
}

const LIST = arrayOf(POLICY, POLICIES)

/** The policies of one sponsor; names are unique. */
export const POLICY_LIST: Schema<readonly Policy[]> = {
  json: LIST.json,
  parse: (value, path) => {
    const policies = LIST.parse(value, path)
    for (const [i, { name }] of policies.entries())
      if (policies.findIndex((each) => each.name === name) !== i) throw refused(`${path}[${i}].name`, `is the second policy "${name}"`)
    return policies
  },
}

/** Parses policies outside of a request. Throws RangeError with the path, such as `policies[0].perDay`. */
export function parsePolicies(value: unknown): readonly Policy[] {
  try {
    return POLICY_LIST.parse(value, 'policies')
  } catch (error) {
    throw error instanceof RpcError ? new RangeError(error.message.replace(/^invalid /, '')) : error
  }
}

function contractOf({
  address,
  selectors,
}: {
  readonly address: Address
  readonly selectors?: readonly (readonly [string, string])[] | undefined
}): PolicyContract {
  return { address, selectors: selectors === undefined ? null : new Map(selectors) }
}

function setOf<T>(items: readonly T[] | undefined): ReadonlySet<T> | null {
  return items === undefined ? null : new Set(items)
}

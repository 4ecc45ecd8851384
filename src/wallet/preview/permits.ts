import { Delegation, Hex } from '../../eth/index.ts'
import type { Address, TypedData } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { withTimeout } from '../approvals/timing.ts'
import { PREVIEW_TOKENS, WARNING_MS } from '../limits.ts'
import type { TokenLabel } from '../question.ts'
import { PERMIT2_TYPES, EIP3009_TYPES, coversAnySupply, hasNoEnd } from './permitvalues.ts'
import { readAll } from './simulation.ts'
import { supplyRead, tokenOf, tokenReads, wordOf } from './tokens.ts'
import type { Token } from './tokens.ts'
import { Fields, addressOf } from './typedfields.ts'

/** Typed data that lets a spender take tokens: EIP-2612, DAI, EIP-4494 (ERC-721), EIP-3009 and Permit2. */
export interface Permit {
  readonly items: readonly PermitItem[]
  /** the spender or recipient; null if the data has none */
  readonly spender: Address | null
  /** true if it has the shape of Permit2 */
  readonly isPermit2: boolean
  /** true for EIP-3009: the signature is the transfer itself, and `spender` receives the tokens */
  readonly isTransfer: boolean
  /** Unix time in seconds, or `always`; null if the data has none, or several */
  readonly until: bigint | 'always' | null
  /** scope of the end: an EIP-2612 deadline limits the use of the signature, not the resulting allowance */
  readonly endOf: 'signature' | 'allowance'
}

export interface PermitItem {
  readonly token: Address | null
  /** in the smallest unit; `unlimited`: more than there can be; null if the data does not contain it in a known form */
  readonly amount: bigint | 'unlimited' | null
  /** token id if the permit is for one item of a collection */
  readonly tokenId: bigint | null
}

/** null if it is not a permit. The names of these types are fixed by their standards: contracts that take them hash them in. */
export function permitOf({ primaryType, domain, message }: Pick<TypedData, 'primaryType' | 'domain' | 'message'>): Permit | null {
  const fields = new Fields(message)
  if (primaryType === 'Permit') return tokenPermit(fields, addressOf(domain['verifyingContract']))
  if (EIP3009_TYPES.has(primaryType)) return transfer(fields, addressOf(domain['verifyingContract']))
  return PERMIT2_TYPES.has(primaryType) ? permit2(fields) : null
}

function tokenPermit(fields: Fields, token: Address | null): Permit {
  const spender = fields.address('spender')
  const isNft = fields.has('tokenId') && !fields.has('value') && !fields.has('allowed')
  const item = isNft ? { token, amount: 1n, tokenId: fields.number('tokenId') } : { token, amount: tokenAmount(fields), tokenId: null }
  const isDai = fields.has('allowed')
  const deadline = fields.number(isDai ? 'expiry' : 'deadline')
  const until = isDai && deadline === 0n ? 'always' : untilOf(deadline)
  return { items: [item], spender, isPermit2: false, isTransfer: false, until, endOf: 'signature' }
}

/** DAI permits have a boolean instead of an amount. */
function tokenAmount(fields: Fields): PermitItem['amount'] {
  if (!fields.has('allowed')) return amountOf(fields.number('value'))
  const isAllowed = fields.boolean('allowed')
  return isAllowed === null ? null : isAllowed ? 'unlimited' : 0n
}

function transfer(fields: Fields, token: Address | null): Permit {
  const item = { token, amount: amountOf(fields.number('value')), tokenId: null }
  const until = untilOf(fields.number('validBefore'))
  return { items: [item], spender: fields.address('to'), isPermit2: false, isTransfer: true, until, endOf: 'signature' }
}

/** Allowances (`details`) end with their own expiration, single transfers (`permitted`) with the deadline of the signature. */
function permit2(fields: Fields): Permit {
  const [details, permitted] = [fields.list('details'), fields.list('permitted')]
  const structs = [...details, ...permitted]
  const items = structs.map((struct) => ({
    token: struct.address('token'),
    amount: amountOf(struct.number('amount')),
    tokenId: null,
  }))
  const ends = details.length > 0 ? details.map((struct) => struct.number('expiration')) : [fields.number('deadline')]
  const [end = null] = ends
  const until = new Set(ends).size === 1 ? untilOf(end) : null
  const endOf = details.length > 0 ? 'allowance' : 'signature'
  return { items, spender: fields.address('spender'), isPermit2: true, isTransfer: false, until, endOf }
}

/** A contract that decodes a negative amount as unsigned reads a value of 2^255 or more. */
function amountOf(amount: bigint | null): PermitItem['amount'] {
  if (amount === null) return null
  return amount < 0n || coversAnySupply(amount) ? 'unlimited' : amount
}

function untilOf(seconds: bigint | null): Permit['until'] {
  if (seconds === null) return null
  return seconds < 0n || hasNoEnd(seconds) ? 'always' : seconds
}

// --- chain queries ----------------------------------------------------------------------------------------------------

/** Results of the queries; values without an answer are absent. */
export interface PermitFacts {
  /** true if the spender has no contract code */
  readonly isSpenderEoa: boolean
  readonly tokens: ReadonlyMap<Address, Token>
  /** total supplies */
  readonly supplies: ReadonlyMap<Address, bigint>
}

export const NO_FACTS: PermitFacts = { isSpenderEoa: false, tokens: new Map(), supplies: new Map() }

/** Queries the chain within WARNING_MS; never throws. */
export function permitFacts(chain: WalletChain, permit: Permit | null): Promise<PermitFacts> {
  if (permit === null) return Promise.resolve(NO_FACTS)
  const queried = Promise.all([isEoa(chain, permit.spender), readPermitTokens(chain, permit)]).then(
    ([isSpenderEoa, read]): PermitFacts => ({ isSpenderEoa, ...read }),
    () => NO_FACTS,
  )
  return withTimeout(WARNING_MS, queried, () => NO_FACTS)
}

/** Returns the tokens that were read, for the amounts on the page. */
export function tokenLabels({ tokens }: PermitFacts): readonly TokenLabel[] {
  return [...tokens.values()].map(({ address, symbol, decimals }) => ({ address, symbol, decimals }))
}

/** An account that runs code by EIP-7702 still has its key. */
async function isEoa({ rpc }: WalletChain, address: Address | null): Promise<boolean> {
  if (address === null) return false
  const code = await rpc.request({ method: 'eth_getCode', params: [address, 'pending'] }).catch(() => null)
  return Hex.isHex(code) && (code === '0x' || Delegation.ofText(code) !== null)
}

async function readPermitTokens({ rpc }: WalletChain, { items }: Permit): Promise<Pick<PermitFacts, 'tokens' | 'supplies'>> {
  const named = items.flatMap(({ token }) => (token === null ? [] : [token]))
  const queried = [...new Set(named)].slice(0, PREVIEW_TOKENS)
  const answers = await readAll(
    rpc,
    queried.flatMap((to) => [...tokenReads(to), supplyRead(to)]),
  )
  const size = queried.length === 0 ? 0 : answers.length / queried.length
  const tokens = new Map<Address, Token>()
  const supplies = new Map<Address, bigint>()
  for (const [at, address] of queried.entries()) {
    const own = answers.slice(at * size, (at + 1) * size)
    const token = tokenOf(address, own)
    const supply = wordOf(own.at(-1) ?? null)
    if (token !== null) tokens.set(address, token)
    if (supply !== null) supplies.set(address, supply)
  }
  return { tokens, supplies }
}

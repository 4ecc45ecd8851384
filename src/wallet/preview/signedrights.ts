import { Address } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { amountText, capitalized, shortAddress, visibleText } from './display.ts'
import { BURNS, PERMIT2, labelOf } from './labels.ts'
import type { AccountName } from './labels.ts'
import { SYMBOL_CHARS, WARNING_MS } from '../limits.ts'
import { NO_FACTS, permitFacts, permitOf } from './permits.ts'
import type { Permit, PermitFacts, PermitItem } from './permits.ts'
import { coversSupply, utcText } from './permitvalues.ts'
import type { Warning } from '../question.ts'
import { withTimeout } from '../approvals/timing.ts'
import { Fields, addressOf } from './typedfields.ts'

/**
 * Warnings about the rights that typed data gives to the holder of its signature. `facts`: chain data about a permit. `accounts`: of the wallet,
 * which are named. Never throws.
 */
export function rightsWarnings(
  given: TypedData,
  account: Address,
  facts: PermitFacts = NO_FACTS,
  accounts: readonly AccountName[] = [],
): readonly Warning[] {
  const data = contentsOf(given)
  const permit = permitOf(data)
  if (permit !== null) return permitWarnings(permit, data, facts, accounts)
  const kind = KINDS.get(data.primaryType)
  return kind === undefined ? [] : kind(new Fields(data.message), data, account)
}

/** Queries the chain within WARNING_MS; never throws. */
export function rightsFacts(chain: WalletChain, data: TypedData): Promise<PermitFacts> {
  return permitFacts(chain, permitOf(contentsOf(data)))
}

/** ERC-7739: a smart account takes data in a frame that names the account for data of the same domain. */
function contentsOf(data: TypedData): TypedData {
  if (data.primaryType !== 'TypedDataSign') return data
  const { contents } = data.message
  const fields = Object.hasOwn(data.types, data.primaryType) ? data.types[data.primaryType] : undefined
  const type = fields?.find(({ name }) => name === 'contents')?.type
  const isStruct = typeof contents === 'object' && contents !== null && !Array.isArray(contents)
  return type === undefined || !isStruct ? data : { ...data, primaryType: type, message: contents as TypedData['message'] }
}

/** Warns if the verifying contract has no code. Queries the chain within WARNING_MS; never throws. */
export function verifierWarnings({ rpc }: WalletChain, { domain }: TypedData): Promise<readonly Warning[]> {
  const verifier = domain['verifyingContract']
  if (!Address.isAddress(verifier)) return Promise.resolve([])
  const queried = rpc.request({ method: 'eth_getCode', params: [verifier, 'pending'] }).then(
    (code): readonly Warning[] => (code === '0x' ? [missingVerifier(Address.from(verifier))] : []),
    () => [],
  )
  return withTimeout(WARNING_MS, queried, () => [])
}

function missingVerifier(verifier: Address): Warning {
  return caution(
    'verifier-without-code',
    `The signature is for ${verifier}, where there is no contract on this chain; it may be meant for another.`,
  )
}

type Kind = (fields: Fields, data: TypedData, account: Address) => readonly Warning[]

/** The names of these types are fixed by their standards: contracts that take them hash them in. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['OrderComponents', order],
  ['BulkOrder', orders],
  ['Order', cowOrder],
  ['DelegationWithSig', credit],
  ['SetRelayerApproval', operation],
  ['PermitForAll', permitForAll],
  ['PackedUserOperation', operation],
  ['UserOperation', operation],
  ['ForwardRequest', operation],
  ['MetaTransaction', operation],
  ['Delegation', delegation],
  ['Authorization', authorization],
  ['SafeOp', operation],
  ['SafeTx', safeTransaction],
  ['SafeMessage', safeMessage],
])

// --- tokens ---------------------------------------------------------------------------------------------------------------

function permitWarnings(permit: Permit, data: TypedData, facts: PermitFacts, accounts: readonly AccountName[]): readonly Warning[] {
  const { spender, items, isPermit2, isTransfer } = permit
  const whom = nameOf(spender, data, accounts)
  const warnings = [caution('signed-permit', permitText(permit, whom, data, facts))]
  const unlimited = items.filter((item) => isAll(item, facts))
  if (unlimited.length > 0) {
    const all = takenText({ ...permit, items: unlimited }, data, facts)
    warnings.push(danger('unlimited-allowance', `${capitalized(whom)} may take ${all} that the account has and will ever have.`))
  }
  if (items.length === 0 || items.some(({ amount }) => amount === null)) warnings.push(UNREADABLE_AMOUNT)
  // An amount of zero revokes an allowance.
  const givesNothing = items.length > 0 && items.every(({ amount }) => amount === 0n)
  if (!givesNothing && spender === null) warnings.push(NO_SPENDER)
  if (!givesNothing && facts.isSpenderEoa && spender !== null && !BURNS.has(spender)) {
    const effect = isTransfer ? 'receives the tokens' : 'could take the tokens'
    const key = `${capitalized(whom)} is not a contract but an account with a key: its holder ${effect}.`
    warnings.push(danger('spender-without-code', key))
  }
  if (isPermit2 && addressOf(data.domain['verifyingContract']) !== PERMIT2) warnings.push(OTHER_PERMIT2)
  return warnings
}

function isAll({ amount, token }: PermitItem, { supplies }: PermitFacts): boolean {
  if (amount === 'unlimited') return true
  return amount !== null && coversSupply(amount, token === null ? null : (supplies.get(token) ?? null))
}

const OTHER_PERMIT2 = caution('other-permit2', 'The signature is shaped for Permit2 and goes to another contract.')
const UNREADABLE_AMOUNT = danger(
  'unreadable-permit',
  'The signature does not say in a known form how much may be taken; it may be everything.',
)
const NO_SPENDER = danger('unknown-spender', 'The signature names no spender; anybody may be able to take the tokens.')

// --- orders and calls ---------------------------------------------------------------------------------------------------

/** Seaport: the buyer receives the offer in exchange for the consideration. */
function order(fields: Fields, _: TypedData, account: Address): readonly Warning[] {
  const [offered, wanted] = [fields.list('offer'), fields.list('consideration')]
  // The price moves from one amount to the other while the order is valid.
  const hasAmounts = (item: Fields): boolean => ['startAmount', 'endAmount'].every((name) => (item.number(name) ?? 0n) > 0n)
  const isPaid = wanted.some((item) => item.address('recipient') === account && hasAmounts(item))
  const text = `Anyone who holds this signature can take ${offered.length} offered item${offered.length === 1 ? '' : 's'} from the account for the price of the order.`
  return [caution('signed-order', text), ...(offered.length > 0 && !isPaid ? [UNPAID] : [])]
}

const UNPAID = danger('order-for-nothing', 'The order gives things of the account away, and the account gets nothing for them.')

function orders(): readonly Warning[] {
  return [danger('signed-order', 'The signature is for many orders at once; anyone who holds it can take all that they offer.')]
}

/** CoW Protocol (GPv2Order). The name alone is not one of a standard. The zero address as the receiver is the account itself. */
function cowOrder(fields: Fields, _: TypedData, account: Address): readonly Warning[] {
  if (!['sellToken', 'buyToken', 'sellAmount', 'buyAmount'].every((name) => fields.has(name))) return []
  const [sold, bought] = ['sell', 'buy'].map((side) => {
    const amount = fields.number(`${side}Amount`)
    return `${amount === null ? 'an unknown amount' : `${amountText(amount, null)} units`} of ${addressText(fields.address(`${side}Token`), 'tokens')}`
  })
  const text = `Anyone who holds this signature can take ${sold} from the account for ${bought}.`
  const receiver = fields.has('receiver') ? fields.address('receiver') : Address.zero
  const isPaid = (receiver === Address.zero || receiver === account) && (fields.number('buyAmount') ?? 0n) > 0n
  return [caution('signed-order', text), ...(isPaid ? [] : [UNPAID])]
}

/** Debt tokens of Aave (delegationWithSig). A value of zero takes the delegation back. */
function credit(fields: Fields, data: TypedData): readonly Warning[] {
  if (fields.number('value') === 0n) return []
  const text = `Anyone who holds this signature can let ${nameOf(fields.address('delegatee'), data)} borrow through ${tokenOf(data)}, which the account has to repay.`
  return [danger('signed-credit', text)]
}

/** Collections with permits for all items: no standard, with `operator` and `approved`, `spender` and `_approved`, or `spender` alone. */
function permitForAll(fields: Fields, data: TypedData): readonly Warning[] {
  if ((fields.boolean('approved') ?? fields.boolean('_approved')) === false) return []
  const whom = nameOf(fields.address('operator') ?? fields.address('spender'), data)
  const text = `Anyone who holds this signature can let ${whom} take everything of ${tokenOf(data)} that the account has and will ever have.`
  return [danger('approval-for-all', text)]
}

/** User operations of ERC-4337, requests of ERC-2771 and of Polygon's tokens (executeMetaTransaction), delegations, relayers of Balancer: the holder acts as the account. */
function operation(_: Fields, { primaryType }: TypedData): readonly Warning[] {
  const text = `This is a ${visibleText(primaryType, SYMBOL_CHARS)}: anyone who holds the signature can act as the account without a transaction of yours.`
  return [danger('signed-action', text)]
}

/** Delegations of MetaMask's accounts, and of votes (ERC-5805). */
function delegation(fields: Fields, data: TypedData): readonly Warning[] {
  const isOfVotes = ['delegatee', 'nonce', 'expiry'].every((name) => fields.has(name)) && !fields.has('delegate')
  if (!isOfVotes) return operation(fields, data)
  const text = `Anyone who holds this signature can give the account’s votes to ${nameOf(fields.address('delegatee'), data)}.`
  return [caution('signed-votes', text)]
}

/** Compound III (`manager`, `isAllowed`) and Morpho (`authorized`, `isAuthorized`): a manager can withdraw and borrow for the account. */
function authorization(fields: Fields, data: TypedData): readonly Warning[] {
  if ((fields.boolean('isAllowed') ?? fields.boolean('isAuthorized')) === false) return []
  const whom = nameOf(fields.address('manager') ?? fields.address('authorized'), data)
  const text = `Anyone who holds this signature can let ${whom} manage, and take, everything that the account has at ${tokenOf(data)}.`
  return [danger('signed-authorization', text)]
}

// --- Safe -----------------------------------------------------------------------------------------------------------------

/** A transaction of a Safe that the account owns. By delegatecall the code of another contract runs as the Safe itself. */
function safeTransaction(fields: Fields, data: TypedData): readonly Warning[] {
  const [safe, to] = [safeOf(data), nameOf(fields.address('to'), data)]
  const value = fields.number('value') ?? 0n
  const sent = value === 0n ? '' : ` with ${amountText(value, 18)} of the chain’s currency`
  const text = `Anyone who holds this signature has the account’s consent that ${safe} calls ${to}${sent}.`
  const refund = safeRefund(fields, data)
  const kind = fields.number('operation')
  if (kind === 0n) return [caution('signed-safe', text), ...refund]
  const delegated = `${safe} would run the code at ${to} as its own (delegatecall): that code can take everything it has and change its owners.`
  const unknown = `The signature does not say in a known form how ${safe} calls ${to}; it may run that code as its own.`
  return [caution('signed-safe', text), danger('safe-delegatecall', kind === 1n ? capitalized(delegated) : unknown), ...refund]
}

/** A Safe refunds gas, and `baseGas` in any case, at `gasPrice`: both are chosen by the data. */
function safeRefund(fields: Fields, data: TypedData): readonly Warning[] {
  const price = fields.has('gasPrice') ? fields.number('gasPrice') : 0n
  if (price === 0n) return []
  const token = fields.address('gasToken') ?? Address.zero
  const base = fields.has('baseGas') ? fields.number('baseGas') : 0n
  const least = price === null || base === null ? null : price * base
  const isEther = token === Address.zero
  const unit = isEther ? 'of the chain’s currency' : `units of ${shortAddress(token)}`
  const amount = least === null ? 'an amount that cannot be read' : `${amountText(least, isEther ? 18 : null)} ${unit} or more`
  const receiver = fields.address('refundReceiver') ?? Address.zero
  const whom = receiver === Address.zero ? 'whoever sends it' : nameOf(receiver, data)
  const text = `${capitalized(safeOf(data))} would also pay ${whom} for gas, ${amount}, at a price that the data sets.`
  return [danger('safe-refund', text)]
}

function safeMessage(_: Fields, data: TypedData): readonly Warning[] {
  return [caution('signed-safe', `Anyone who holds this signature has the account’s consent to a message that ${safeOf(data)} signs.`)]
}

function safeOf({ domain }: TypedData): string {
  const safe = addressOf(domain['verifyingContract'])
  return safe === null ? 'the Safe' : `the Safe ${shortAddress(safe)}`
}

// --- texts ----------------------------------------------------------------------------------------------------------------

function nameOf(address: Address | null, { domain }: TypedData, accounts: readonly AccountName[] = []): string {
  if (address === null) return 'anybody'
  const label = labelOf(address, Number(domain['chainId'] ?? 0), accounts)
  return label === null ? Address.checksum(address) : `${label} (${shortAddress(address)})`
}

function permitText(permit: Permit, who: string, data: TypedData, facts: PermitFacts): string {
  const { isTransfer, endOf } = permit
  const [what, end] = [takenText(permit, data, facts), untilText(permit)]
  const [ofSignature, ofAllowance] = end === '' ? ['', ''] : endOf === 'signature' ? [`, ${end},`, ''] : ['', ` ${end}`]
  const action = isTransfer ? `send ${what} of the account to ${who}` : `let ${who} take ${what} from the account`
  return `Anyone who holds this signature can${ofSignature} ${action}${ofAllowance}, without a transaction of yours.`
}

/** Such as `5.5 USDC of 0x8335…2913 and all 0x4200…0006`. */
function takenText({ items, isPermit2 }: Permit, data: TypedData, facts: PermitFacts): string {
  if (!isPermit2) return items.map((item) => itemText(item, tokenOf(data), facts)).join('')
  const named = items.slice(0, SHOWN_ITEMS).map((item) => itemText(item, addressText(item.token, 'tokens'), facts))
  if (named.length === 0) return 'tokens'
  return items.length > SHOWN_ITEMS ? `${named.join(', ')} and ${items.length - SHOWN_ITEMS} more` : named.join(' and ')
}

const SHOWN_ITEMS = 3

/** `name`: the token's name in the data. */
function itemText(item: PermitItem, name: string, facts: PermitFacts): string {
  const { amount, token, tokenId } = item
  const known = token === null ? undefined : facts.tokens.get(token)
  if (tokenId !== null) return `#${tokenId} of ${name}`
  if (amount === null) return name
  if (amount === 'unlimited' || isAll(item, facts)) return `all ${name}`
  if (known === undefined || known.decimals === null) return `${amountText(amount, null)} units of ${name}`
  return `${amountText(amount, known.decimals)} ${known.symbol === null ? '' : `${known.symbol} `}of ${name}`
}

function untilText({ until }: Permit): string {
  if (until === null) return ''
  if (until === 'always') return 'at any time'
  return `until ${utcText(until)}`
}

/** Name, as the domain states it, and address of the verifying contract. */
function tokenOf({ domain }: TypedData): string {
  const name = domain['name']
  const at = addressText(addressOf(domain['verifyingContract']), 'tokens')
  return typeof name === 'string' && name !== '' ? `“${visibleText(name, SYMBOL_CHARS)}” (${at})` : at
}

function addressText(address: Address | null, otherwise: string): string {
  return address === null ? otherwise : shortAddress(address)
}

function caution(code: string, text: string): Warning {
  return { code, level: 'caution', text }
}

function danger(code: string, text: string): Warning {
  return { code, level: 'danger', text }
}

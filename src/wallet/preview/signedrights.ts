import { Address } from '../../eth/index.ts'
import type { TypedData } from '../../eth/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { shortAddress, visibleText } from './display.ts'
import { PERMIT2, labelOf } from './labels.ts'
import { SYMBOL_CHARS, WARNING_MS } from '../limits.ts'
import { isUnlimited } from './outcome.ts'
import type { Warning } from '../question.ts'
import { within } from '../approvals/timing.ts'

/** What whoever holds the signature may do with it, for the kinds of typed data that give something away. Never throws. */
export function rightsWarnings(data: TypedData, account: Address): readonly Warning[] {
  const kind = KINDS.get(data.primaryType)
  return kind === undefined ? [] : kind(new Fields(data.message), data, account)
}

/** A contract that is to check the signature, and is not there. Asks the chain, for a limited time; never throws. */
export function verifierWarnings({ rpc }: WalletChain, { domain }: TypedData): Promise<readonly Warning[]> {
  const verifier = domain['verifyingContract']
  if (!Address.isAddress(verifier)) return Promise.resolve([])
  const asked = rpc.request({ method: 'eth_getCode', params: [verifier, 'pending'] }).then(
    (code): readonly Warning[] => (code === '0x' ? [nobodyVerifies(Address.from(verifier))] : []),
    () => [],
  )
  return within(WARNING_MS, asked, () => [])
}

function nobodyVerifies(verifier: Address): Warning {
  return caution(
    'verifier-without-code',
    `The signature is for ${verifier}, where there is no contract on this chain; it may be meant for another.`,
  )
}

type Kind = (fields: Fields, data: TypedData, account: Address) => readonly Warning[]

/** The names of these types are fixed by their standards: contracts that take them hash them in. */
const KINDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ['Permit', permit],
  ['PermitSingle', permit2],
  ['PermitBatch', permit2],
  ['PermitTransferFrom', permit2],
  ['PermitBatchTransferFrom', permit2],
  ['PermitWitnessTransferFrom', permit2],
  ['PermitBatchWitnessTransferFrom', permit2],
  ['TransferWithAuthorization', authorization],
  ['ReceiveWithAuthorization', authorization],
  ['OrderComponents', order],
  ['BulkOrder', orders],
  ['PackedUserOperation', operation],
  ['ForwardRequest', operation],
  ['Delegation', operation],
])

// --- tokens ---------------------------------------------------------------------------------------------------------------

/** EIP-2612, and DAI's own, which allows all or nothing. */
function permit(fields: Fields, data: TypedData): readonly Warning[] {
  const spender = fields.address('spender')
  const all = fields.value('allowed') === true || isUnlimited(fields.number('value') ?? 0n, 'erc20')
  const text = `Whoever holds this signature can let ${nameOf(spender, data)} take ${tokenOf(data)} from the account, without a transaction of yours.`
  return [caution('signed-permit', text), ...(all ? [unlimited(spender, data)] : [])]
}

/** Allowances and single transfers through Permit2. */
function permit2(fields: Fields, data: TypedData): readonly Warning[] {
  const spender = fields.address('spender')
  const items = [...fields.list('details'), ...fields.list('permitted')]
  const all = items.some((item) => isUnlimited(item.number('amount') ?? 0n, 'permit2'))
  const named = items.slice(0, 3).map((item) => addressText(item.address('token')))
  const what =
    named.length === 0 ? 'tokens' : `${named.join(', ')}${items.length > named.length ? ` and ${items.length - named.length} more` : ''}`
  const text = `Whoever holds this signature can let ${nameOf(spender, data)} take ${what} from the account, without a transaction of yours.`
  const isOther = addressOf(data.domain['verifyingContract']) !== PERMIT2
  return [caution('signed-permit', text), ...(all ? [unlimited(spender, data)] : []), ...(isOther ? [OTHER_PERMIT2] : [])]
}

/** EIP-3009: this is the transfer. */
function authorization(fields: Fields, data: TypedData): readonly Warning[] {
  const text = `Whoever holds this signature can send ${tokenOf(data)} of the account to ${nameOf(fields.address('to'), data)}, without a transaction of yours.`
  return [caution('signed-permit', text)]
}

function unlimited(spender: Address | null, data: TypedData): Warning {
  return caution('unlimited-allowance', `${nameOf(spender, data)} may take all that the account has and will ever have.`)
}

const OTHER_PERMIT2 = caution('other-permit2', 'The signature is shaped for Permit2 and goes to another contract.')

// --- orders and calls ---------------------------------------------------------------------------------------------------

/** Seaport: what is offered goes when somebody pays what is asked for it. */
function order(fields: Fields, _: TypedData, account: Address): readonly Warning[] {
  const [offered, wanted] = [fields.list('offer'), fields.list('consideration')]
  const isPaid = wanted.some((item) => item.address('recipient') === account && (item.number('startAmount') ?? 0n) > 0n)
  const text = `Whoever holds this signature can take ${offered.length} offered item${offered.length === 1 ? '' : 's'} from the account for what the order asks.`
  const free = danger('order-for-nothing', 'The order gives things of the account away, and the account gets nothing for them.')
  return [caution('signed-order', text), ...(offered.length > 0 && !isPaid ? [free] : [])]
}

function orders(): readonly Warning[] {
  return [danger('signed-order', 'The signature is for many orders at once; whoever holds it can take all that they offer.')]
}

/** User operations of ERC-4337, requests of ERC-2771, delegations: the holder acts as the account. */
function operation(_: Fields, { primaryType }: TypedData): readonly Warning[] {
  const text = `This is a ${visibleText(primaryType, SYMBOL_CHARS)}: whoever holds the signature can act as the account, and no transaction of yours is asked for.`
  return [danger('signed-action', text)]
}

// --- words ----------------------------------------------------------------------------------------------------------------

function nameOf(address: Address | null, { domain }: TypedData): string {
  if (address === null) return 'anybody'
  const label = labelOf(address, Number(domain['chainId'] ?? 0), [])
  return label === null ? address : `${label} (${shortAddress(address)})`
}

/** What the contract that checks the signature calls itself there, and where it is. */
function tokenOf({ domain }: TypedData): string {
  const name = domain['name']
  const at = addressText(addressOf(domain['verifyingContract']))
  return typeof name === 'string' && name !== '' ? `“${visibleText(name, SYMBOL_CHARS)}” (${at})` : at
}

function addressText(address: Address | null): string {
  return address === null ? 'tokens' : shortAddress(address)
}

function caution(code: string, text: string): Warning {
  return { code, level: 'caution', text }
}

function danger(code: string, text: string): Warning {
  return { code, level: 'danger', text }
}

// --- reading ----------------------------------------------------------------------------------------------------------------

/** A struct of the message. An app may put anything in it, as long as it fits types of its own. */
class Fields {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(value: unknown) {
    this.#values = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // any object has this shape
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
  }

  address(name: string): Address | null {
    return addressOf(this.value(name))
  }

  number(name: string): bigint | null {
    const value = this.value(name)
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null
    return typeof value === 'string' && NUMBER.test(value) ? BigInt(value) : null
  }

  /** Of structs; one alone is a list of one. */
  list(name: string): readonly Fields[] {
    const value = this.value(name)
    if (value === undefined) return []
    const items: readonly unknown[] = Array.isArray(value) ? value : [value]
    return items.map((item) => new Fields(item))
  }
}

const NUMBER = /^(\d{1,78}|0x[0-9a-fA-F]{1,64})$/

function addressOf(value: unknown): Address | null {
  return Address.isAddress(value) ? Address.from(value) : null
}

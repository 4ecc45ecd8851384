import { Address, Delegation, Hex } from '../../eth/index.ts'
import type { Call } from '../batches/call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { delegateName, isKnownDelegate } from '../delegate.ts'
import { decodeCall } from './abis.ts'
import { amountText, capitalized, shortAddress } from './display.ts'
import type { Keyring } from '../keys/keyring.ts'
import { BURNS, labelOf } from './labels.ts'
import { HIGH_FEE_FACTOR, HIGH_FEE_WEI, SPONSOR_TOKENS, WARNED_RECIPIENTS, WARNINGS, WARNING_MS } from '../limits.ts'
import type { Allowance, CallView, FeeView, Preview, Warning } from '../question.ts'
import { withTimeout } from '../approvals/timing.ts'
import { coversAnySupply } from './permitvalues.ts'
import { readAll } from './simulation.ts'
import { swapRecipient } from './summary.ts'
import { readTokens, viewOf, wordOf } from './tokens.ts'

export interface WarningInput {
  readonly chain: WalletChain
  readonly account: Address
  readonly calls: readonly Call[]
  readonly views: readonly CallView[]
  readonly preview: Preview
  readonly fee: Pick<FeeView, 'most' | 'sponsor'>
  readonly keyring: Pick<Keyring, 'accounts'>
  /** absent: no warnings about new recipients */
  readonly knownRecipients?: readonly Address[]
  /** tokens that the sponsor takes from the account */
  readonly taken?: readonly Address[]
  /** further tokens to check for allowances of the sponsor, such as those in the app's context */
  readonly meant?: readonly Address[]
  /** why the requested sponsor does not pay */
  readonly sponsorFailure?: string | null
}

/** The warnings of a transaction or batch, the most severe first. Queries the chain about recipients, within WARNING_MS. Never throws. */
export async function warningsOf(input: WarningInput): Promise<readonly Warning[]> {
  const recipients = recipientsOf(input)
  const facts = await withTimeout(WARNING_MS, factsOf(input, recipients), () => NO_FACTS)
  const all = [
    ...previewWarnings(input.preview),
    ...currencyWarnings(input),
    ...fundsWarnings(input, facts),
    ...sponsorWarnings(input, facts),
    ...allowanceWarnings(input, facts),
    ...recipients.flatMap((recipient) => recipientWarnings(input, recipient, facts)),
    ...input.calls.flatMap((call, at) => callWarnings(input, call, at, facts)),
  ]
  const once = [...new Map(all.map((warning) => [`${warning.code} ${warning.text}`, warning])).values()]
  return once.toSorted((a, b) => SEVERITY[b.level] - SEVERITY[a.level]).slice(0, WARNINGS)
}

/** Warnings of an upgrade (EIP-7702). */
export function upgradeWarnings(delegate: Address, before: Address | null): readonly Warning[] {
  const unknown = warning('unknown-delegate', 'danger', `The code at ${delegate} is unknown; it could take everything the account has.`)
  const replaced = (old: Address): Warning =>
    warning(
      'replaces-delegate',
      'caution',
      `The account stops running ${delegateName(old) ?? 'the code'} at ${old}; its state there may be lost.`,
    )
  return [...(isKnownDelegate(delegate) ? [] : [unknown]), ...(before === null || before === delegate ? [] : [replaced(before)])]
}

/** Warnings of a nonce that the app chose. `next`: the wallet's own choice. */
export function nonceWarnings(nonce: bigint, next: bigint): readonly Warning[] {
  if (nonce === next) return []
  const text =
    nonce < next
      ? `The app chose the nonce ${nonce}: a transaction of yours that waits with it is replaced by this one.`
      : `The app chose the nonce ${nonce}, the next is ${next}: this waits until the account has sent ${nonce - next} others.`
  return [warning('chosen-nonce', 'caution', text)]
}

/** Warnings of a fee that the app chose. `price` and `usual`: wei per gas that are paid, and that the chain asks for; null: not known. `limit`: gas. */
export function feeWarnings(chosen: { readonly price: bigint; readonly usual: bigint | null; readonly limit: bigint }): readonly Warning[] {
  const { price, usual, limit } = chosen
  if (usual === null || price < usual * HIGH_FEE_FACTOR || price * limit < HIGH_FEE_WEI) return []
  const text = `The app chose a fee of ${amountText(price, 9)} gwei per gas, ${amountText(price / usual, null)} times what the chain asks for.`
  return [warning('chosen-fee', 'danger', text)]
}

const SEVERITY: Readonly<Record<Warning['level'], number>> = { info: 0, caution: 1, danger: 2 }

function warning(code: string, level: Warning['level'], text: string): Warning {
  return { code, level, text }
}

// --- facts ----------------------------------------------------------------------------------------------------------------

/** Results of the queries; without a result there is no warning. */
interface Facts {
  readonly codes: ReadonlyMap<Address, 'none' | 'delegated' | 'contract'>
  readonly tokens: ReadonlySet<Address>
  /** wei of the account; null: not known */
  readonly balance: bigint | null
  /** tokens with an allowance of the sponsor, and their symbols */
  readonly allowed: ReadonlyMap<Address, string | null>
}

const NO_FACTS: Facts = { codes: new Map(), tokens: new Set(), balance: null, allowed: new Map() }

async function factsOf(input: WarningInput, recipients: readonly Recipient[]): Promise<Facts> {
  const { chain, account, calls, views, preview } = input
  const targets = calls.flatMap(({ to }) => (to === null ? [] : [to]))
  const spenders = [...views.flatMap((view) => approvalIn(view)?.spender ?? []), ...preview.allowances.map(({ spender }) => spender)]
  const queried = [...new Set([...spenders, ...recipients.map(({ address }) => address), ...targets])].slice(0, WARNED_RECIPIENTS)
  try {
    const [allowed, balance, ...codes] = await Promise.all([
      allowedTo(input),
      ask(chain, 'eth_getBalance', account),
      ...queried.map((address) => ask(chain, 'eth_getCode', address)),
    ])
    const kinds = new Map(queried.flatMap((address, i) => kindOf(codes[i] ?? null).map((kind) => [address, kind] as const)))
    const suspects = recipients.map(({ address }) => address).filter((address) => kinds.get(address) === 'contract')
    const tokens = suspects.length === 0 ? new Map() : await readTokens(chain.rpc, suspects)
    return {
      codes: kinds,
      tokens: new Set(tokens.keys()),
      balance: typeof balance === 'string' && balance !== '0x' ? BigInt(balance) : null,
      allowed,
    }
  } catch {
    return NO_FACTS
  }
}

/** Empty without an answer. */
function kindOf(code: Hex | null): readonly ('none' | 'delegated' | 'contract')[] {
  if (code === null) return []
  return [code === '0x' ? 'none' : Delegation.ofText(code) === null ? 'contract' : 'delegated']
}

async function ask({ rpc }: WalletChain, method: string, address: Address): Promise<Hex | null> {
  const answer = await rpc.request({ method, params: [address, 'pending'] })
  return Hex.isHex(answer) ? answer : null
}

/** Involved tokens with an existing allowance of the sponsor. Never throws. */
async function allowedTo({ chain, account, calls, preview, fee, taken = [], meant = [] }: WarningInput): Promise<Facts['allowed']> {
  const paymaster = fee.sponsor?.paymaster
  if (paymaster === undefined) return new Map()
  const moved = preview.changes.flatMap(({ asset, token }) => (asset === 'erc20' && token !== null ? [token] : []))
  const called = calls.flatMap(({ to, data }) => (to === null || data.length === 0 ? [] : [to]))
  const queried = [...new Set([...taken, ...meant, ...moved, ...called])].slice(0, SPONSOR_TOKENS)
  if (queried.length === 0) return new Map()
  const input = viewOf('allowance(address,address)', account, paymaster)
  const answers = await readAll(
    chain.rpc,
    queried.map((to) => ({ to, input })),
  )
  const allowed = queried.filter((_, i) => (wordOf(answers[i] ?? null) ?? 0n) > 0n)
  if (allowed.length === 0) return new Map()
  const tokens = await readTokens(chain.rpc, allowed)
  return new Map(allowed.map((token) => [token, tokens.get(token)?.symbol ?? null]))
}

// --- the simulation -------------------------------------------------------------------------------------------------------

function previewWarnings({ status, error, isPrevented, failedCall, omitted = 0 }: Preview): readonly Warning[] {
  const which = failedCall === null ? 'This' : `Call ${failedCall + 1}`
  const warnings: Warning[] = []
  if (status === 'reverted')
    warnings.push(warning('simulation-reverts', 'danger', `${which} would fail now: ${error ?? 'the reason is unknown'}.`))
  if (status === 'unavailable') {
    const level = isPrevented === true ? 'danger' : 'caution'
    warnings.push(warning('simulation-unavailable', level, `The effects are unknown: ${error ?? 'the reason is unknown'}.`))
  }
  if (omitted > 0) warnings.push(warning('preview-cut', 'danger', `This changes so much that ${omitted} of its effects are not shown.`))
  return warnings
}

function fundsWarnings({ chain, calls, fee, preview }: WarningInput, { balance }: Facts): readonly Warning[] {
  const { symbol, decimals } = chain.nativeCurrency
  // An inflow of the calls may pay for their outflow, which the simulation has included.
  const sent = preview.status === 'success' ? netOutflow(preview) : calls.reduce((sum, { value }) => sum + value, 0n)
  const needed = sent + (fee.sponsor === null ? BigInt(fee.most) : 0n)
  if (balance === null || needed <= balance) return []
  const text = `The account has ${amountText(balance, decimals)} ${symbol} and may need ${amountText(needed, decimals)} ${symbol}, fee included.`
  return [warning('insufficient-balance', 'danger', text)]
}

/** Warns of tokens with the symbol of the chain's currency: their amounts read like amounts of it. */
function currencyWarnings({ chain, calls, views, preview }: WarningInput): readonly Warning[] {
  const named = [
    ...[...preview.changes, ...preview.allowances].flatMap(({ token, symbol }) => (token === null ? [] : [{ token, symbol }])),
    ...calls.flatMap(({ to }, at) => (to === null ? [] : [{ token: to, symbol: views[at]?.label?.replace(/^token /, '') ?? null }])),
  ]
  const alike = named.filter(({ symbol }) => symbol !== null && comparable(symbol) === comparable(chain.nativeCurrency.symbol))
  return alike.map(({ token, symbol }) => {
    const text = `The token at ${Address.checksum(token)} calls itself ${symbol}, as the currency of the chain; amounts with that name may be of the token.`
    return warning('token-named-currency', 'caution', text)
  })
}

/** Without case, and without the quotes around a symbol with spaces. */
function comparable(symbol: string): string {
  return symbol
    .normalize('NFKC')
    .replace(/^“(.*)”$/, '$1')
    .toLowerCase()
}

function netOutflow({ changes }: Preview): bigint {
  const native = BigInt(changes.find(({ asset }) => asset === 'native')?.amount ?? '0')
  return native < 0n ? -native : 0n
}

// --- sponsors -------------------------------------------------------------------------------------------------------------

/** A sponsor may take tokens in exchange for the fee (ERC-7902), or may not pay. */
function sponsorWarnings(input: WarningInput, { allowed }: Facts): readonly Warning[] {
  const { fee, preview, taken = [], sponsorFailure = null } = input
  const failed =
    sponsorFailure === null
      ? []
      : [warning('sponsor-failed', 'caution', `The sponsor does not pay, so the account does: ${sponsorFailure}.`)]
  const { sponsor } = fee
  if (sponsor === null) return failed
  const seen = [...preview.changes, ...preview.allowances]
  const symbolOf = (token: Address): string =>
    seen.find((each) => each.token === token)?.symbol ?? allowed.get(token) ?? shortAddress(token)
  const takes = taken.map((token) =>
    warning('sponsor-takes', 'danger', `The sponsor at ${sponsor.host} pays the fee and takes ${symbolOf(token)} from the account for it.`),
  )
  const given = preview.allowances.filter(({ spender, isSpent }) => spender === sponsor.paymaster && !isSpent).map(({ token }) => token)
  const may = [...new Set([...given, ...allowed.keys()])].map((token) =>
    warning('sponsor-allowance', 'danger', `The sponsor at ${sponsor.host} may take ${symbolOf(token)} from the account, now and later.`),
  )
  return [...takes, ...may]
}

// --- allowances -----------------------------------------------------------------------------------------------------------

function allowanceWarnings(input: WarningInput, facts: Facts): readonly Warning[] {
  const { views, preview } = input
  const isSimulated = preview.status === 'success'
  const requested = isSimulated && preview.omitted === undefined ? [] : views.flatMap((view) => requestedAllowance(input, view, facts))
  const simulated = isSimulated ? preview.allowances.flatMap((allowance) => simulatedAllowance(input, allowance, facts)) : []
  return [...requested, ...simulated]
}

function simulatedAllowance(input: WarningInput, allowance: Allowance, facts: Facts): readonly Warning[] {
  if (allowance.isSpent) return []
  const { kind, spender, token, symbol } = allowance
  const [whom, what] = [nameOf(input, spender), symbol ?? shortAddress(token)]
  const warnings: Warning[] = []
  if (kind === 'allNfts') warnings.push(approvalForAll(whom, what))
  else if (kind !== 'nft' && allowance.amount === null) warnings.push(unlimited(whom, what))
  // As the only call the approval is the purpose; in a batch the other calls should use it.
  if (input.calls.length > 1 && kind !== 'allNfts') {
    warnings.push(warning('unused-allowance', 'danger', `These calls let ${whom} take ${what} later, which they do not need themselves.`))
  }
  return [...warnings, ...spenderWarnings(spender, whom, what, facts)]
}

/** Without a complete simulation the arguments of the calls are checked. */
function requestedAllowance(input: WarningInput, view: CallView, facts: Facts): readonly Warning[] {
  const approval = approvalIn(view)
  if (view.to === null || approval === null) return []
  const { spender, amount } = approval
  const [whom, what] = [nameOf(input, spender), shortAddress(view.to)]
  const warnings = amount === null ? [approvalForAll(whom, what)] : coversAnySupply(amount) ? [unlimited(whom, what)] : []
  return [...warnings, ...spenderWarnings(spender, whom, what, facts)]
}

function spenderWarnings(spender: Address, whom: string, what: string, { codes }: Facts): readonly Warning[] {
  if (!['none', 'delegated'].includes(codes.get(spender) ?? '') || BURNS.has(spender)) return []
  const text = `${capitalized(whom)} is not a contract but an account with a key: its holder could take the ${what}.`
  return [warning('spender-without-code', 'danger', text)]
}

/** Returns null if the call gives no allowance. `amount`: null for a whole collection. */
function approvalIn(view: CallView): { readonly spender: Address; readonly amount: bigint | null } | null {
  const spender = addressIn(view, 'spender') ?? addressIn(view, 'operator')
  if (spender === null) return null
  if (view.signature === 'setApprovalForAll(address,bool)') return argument(view, 'approved') === 'true' ? { spender, amount: null } : null
  const amount = APPROVALS.has(view.signature ?? '') ? (numberIn(view, 'amount') ?? numberIn(view, 'added')) : null
  return amount === null || amount === 0n ? null : { spender, amount }
}

const APPROVALS: ReadonlySet<string> = new Set([
  'approve(address,uint256)',
  'increaseAllowance(address,uint256)',
  'approveAndCall(address,uint256)',
  'approveAndCall(address,uint256,bytes)',
  'approve(address,address,uint160,uint48)',
])

function unlimited(whom: string, what: string): Warning {
  return warning('unlimited-allowance', 'caution', `${capitalized(whom)} may take all ${what} that the account has and will ever have.`)
}

function approvalForAll(whom: string, what: string): Warning {
  return warning(
    'approval-for-all',
    'danger',
    `${capitalized(whom)} may take everything of ${what} that the account has and will ever have.`,
  )
}

// --- recipients -----------------------------------------------------------------------------------------------------------

/** A recipient of ether or tokens. */
interface Recipient {
  readonly address: Address
  /** null: ether */
  readonly token: Address | null
}

export function recipientsOf({ calls, views }: Pick<WarningInput, 'calls' | 'views'>): readonly Recipient[] {
  return calls.flatMap(({ to, value, data }, at) => {
    const view = views[at]
    const receiver = view === undefined || !TRANSFERS.has(view.signature ?? '') ? null : addressIn(view, 'to')
    if (receiver !== null) return [{ address: receiver, token: to }]
    return to === null || (value === 0n && data.length > 0) ? [] : [{ address: to, token: null }]
  })
}

const TRANSFERS: ReadonlySet<string> = new Set([
  'transfer(address,uint256)',
  'transferFrom(address,address,uint256)',
  'safeTransferFrom(address,address,uint256)',
  'safeTransferFrom(address,address,uint256,bytes)',
  'safeTransferFrom(address,address,uint256,uint256,bytes)',
  'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)',
  'transferFrom(address,address,uint160,address)',
])

function recipientWarnings(input: WarningInput, { address, token }: Recipient, facts: Facts): readonly Warning[] {
  if (BURNS.has(address)) return [warning('burn-address', 'danger', `${address} has no known key: what is sent there is lost.`)]
  const warnings: Warning[] = []
  if (token !== null && (facts.tokens.has(address) || address === token)) {
    warnings.push(
      warning(
        'token-contract-recipient',
        'danger',
        `${nameOf(input, address)} is the contract of a token; tokens sent there are usually lost.`,
      ),
    )
  }
  return [...warnings, ...unknownRecipientWarnings(input, address)]
}

/** Unknown recipients, and those whose address resembles a known one. */
function unknownRecipientWarnings({ chain, account, keyring, knownRecipients }: WarningInput, address: Address): readonly Warning[] {
  const known = [...keyring.accounts.map((own) => own.address), ...(knownRecipients ?? [])]
  if (known.includes(address) || address === account) return []
  const similar = known.find((each) => looksLike(each, address))
  if (similar !== undefined) {
    return [warning('address-poisoning', 'danger', `${address} looks like ${similar}, but is another address: compare all of it.`)]
  }
  if (knownRecipients === undefined || labelOf(address, chain.chainId, keyring.accounts) !== null) return []
  return [warning('first-interaction', 'info', `The account has never sent anything to ${address}.`)]
}

/** Address poisoning imitates the first and last four digits, which people compare. */
function looksLike(a: Address, b: Address): boolean {
  return a !== b && a.slice(2, 6) === b.slice(2, 6) && a.slice(-4) === b.slice(-4)
}

// --- calls ----------------------------------------------------------------------------------------------------------------

function callWarnings(input: WarningInput, call: Call, at: number, { codes }: Facts): readonly Warning[] {
  const { to, value, data } = call
  const which = input.calls.length === 1 ? 'This' : `Call ${at + 1}`
  if (to === null) return [warning('creates-contract', 'info', `${which} creates a contract.`)]
  if (data.length === 0) return []
  const recipient = swapRecipient(call, decodeCall(Hex.fromBytes(data)), input.account)
  if (recipient !== null && !input.keyring.accounts.some(({ address }) => address === recipient)) {
    const text = `${which} swaps for somebody else: ${nameOf(input, recipient)} receives what it buys.`
    return [warning('swap-recipient', 'danger', text)]
  }
  if (to === input.account) {
    return [warning('own-account-call', 'danger', `${which} makes the account call itself, with all of its permissions.`)]
  }
  const own = input.keyring.accounts.find(({ address }) => address === to)
  if (own !== undefined)
    return [warning('own-account-call', 'caution', `${which} sends data to your ${own.name}, which has no code for it.`)]
  if (codes.get(to) !== 'none' || isPrecompile(to) || BURNS.has(to)) return []
  const lost = value > 0n ? ', and the ether would stay there' : ''
  const text = `${which} sends data to ${to}, which has no code on this chain now: nothing would be done${lost}.`
  return [warning('no-code-recipient', 'caution', text)]
}

function isPrecompile(address: Address): boolean {
  return Address.toBigint(address) <= 0xffffn
}

// --- arguments of calls -----------------------------------------------------------------------------------------------------

function argument({ args }: CallView, name: string): string | null {
  return args?.find((arg) => arg.name === name)?.value ?? null
}

function addressIn(view: CallView, name: string): Address | null {
  const value = argument(view, name)
  return Address.isAddress(value) ? Address.from(value) : null
}

function numberIn(view: CallView, name: string): bigint | null {
  const value = argument(view, name)
  return value !== null && /^\d+$/.test(value) ? BigInt(value) : null
}

function nameOf({ chain, keyring }: WarningInput, address: Address): string {
  const label = labelOf(address, chain.chainId, keyring.accounts)
  return label === null ? Address.checksum(address) : `${label} (${shortAddress(address)})`
}

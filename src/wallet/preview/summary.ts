import { Address, isObject } from '../../eth/index.ts'
import type { Decoded } from './abis.ts'
import type { Call } from '../batches/call.ts'
import type { ChainInfo } from '../chains/chain.ts'
import { amountText, shortAddress } from './display.ts'
import { coversAnySupply } from './permitvalues.ts'
import type { Token } from './tokens.ts'

/** A call with the data for its description. */
interface SummaryInput {
  /** the account that makes the call */
  readonly account: Address
  readonly call: Call
  readonly decoded: Decoded | null
  readonly tokens: ReadonlyMap<Address, Token>
  readonly label: (address: Address) => string | null
  readonly currency: ChainInfo['nativeCurrency']
}

/** Returns one line, such as `Send 1.5 USDC to 0x7099…79C8`; null for an unknown call that sends no ether. Never throws. */
export function summaryOf(input: SummaryInput): string | null {
  const { call, decoded } = input
  if (call.to === null) return `Create a contract (${amountText(BigInt(call.data.length), null)} bytes)${withEther(input, ' with')}`
  if (call.data.length === 0) return `Send ${ether(input, call.value)} to ${nameOf(input, call.to)}`
  if (decoded === null) return call.value === 0n ? null : `Send ${ether(input, call.value)} to ${nameOf(input, call.to)}, with unknown data`
  const line = LINES[decoded.signature]?.(input, new Arguments(decoded)) ?? `Call ${decoded.name} of ${nameOf(input, call.to)}`
  return `${line}${WRAPS.has(decoded.signature) ? '' : withEther(input, ' and send')}`
}

/** Tokens among the arguments that the line names. */
export function tokensIn(decoded: Decoded | null): readonly Address[] {
  if (decoded === null) return []
  const args = new Arguments(decoded)
  const names = TOKEN_ARGUMENTS[decoded.signature] ?? []
  return names.flatMap((name) => args.addresses(name))
}

type Line = (input: SummaryInput, args: Arguments) => string | null

/** Arguments by name, those within a struct included; null if absent. */
class Arguments {
  readonly #values: ReadonlyMap<string, unknown>

  constructor({ args }: Decoded) {
    const inner = args.flatMap(({ value }) => (isObject(value) ? Object.entries(value) : []))
    this.#values = new Map([...inner, ...args.map(({ name, value }) => [name, value] as const)])
  }

  address(name: string): Address | null {
    return this.addresses(name)[0] ?? null
  }

  /** One, or a list of them. */
  addresses(name: string): readonly Address[] {
    const value = this.#values.get(name)
    const all: readonly unknown[] = Array.isArray(value) ? value : [value]
    return all.flatMap((each) => (Address.isAddress(each) ? [Address.from(each)] : []))
  }

  number(name: string): bigint | null {
    const value = this.#values.get(name)
    return typeof value === 'bigint' ? value : typeof value === 'number' ? BigInt(value) : null
  }

  count(name: string): number {
    const value = this.#values.get(name)
    return Array.isArray(value) ? value.length : 0
  }

  isTrue(name: string): boolean {
    return this.#values.get(name) === true
  }
}

/** Functions whose line names the ether already. */
const WRAPS = new Set([
  'deposit()',
  'depositTo(address)',
  'swapExactETHForTokens(uint256,address[],address,uint256)',
  'swapETHForExactTokens(uint256,address[],address,uint256)',
])

const TOKEN_ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'approve(address,address,uint160,uint48)': ['token'],
  'transferFrom(address,address,uint160,address)': ['token'],
  'swapExactETHForTokens(uint256,address[],address,uint256)': ['path'],
  'swapETHForExactTokens(uint256,address[],address,uint256)': ['path'],
  'swapExactTokensForETH(uint256,uint256,address[],address,uint256)': ['path'],
  'swapTokensForExactETH(uint256,uint256,address[],address,uint256)': ['path'],
  'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)': ['path'],
  'swapExactTokensForTokens(uint256,uint256,address[],address)': ['path'],
  'swapTokensForExactTokens(uint256,uint256,address[],address,uint256)': ['path'],
  'swapTokensForExactTokens(uint256,uint256,address[],address)': ['path'],
  'exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))': ['tokenIn', 'tokenOut'],
  'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))': ['tokenIn', 'tokenOut'],
  'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))': ['tokenIn', 'tokenOut'],
  'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))': ['tokenIn', 'tokenOut'],
  'sweepToken(address,uint256,address)': ['token'],
  'addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)': ['tokenA', 'tokenB'],
  'addLiquidityETH(address,uint256,uint256,uint256,address,uint256)': ['token'],
  'bridgeERC20(address,address,uint256,uint32,bytes)': ['localToken'],
  'bridgeERC20To(address,address,address,uint256,uint32,bytes)': ['localToken'],
}

// --- tokens ---------------------------------------------------------------------------------------------------------------

const send: Line = (input, args) => `Send ${amountOrItem(input, args)} to ${nameOf(input, args.address('to'))}`
const move: Line = (input, args) =>
  `Send ${amountOrItem(input, args)} of ${nameOf(input, args.address('from'))} to ${nameOf(input, args.address('to'))}`

const approve: Line = (input, args) => {
  const spender = nameOf(input, args.address('spender'))
  const amount = args.number('amount') ?? args.number('value') ?? 0n
  const { to } = input.call
  if (to !== null && input.tokens.get(to)?.isCollection === true) return `Approve ${spender} to take #${amount} of ${symbol(input, to)}`
  if (amount === 0n) return `Revoke what ${spender} may spend of ${symbol(input, to)}`
  return `Approve ${spender} to spend ${coversAnySupply(amount) ? `any amount of ${symbol(input, to)}` : tokens(input, to, amount)}`
}

const permitted: Line = (input, args) =>
  `Submit a permit of ${nameOf(input, args.address('owner') ?? args.address('holder'))} for ${symbol(input, input.call.to)}`
const sendNft: Line = (input, args) =>
  `Send ${count(args.number('amount'))}#${args.number('tokenId')} of ${symbol(input, input.call.to)} to ${nameOf(input, args.address('to'))}`

const permit2Approve: Line = (input, args) => {
  const [token, amount] = [args.address('token'), args.number('amount') ?? 0n]
  const spender = nameOf(input, args.address('spender'))
  if (amount === 0n) return `Revoke what ${spender} may spend of ${symbol(input, token)} through Permit2`
  return `Approve ${spender} to spend ${coversAnySupply(amount) ? `any amount of ${symbol(input, token)}` : tokens(input, token, amount)} through Permit2`
}

// --- swaps ----------------------------------------------------------------------------------------------------------------

interface Swap {
  readonly in: 'ether' | 'token'
  readonly out: 'ether' | 'token'
  /** arguments with the amounts; of ether that goes in, the call's own value */
  readonly amountIn: string
  readonly amountOut: string
  readonly isExactIn: boolean
}

function swap(how: Swap): Line {
  return (input, args) => {
    const path = args.addresses('path')
    const given =
      how.in === 'ether'
        ? ether(input, input.call.value)
        : tokens(input, path[0] ?? args.address('tokenIn'), args.number(how.amountIn) ?? 0n)
    const got = args.number(how.amountOut) ?? 0n
    const taken = how.out === 'ether' ? ether(input, got) : tokens(input, path.at(-1) ?? args.address('tokenOut'), got)
    const recipient = swapRecipient(input.call, input.decoded, input.account)
    const whom = recipient === null ? '' : `, sent to ${nameOf(input, recipient)}`
    return `${how.isExactIn ? `Swap ${given} for at least ${taken}` : `Swap at most ${given} for ${taken}`}${whom}`
  }
}

/** Returns who receives what a swap buys, if that is neither the account nor the router, which passes it on; null for other calls too. */
export function swapRecipient({ to }: Call, decoded: Decoded | null, account: Address): Address | null {
  if (decoded === null || !/^(swap|exact)/.test(decoded.name)) return null
  const args = new Arguments(decoded)
  const named = args.address('recipient') ?? args.address('to')
  const isRouter = named === to || (decoded.name.startsWith('exact') && named === Address.zero)
  // Constants of Uniswap's router 02, whose functions have no deadline.
  const isConstant = args.number('deadline') === null && (named === SENDER || named === ROUTER)
  return named === account || isRouter || isConstant ? null : named
}

const SENDER = Address.from(`0x${'0'.repeat(39)}1`)
const ROUTER = Address.from(`0x${'0'.repeat(39)}2`)

const EXACT_IN = { amountIn: 'amountIn', amountOut: 'amountOutMin', isExactIn: true } as const
const EXACT_OUT = { amountIn: 'amountInMax', amountOut: 'amountOut', isExactIn: false } as const
const swapTokens = swap({ in: 'token', out: 'token', ...EXACT_IN })
const swapTokensExactly = swap({ in: 'token', out: 'token', ...EXACT_OUT })
const swapSingle = swap({ in: 'token', out: 'token', amountIn: 'amountIn', amountOut: 'amountOutMinimum', isExactIn: true })
const swapSingleExactly = swap({ in: 'token', out: 'token', amountIn: 'amountInMaximum', amountOut: 'amountOut', isExactIn: false })

// --- other functions -------------------------------------------------------------------------------------------------------------

function many(name: string, noun: string): Line {
  return (input, args) => {
    const size = args.count(name)
    return `Do ${size} ${noun}${size === 1 ? '' : 's'} through ${nameOf(input, input.call.to)}`
  }
}

const callList = many('calls', 'call')
const dataList = many('data', 'call')

const LINES: Readonly<Record<string, Line>> = {
  'transfer(address,uint256)': send,
  'transferAndCall(address,uint256)': send,
  'transferAndCall(address,uint256,bytes)': send,
  'transferFrom(address,address,uint256)': move,
  'approve(address,uint256)': approve,
  'approveAndCall(address,uint256)': approve,
  'approveAndCall(address,uint256,bytes)': approve,
  'increaseAllowance(address,uint256)': (input, args) =>
    `Approve ${nameOf(input, args.address('spender'))} to spend ${tokens(input, input.call.to, args.number('added') ?? 0n)} more`,
  'decreaseAllowance(address,uint256)': (input, args) =>
    `Approve ${nameOf(input, args.address('spender'))} to spend ${tokens(input, input.call.to, args.number('subtracted') ?? 0n)} less`,
  'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)': permitted,
  'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)': permitted,
  'safeTransferFrom(address,address,uint256)': sendNft,
  'safeTransferFrom(address,address,uint256,bytes)': sendNft,
  'safeTransferFrom(address,address,uint256,uint256,bytes)': sendNft,
  'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)': (input, args) =>
    `Send ${args.count('tokenIds')} kinds of ${symbol(input, input.call.to)} to ${nameOf(input, args.address('to'))}`,
  'setApprovalForAll(address,bool)': (input, args) =>
    args.isTrue('approved')
      ? `Approve ${nameOf(input, args.address('operator'))} to take all of ${symbol(input, input.call.to)}`
      : `Revoke that ${nameOf(input, args.address('operator'))} may take all of ${symbol(input, input.call.to)}`,
  'deposit()': (input) =>
    input.call.value === 0n ? null : `Deposit ${ether(input, input.call.value)} for ${symbol(input, input.call.to)}`,
  'withdraw(uint256)': (input, args) => `Withdraw ${tokens(input, input.call.to, args.number('amount') ?? 0n)}`,
  'approve(address,address,uint160,uint48)': permit2Approve,
  'transferFrom(address,address,uint160,address)': (input, args) =>
    `Send ${tokens(input, args.address('token'), args.number('amount') ?? 0n)} of ${nameOf(input, args.address('from'))} to ${nameOf(input, args.address('to'))}`,
  'swapExactETHForTokens(uint256,address[],address,uint256)': swap({ in: 'ether', out: 'token', ...EXACT_IN }),
  'swapETHForExactTokens(uint256,address[],address,uint256)': swap({ in: 'ether', out: 'token', ...EXACT_OUT }),
  'swapExactTokensForETH(uint256,uint256,address[],address,uint256)': swap({ in: 'token', out: 'ether', ...EXACT_IN }),
  'swapTokensForExactETH(uint256,uint256,address[],address,uint256)': swap({ in: 'token', out: 'ether', ...EXACT_OUT }),
  'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)': swapTokens,
  'swapExactTokensForTokens(uint256,uint256,address[],address)': swapTokens,
  'swapTokensForExactTokens(uint256,uint256,address[],address,uint256)': swapTokensExactly,
  'swapTokensForExactTokens(uint256,uint256,address[],address)': swapTokensExactly,
  'exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))': swapSingle,
  'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))': swapSingle,
  'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))': swapSingleExactly,
  'exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))': swapSingleExactly,
  'aggregate((address,bytes)[])': callList,
  'aggregate3((address,bool,bytes)[])': callList,
  'aggregate3Value((address,bool,uint256,bytes)[])': callList,
  'tryAggregate(bool,(address,bytes)[])': callList,
  'executeBatch((address,uint256,bytes)[])': callList,
  'multicall(bytes[])': dataList,
  'multicall(uint256,bytes[])': dataList,
  'execute(bytes32,bytes)': (input) => `Do a batch of calls as ${nameOf(input, input.call.to)}`,
  'execute(bytes,bytes[])': many('inputs', 'step'),
  'execute(bytes,bytes[],uint256)': many('inputs', 'step'),
  'handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)': many('ops', 'user operation'),
  'handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)': many('ops', 'user operation'),
  'depositTo(address)': (input, args) =>
    `Deposit ${ether(input, input.call.value)} at ${nameOf(input, input.call.to)} for ${nameOf(input, args.address('account'))}`,
  'transferOwnership(address)': (input, args) =>
    `Make ${nameOf(input, args.address('newOwner'))} the owner of ${nameOf(input, input.call.to)}`,
  'renounceOwnership()': (input) => `Leave ${nameOf(input, input.call.to)} without an owner`,
  'grantRole(bytes32,address)': (input, args) => `Give ${nameOf(input, args.address('account'))} a role in ${nameOf(input, input.call.to)}`,
  'revokeRole(bytes32,address)': (input, args) =>
    `Take a role in ${nameOf(input, input.call.to)} from ${nameOf(input, args.address('account'))}`,
  'upgradeTo(address)': (input, args) =>
    `Change the code of ${nameOf(input, input.call.to)} to that of ${nameOf(input, args.address('newImplementation'))}`,
  'upgradeToAndCall(address,bytes)': (input, args) =>
    `Change the code of ${nameOf(input, input.call.to)} to that of ${nameOf(input, args.address('newImplementation'))}`,
  'changeAdmin(address)': (input, args) => `Make ${nameOf(input, args.address('newAdmin'))} the admin of ${nameOf(input, input.call.to)}`,
}

// --- texts ----------------------------------------------------------------------------------------------------------------

/** Such as `your account 2 (0x7099…79C8)`; always with the address. */
function nameOf({ label }: SummaryInput, address: Address | null): string {
  if (address === null) return 'no address'
  const name = label(address)
  return name === null ? shortAddress(address) : `${name} (${shortAddress(address)})`
}

/** The `amount` argument, which is a token id if the token is a collection. */
function amountOrItem(input: SummaryInput, args: Arguments): string {
  const { to } = input.call
  const amount = args.number('amount') ?? 0n
  return to !== null && input.tokens.get(to)?.isCollection === true ? `#${amount} of ${symbol(input, to)}` : tokens(input, to, amount)
}

/** In the smallest unit if the token has no decimals. */
function tokens(input: SummaryInput, token: Address | null, amount: bigint): string {
  const decimals = (token === null ? undefined : input.tokens.get(token))?.decimals ?? null
  return decimals === null
    ? `${amountText(amount, null)} units of ${symbol(input, token)}`
    : `${amountText(amount, decimals)} ${symbol(input, token)}`
}

function symbol({ tokens: known }: SummaryInput, token: Address | null): string {
  return token === null ? 'a token' : (known.get(token)?.symbol ?? shortAddress(token))
}

function count(amount: bigint | null): string {
  return amount === null ? '' : `${amountText(amount, null)} × `
}

function ether({ currency }: SummaryInput, value: bigint): string {
  return `${amountText(value, currency.decimals)} ${currency.symbol}`
}

function withEther(input: SummaryInput, words: string): string {
  return input.call.value === 0n ? '' : `${words} ${ether(input, input.call.value)}`
}

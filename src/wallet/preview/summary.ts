import { Address } from '../../eth/index.ts'
import type { Decoded } from './abis.ts'
import type { Call } from '../batches/call.ts'
import type { ChainInfo } from '../chains/chain.ts'
import { amountText, shortAddress } from './display.ts'
import { isUnlimited } from './outcome.ts'
import type { Token } from './tokens.ts'

/** What a line about a call is made from. */
export interface Told {
  readonly call: Call
  readonly decoded: Decoded | null
  readonly tokens: ReadonlyMap<Address, Token>
  readonly label: (address: Address) => string | null
  readonly currency: ChainInfo['nativeCurrency']
}

/** One line, such as `Send 1.5 USDC to 0x7099…79C8`. Null: nobody knows what the call does, and it sends nothing. Never throws. */
export function summaryOf(told: Told): string | null {
  const { call, decoded } = told
  if (call.to === null) return `Create a contract (${amountText(BigInt(call.data.length), null)} bytes)${withEther(told, ' with')}`
  if (call.data.length === 0) return `Send ${ether(told, call.value)} to ${who(told, call.to)}`
  if (decoded === null)
    return call.value === 0n ? null : `Send ${ether(told, call.value)} to ${who(told, call.to)}, with data that nobody here can read`
  const line = LINES[decoded.signature]?.(told, new Arguments(decoded)) ?? `Call ${decoded.name} of ${who(told, call.to)}`
  return `${line}${WRAPS.has(decoded.signature) ? '' : withEther(told, ' and send')}`
}

/** Tokens that the arguments name and that a line would speak of. */
export function tokensIn(decoded: Decoded | null): readonly Address[] {
  if (decoded === null) return []
  const args = new Arguments(decoded)
  const names = TOKEN_ARGUMENTS[decoded.signature] ?? []
  return names.flatMap((name) => args.addresses(name))
}

type Line = (told: Told, args: Arguments) => string | null

/** Arguments by name, also those within a record. The table of functions fixes their types; null stands for what is not there. */
class Arguments {
  readonly #values: ReadonlyMap<string, unknown>

  constructor({ args }: Decoded) {
    const inner = args.flatMap(({ value }) => (isRecord(value) ? Object.entries(value) : []))
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Their own words already tell of the ether. */
const WRAPS = new Set(['deposit()', 'depositTo(address)'])

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

const send: Line = (told, args) => `Send ${what(told, args)} to ${who(told, args.address('to'))}`
const move: Line = (told, args) => `Send ${what(told, args)} of ${who(told, args.address('from'))} to ${who(told, args.address('to'))}`

const approve: Line = (told, args) => {
  const spender = who(told, args.address('spender'))
  const amount = args.number('amount') ?? args.number('value') ?? 0n
  const { to } = told.call
  if (to !== null && told.tokens.get(to)?.isCollection === true) return `Approve ${spender} to take #${amount} of ${symbol(told, to)}`
  if (amount === 0n) return `Take back what ${spender} may spend of ${symbol(told, to)}`
  return `Approve ${spender} to spend ${isUnlimited(amount, 'erc20') ? `any amount of ${symbol(told, to)}` : tokens(told, to, amount)}`
}

const permitted: Line = (told, args) =>
  `Hand in a permit of ${who(told, args.address('owner') ?? args.address('holder'))} for ${symbol(told, told.call.to)}`
const sendNft: Line = (told, args) =>
  `Send ${count(args.number('amount'))}#${args.number('tokenId')} of ${symbol(told, told.call.to)} to ${who(told, args.address('to'))}`

const permit2Approve: Line = (told, args) => {
  const [token, amount] = [args.address('token'), args.number('amount') ?? 0n]
  const spender = who(told, args.address('spender'))
  if (amount === 0n) return `Take back what ${spender} may spend of ${symbol(told, token)} through Permit2`
  return `Approve ${spender} to spend ${isUnlimited(amount, 'permit2') ? `any amount of ${symbol(told, token)}` : tokens(told, token, amount)} through Permit2`
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
  return (told, args) => {
    const path = args.addresses('path')
    const given =
      how.in === 'ether' ? ether(told, told.call.value) : tokens(told, path[0] ?? args.address('tokenIn'), args.number(how.amountIn) ?? 0n)
    const got = args.number(how.amountOut) ?? 0n
    const taken = how.out === 'ether' ? ether(told, got) : tokens(told, path.at(-1) ?? args.address('tokenOut'), got)
    return how.isExactIn ? `Swap ${given} for at least ${taken}` : `Swap at most ${given} for ${taken}`
  }
}

const EXACT_IN = { amountIn: 'amountIn', amountOut: 'amountOutMin', isExactIn: true } as const
const EXACT_OUT = { amountIn: 'amountInMax', amountOut: 'amountOut', isExactIn: false } as const
const swapTokens = swap({ in: 'token', out: 'token', ...EXACT_IN })
const swapTokensExactly = swap({ in: 'token', out: 'token', ...EXACT_OUT })
const swapSingle = swap({ in: 'token', out: 'token', amountIn: 'amountIn', amountOut: 'amountOutMinimum', isExactIn: true })
const swapSingleExactly = swap({ in: 'token', out: 'token', amountIn: 'amountInMaximum', amountOut: 'amountOut', isExactIn: false })

// --- the rest -------------------------------------------------------------------------------------------------------------

function many(name: string, noun: string): Line {
  return (told, args) => {
    const size = args.count(name)
    return `Do ${size} ${noun}${size === 1 ? '' : 's'} through ${who(told, told.call.to)}`
  }
}

const calls = many('calls', 'call')
const datas = many('data', 'call')

const LINES: Readonly<Record<string, Line>> = {
  'transfer(address,uint256)': send,
  'transferAndCall(address,uint256)': send,
  'transferAndCall(address,uint256,bytes)': send,
  'transferFrom(address,address,uint256)': move,
  'approve(address,uint256)': approve,
  'approveAndCall(address,uint256)': approve,
  'approveAndCall(address,uint256,bytes)': approve,
  'increaseAllowance(address,uint256)': (told, args) =>
    `Approve ${who(told, args.address('spender'))} to spend ${tokens(told, told.call.to, args.number('added') ?? 0n)} more`,
  'decreaseAllowance(address,uint256)': (told, args) =>
    `Approve ${who(told, args.address('spender'))} to spend ${tokens(told, told.call.to, args.number('subtracted') ?? 0n)} less`,
  'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)': permitted,
  'permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)': permitted,
  'safeTransferFrom(address,address,uint256)': sendNft,
  'safeTransferFrom(address,address,uint256,bytes)': sendNft,
  'safeTransferFrom(address,address,uint256,uint256,bytes)': sendNft,
  'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)': (told, args) =>
    `Send ${args.count('tokenIds')} kinds of ${symbol(told, told.call.to)} to ${who(told, args.address('to'))}`,
  'setApprovalForAll(address,bool)': (told, args) =>
    args.isTrue('approved')
      ? `Approve ${who(told, args.address('operator'))} to take all of ${symbol(told, told.call.to)}`
      : `Take back that ${who(told, args.address('operator'))} may take all of ${symbol(told, told.call.to)}`,
  'deposit()': (told) => (told.call.value === 0n ? null : `Deposit ${ether(told, told.call.value)} for ${symbol(told, told.call.to)}`),
  'withdraw(uint256)': (told, args) => `Withdraw ${tokens(told, told.call.to, args.number('amount') ?? 0n)}`,
  'approve(address,address,uint160,uint48)': permit2Approve,
  'transferFrom(address,address,uint160,address)': (told, args) =>
    `Send ${tokens(told, args.address('token'), args.number('amount') ?? 0n)} of ${who(told, args.address('from'))} to ${who(told, args.address('to'))}`,
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
  'aggregate((address,bytes)[])': calls,
  'aggregate3((address,bool,bytes)[])': calls,
  'aggregate3Value((address,bool,uint256,bytes)[])': calls,
  'tryAggregate(bool,(address,bytes)[])': calls,
  'executeBatch((address,uint256,bytes)[])': calls,
  'multicall(bytes[])': datas,
  'multicall(uint256,bytes[])': datas,
  'execute(bytes32,bytes)': (told) => `Do a batch of calls as ${who(told, told.call.to)}`,
  'execute(bytes,bytes[])': many('inputs', 'step'),
  'execute(bytes,bytes[],uint256)': many('inputs', 'step'),
  'handleOps((address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)': many('ops', 'user operation'),
  'handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)': many('ops', 'user operation'),
  'depositTo(address)': (told, args) =>
    `Deposit ${ether(told, told.call.value)} at ${who(told, told.call.to)} for ${who(told, args.address('account'))}`,
  'transferOwnership(address)': (told, args) => `Make ${who(told, args.address('newOwner'))} the owner of ${who(told, told.call.to)}`,
  'renounceOwnership()': (told) => `Leave ${who(told, told.call.to)} without an owner`,
  'grantRole(bytes32,address)': (told, args) => `Give ${who(told, args.address('account'))} a role in ${who(told, told.call.to)}`,
  'revokeRole(bytes32,address)': (told, args) => `Take a role in ${who(told, told.call.to)} from ${who(told, args.address('account'))}`,
  'upgradeTo(address)': (told, args) =>
    `Change the code of ${who(told, told.call.to)} to that of ${who(told, args.address('newImplementation'))}`,
  'upgradeToAndCall(address,bytes)': (told, args) =>
    `Change the code of ${who(told, told.call.to)} to that of ${who(told, args.address('newImplementation'))}`,
  'changeAdmin(address)': (told, args) => `Make ${who(told, args.address('newAdmin'))} the admin of ${who(told, told.call.to)}`,
}

// --- words ----------------------------------------------------------------------------------------------------------------

/** `your account 2 (0x7099…79C8)`: a label never stands without the address. */
function who({ label }: Told, address: Address | null): string {
  if (address === null) return 'nobody'
  const name = label(address)
  return name === null ? shortAddress(address) : `${name} (${shortAddress(address)})`
}

/** Of a token's own functions, where the number is an amount or names one of a collection. */
function what(told: Told, args: Arguments): string {
  const { to } = told.call
  const amount = args.number('amount') ?? 0n
  return to !== null && told.tokens.get(to)?.isCollection === true ? `#${amount} of ${symbol(told, to)}` : tokens(told, to, amount)
}

/** Without decimals nobody can say how much it is, only how many of the smallest unit. */
function tokens(told: Told, token: Address | null, amount: bigint): string {
  const decimals = (token === null ? undefined : told.tokens.get(token))?.decimals ?? null
  return decimals === null
    ? `${amountText(amount, null)} units of ${symbol(told, token)}`
    : `${amountText(amount, decimals)} ${symbol(told, token)}`
}

function symbol({ tokens: known }: Told, token: Address | null): string {
  return token === null ? 'a token' : (known.get(token)?.symbol ?? shortAddress(token))
}

function count(amount: bigint | null): string {
  return amount === null ? '' : `${amountText(amount, null)} × `
}

function ether({ currency }: Told, value: bigint): string {
  return `${amountText(value, currency.decimals)} ${currency.symbol}`
}

function withEther(told: Told, words: string): string {
  return told.call.value === 0n ? '' : `${words} ${ether(told, told.call.value)}`
}

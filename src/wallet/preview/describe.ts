import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import { decodeCall } from './abis.ts'
import type { Decoded } from './abis.ts'
import type { Call } from '../batches/call.ts'
import type { WalletChain } from '../chains/chain.ts'
import { valueText, visibleText } from './display.ts'
import type { Account, Keyring } from '../keys/keyring.ts'
import { labelOf } from './labels.ts'
import { ARGUMENT_CHARS, DESCRIBED_TOKENS, DESCRIBE_MS, SHOWN_ARGUMENTS, SUMMARY_CHARS } from '../limits.ts'
import type { CallView } from '../question.ts'
import { summaryOf, tokensIn } from './summary.ts'
import { withTimeout } from '../approvals/timing.ts'
import { readTokens } from './tokens.ts'
import type { Token } from './tokens.ts'

/** Describes the calls of `from`. One request for all tokens; without an answer their names are missing. Never throws. */
export async function describeCalls(
  chain: WalletChain,
  from: Address,
  calls: readonly Call[],
  keyring: Pick<Keyring, 'accounts'>,
): Promise<readonly CallView[]> {
  const read = calls.map(readCall)
  const tokens = await tokensOf(chain, read)
  const { accounts } = keyring
  return read.map((each) => viewOf(chain, from, each, tokens, accounts))
}

interface ReadCall {
  readonly call: Call
  readonly decoded: Decoded | null
}

function readCall(call: Call): ReadCall {
  // Init code has no selector.
  const decoded = call.to === null || call.data.length < 4 ? null : decodeCall(Hex.fromBytes(call.data))
  return { call, decoded }
}

function tokensOf({ rpc }: WalletChain, read: readonly ReadCall[]): Promise<ReadonlyMap<Address, Token>> {
  const addresses = new Set(
    read.flatMap(({ call, decoded }) => [...(call.to === null || call.data.length === 0 ? [] : [call.to]), ...tokensIn(decoded)]),
  )
  if (addresses.size === 0) return Promise.resolve(new Map())
  return withTimeout(DESCRIBE_MS, readTokens(rpc, [...addresses].slice(0, DESCRIBED_TOKENS)), () => new Map())
}

function viewOf(
  chain: WalletChain,
  account: Address,
  { call, decoded }: ReadCall,
  tokens: ReadonlyMap<Address, Token>,
  accounts: readonly Account[],
): CallView {
  const { to, value, data, gasLimitOverride } = call
  const label = (address: Address): string | null => labelOf(address, chain.chainId, accounts) ?? tokenLabel(tokens.get(address))
  const summary = summaryOf({ account, call, decoded, tokens, label, currency: chain.nativeCurrency })
  return {
    to,
    value: Hex.fromQuantity(value),
    data: Hex.fromBytes(data),
    gasLimitOverride: gasLimitOverride === null ? null : Hex.fromQuantity(gasLimitOverride),
    label: to === null ? null : label(to),
    signature: decoded?.signature ?? null,
    args: decoded === null ? null : argsOf(decoded),
    summary: summary === null ? null : visibleText(summary, SUMMARY_CHARS),
  }
}

/** The contract's own claim. */
function tokenLabel(token: Token | undefined): string | null {
  if (token === undefined) return null
  return token.symbol === null ? 'a token without a symbol' : `token ${token.symbol}`
}

function argsOf({ args }: Decoded): NonNullable<CallView['args']> {
  return args.slice(0, SHOWN_ARGUMENTS).map(({ name, type, value }) => ({ name, type, value: valueText(value, ARGUMENT_CHARS) }))
}

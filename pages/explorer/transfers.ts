import type { AbiParameter, Hex } from 'viem'
import { decodeAbiParameters } from 'viem/utils'
import { askAll } from './node.ts'
import { labelCalls, decodeTokenLabel } from './tokenlabel.ts'
import type { TokenLabel } from './tokenlabel.ts'
import type { LogJson } from './wire.ts'

/** A movement of tokens, from a log. */
export interface Transfer {
  readonly token: string
  readonly from: string
  readonly to: string
  /** null: one token of ERC-721 */
  readonly amount: bigint | null
  /** null: ERC-20 */
  readonly id: bigint | null
}

/** ERC-20 and ERC-721, whose number is the fourth topic: Transfer(address,address,uint256) */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** ERC-1155: TransferSingle(address,address,address,uint256,uint256) */
const SINGLE = '0xc3d58168c5ae7397731d063d5bbf3d657854427343f4c083240f7aacaa2d0f62'
/** ERC-1155: TransferBatch(address,address,address,uint256[],uint256[]) */
const BATCH = '0x4a39dc06d4c0dbc64b70af90fd698a233a518aa5d07e595d983b8c0526c8f7fb'

/** Tokens whose symbol and decimals are requested. */
const LABELLED_TOKENS = 20

/** Returns the token movements that logs report, in order. */
export function transfersOf(logs: readonly Pick<LogJson, 'address' | 'topics' | 'data'>[]): readonly Transfer[] {
  return logs.flatMap((log) => transferOf(log))
}

function transferOf({ address: token, topics, data }: Pick<LogJson, 'address' | 'topics' | 'data'>): readonly Transfer[] {
  const [event, first, second, third] = topics
  if (first === undefined || second === undefined) return []
  if (event === TRANSFER && third !== undefined)
    return [{ token, from: addressOf(first), to: addressOf(second), amount: null, id: BigInt(third) }]
  if (event === TRANSFER)
    return data.length < 66 ? [] : [{ token, from: addressOf(first), to: addressOf(second), amount: BigInt(data.slice(0, 66)), id: null }]
  if (third === undefined) return []
  const parties = { token, from: addressOf(second), to: addressOf(third) }
  if (event === SINGLE) {
    const [id, amount] = decode([{ type: 'uint256' }, { type: 'uint256' }], data)
    return typeof id === 'bigint' && typeof amount === 'bigint' ? [{ ...parties, id, amount }] : []
  }
  if (event !== BATCH) return []
  const [ids, amounts] = decode([{ type: 'uint256[]' }, { type: 'uint256[]' }], data) as readonly (readonly bigint[] | undefined)[] // by the types
  return (ids ?? []).flatMap((id, i) => (amounts?.[i] === undefined ? [] : [{ ...parties, id, amount: amounts[i] }]))
}

function addressOf(topic: string): string {
  return `0x${topic.slice(26)}`
}

/** Returns nothing for data that do not have these types. */
function decode(types: readonly { readonly type: string }[], data: string): readonly unknown[] {
  try {
    return decodeAbiParameters<readonly AbiParameter[]>(types, data as Hex) // the wire has hex strings
  } catch {
    return []
  }
}

/** Reads symbol and decimals of the first tokens, by lower-case address. */
export async function readLabels(tokens: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, TokenLabel>> {
  const asked = tokens.slice(0, LABELLED_TOKENS)
  const answers = await askAll(asked.flatMap(labelCalls), { signal })
  return new Map(asked.map((token, i) => [token.toLowerCase(), decodeTokenLabel(answers[2 * i], answers[2 * i + 1])]))
}

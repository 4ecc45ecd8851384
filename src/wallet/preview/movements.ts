import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import { PERMIT2 } from './labels.ts'
import { ETHER } from './simulation.ts'
import type { SimulatedLog } from './simulation.ts'

/** Transfers and approvals of one account, from logs. Unverified: any contract can emit any log, so `outcome` reads the contracts' state too. */
export interface Movements {
  /** wei, without fees; negative for an outflow */
  readonly ether: bigint
  readonly assets: readonly AssetMovement[]
  readonly grants: readonly Grant[]
}

export interface AssetMovement {
  readonly asset: 'erc20' | 'erc721' | 'erc1155'
  readonly token: Address
  readonly tokenId: bigint | null
  readonly amount: bigint
}

/** An approval, with its latest value. */
export interface Grant {
  readonly kind: 'erc20' | 'permit2' | 'nft' | 'allNfts'
  readonly token: Address
  readonly spender: Address
  /** nft */
  readonly tokenId: bigint | null
  /** 0 if revoked; 1 for an approved NFT */
  readonly amount: bigint
  /** the highest value so far: some tokens log it again when it is used */
  readonly maxAmount: bigint
}

export function movementsOf(account: Address, logs: readonly SimulatedLog[]): Movements {
  const tally: Tally = { account, ether: 0n, assets: new Map(), grants: new Map() }
  for (const log of logs) {
    const [event] = log.topics
    if (event !== undefined) READERS.get(event)?.(tally, log)
  }
  return { ether: tally.ether, assets: [...tally.assets.values()], grants: [...tally.grants.values()] }
}

interface Tally {
  readonly account: Address
  ether: bigint
  readonly assets: Map<string, AssetMovement>
  readonly grants: Map<string, Grant>
}

type Reader = (tally: Tally, log: SimulatedLog) => void

/** By the hash of the event. */
const READERS: ReadonlyMap<Hash, Reader> = new Map<Hash, Reader>([
  [Hash.ofText('Transfer(address,address,uint256)'), transfer],
  [Hash.ofText('TransferSingle(address,address,address,uint256,uint256)'), transferSingle],
  [Hash.ofText('TransferBatch(address,address,address,uint256[],uint256[])'), transferBatch],
  // WETH9 emits no Transfer when it wraps and unwraps ether.
  [Hash.ofText('Deposit(address,uint256)'), (tally, log) => wrap(tally, log, 1n)],
  [Hash.ofText('Withdrawal(address,uint256)'), (tally, log) => wrap(tally, log, -1n)],
  [Hash.ofText('Approval(address,address,uint256)'), approval],
  [Hash.ofText('ApprovalForAll(address,address,bool)'), approvalForAll],
  [Hash.ofText('Approval(address,address,address,uint160,uint48)'), permit2Approval],
  [Hash.ofText('Permit(address,address,address,uint160,uint48,uint48)'), permit2Approval],
])

function transfer(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, from, to, tokenId] = topics
  if (from === undefined || to === undefined) return
  const sign = direction(tally.account, from, to)
  if (sign === 0n) return
  if (tokenId !== undefined) return add(tally, { asset: 'erc721', token: address, tokenId: BigInt(tokenId), amount: sign })
  const amount = word(data, 0)
  if (amount === null) return
  if (address === ETHER) tally.ether += sign * amount
  else add(tally, { asset: 'erc20', token: address, tokenId: null, amount: sign * amount })
}

function wrap(tally: Tally, { address, topics, data }: SimulatedLog, sign: bigint): void {
  const amount = word(data, 0)
  if (topics[1] === undefined || !isSame(tally.account, topics[1]) || amount === null) return
  add(tally, { asset: 'erc20', token: address, tokenId: null, amount: sign * amount })
}

function transferSingle(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, , from, to] = topics
  const [id, amount] = [word(data, 0), word(data, 1)]
  if (from === undefined || to === undefined || id === null || amount === null) return
  const sign = direction(tally.account, from, to)
  if (sign !== 0n) add(tally, { asset: 'erc1155', token: address, tokenId: id, amount: sign * amount })
}

function transferBatch(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, , from, to] = topics
  if (from === undefined || to === undefined) return
  const sign = direction(tally.account, from, to)
  if (sign === 0n) return
  const [ids, amounts] = [wordsAt(data, 0), wordsAt(data, 1)]
  if (ids.length !== amounts.length) return
  ids.forEach((tokenId, i) => add(tally, { asset: 'erc1155', token: address, tokenId, amount: sign * (amounts[i] ?? 0n) }))
}

function approval(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, owner, spender, tokenId] = topics
  if (owner === undefined || spender === undefined || !isSame(tally.account, owner)) return
  if (tokenId === undefined) {
    const amount = word(data, 0)
    if (amount !== null) grant(tally, { kind: 'erc20', token: address, spender: Address.fromHash(spender), tokenId: null, amount })
    return
  }
  const amount = BigInt(spender) === 0n ? 0n : 1n
  grant(tally, { kind: 'nft', token: address, spender: Address.fromHash(spender), tokenId: BigInt(tokenId), amount })
}

function approvalForAll(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, owner, operator] = topics
  const amount = word(data, 0)
  if (owner === undefined || operator === undefined || amount === null || !isSame(tally.account, owner)) return
  grant(tally, { kind: 'allNfts', token: address, spender: Address.fromHash(operator), tokenId: null, amount })
}

function permit2Approval(tally: Tally, { address, topics, data }: SimulatedLog): void {
  const [, owner, token, spender] = topics
  const amount = word(data, 0)
  if (address !== PERMIT2 || owner === undefined || token === undefined || spender === undefined || amount === null) return
  if (isSame(tally.account, owner)) {
    grant(tally, { kind: 'permit2', token: Address.fromHash(token), spender: Address.fromHash(spender), tokenId: null, amount })
  }
}

function add(tally: Tally, movement: AssetMovement): void {
  const key = `${movement.token} ${movement.asset} ${movement.tokenId ?? ''}`
  const before = tally.assets.get(key)
  tally.assets.set(key, { ...movement, amount: movement.amount + (before?.amount ?? 0n) })
}

function grant(tally: Tally, given: Omit<Grant, 'maxAmount'>): void {
  // An NFT has one approved address at a time.
  const whom = given.kind === 'nft' ? given.tokenId : given.spender
  const key = `${given.kind} ${given.token} ${whom ?? ''}`
  const before = tally.grants.get(key)?.maxAmount ?? 0n
  tally.grants.set(key, { ...given, maxAmount: given.amount > before ? given.amount : before })
}

/** 1 for an inflow, -1 for an outflow, 0 for neither or both. */
function direction(account: Address, from: Hash, to: Hash): bigint {
  return (isSame(account, to) ? 1n : 0n) - (isSame(account, from) ? 1n : 0n)
}

function isSame(account: Address, topic: Hash): boolean {
  return Address.fromHash(topic) === account
}

function word(data: Hex, index: number): bigint | null {
  const at = 2 + index * 64
  return data.length < at + 64 ? null : BigInt(`0x${data.slice(at, at + 64)}`)
}

/** The `uint256[]` whose offset is the word at `index`; none when it does not lie in the data. */
function wordsAt(data: Hex, index: number): readonly bigint[] {
  const words = BigInt(Math.floor((data.length - 2) / 64))
  const start = (word(data, index) ?? -1n) / 32n
  if (start < 0n || start >= words) return []
  const length = word(data, Number(start)) ?? 0n
  if (length > words - start - 1n) return []
  return Array.from({ length: Number(length) }, (_, i) => word(data, Number(start) + 1 + i) ?? 0n)
}

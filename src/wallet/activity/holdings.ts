import { Address, Hash, Hex, USDC } from '../../eth/index.ts'
import { RpcError, schema } from '../../jsonrpc/index.ts'
import type { WalletChain } from '../chains/chain.ts'
import { HELD_TOKENS, SEARCHED_ACCOUNTS } from '../limits.ts'
import { readAll } from '../preview/simulation.ts'
import { readTokens, viewOf, wordOf } from '../preview/tokens.ts'
import type { WatchedAsset } from '../question.ts'
import type { Activity } from './activity.ts'

/** A token of an account. */
interface Holding {
  readonly token: Address
  readonly type: 'ERC20' | 'ERC721' | 'ERC1155'
  readonly symbol: string | null
  /** null: amounts are in the smallest unit */
  readonly decimals: number | null
  /** for ERC-721, the number of tokens; null: the contract does not report it (ERC-1155 contracts never do) */
  readonly balance: Hex | null
  /** true: a site suggested it, and that was approved */
  readonly isWatched: boolean
}

/**
 * Returns the tokens that are watched on the chain, and those that the account still has of USDC, of the tokens that its activities changed and of those
 * that it has received by the logs of the chain; watched ones first. A node that answers no query of all its logs leaves out the received ones. `activities`:
 * newest first. Throws RpcError if the chain does not respond.
 */
export async function holdingsOf(chain: WalletChain, account: Address, activities: readonly Activity[]): Promise<readonly Holding[]> {
  const watched = watchedAssets(activities, chain.chainId)
  const received = await receivedTokens(chain, account)
  // pocketchain_mintUsdc adds to a balance without an event.
  const found = [...watched.map(({ address }) => address), USDC, ...changedTokens(activities, account, chain.chainId), ...received]
  const addresses = [...new Set(found)].slice(0, HELD_TOKENS)
  const [tokens, balances] = await Promise.all([
    readTokens(chain.rpc, addresses),
    readAll(
      chain.rpc,
      addresses.map((to) => ({ to, input: viewOf('balanceOf(address)', account) })),
    ),
  ])
  return addresses.flatMap((address, i) => {
    const asset = watched.find((each) => each.address === address)
    const token = tokens.get(address)
    const balance = wordOf(balances[i] ?? null)
    if (asset === undefined && (token === undefined || balance === null || balance === 0n)) return []
    return [
      {
        token: address,
        type: typeOf(asset, token?.isCollection === true),
        symbol: token?.symbol ?? asset?.symbol ?? null,
        decimals: token?.decimals ?? asset?.decimals ?? null,
        balance: balance === null ? null : Hex.fromQuantity(balance),
        isWatched: asset !== undefined,
      },
    ]
  })
}

/** The tokens of balance changes: WETH, for one, logs no transfer when it is minted. */
function changedTokens(activities: readonly Activity[], account: Address, chainId: number): readonly Address[] {
  const own = activities.filter((each) => each.account === account && each.chain !== null && Number(each.chain.chainId) === chainId)
  return own.flatMap(({ changes }) => changes.flatMap(({ token }) => token ?? []))
}

/** The assets of approved suggestions on this chain, each once, the newest suggestion first. */
function watchedAssets(activities: Iterable<Activity>, chainId: number): readonly WatchedAsset[] {
  const assets = new Map<Address, WatchedAsset>()
  for (const { asset, chain } of activities) {
    if (asset !== null && chain !== null && Number(chain.chainId) === chainId && !assets.has(asset.address))
      assets.set(asset.address, asset)
  }
  return [...assets.values()]
}

function typeOf(asset: WatchedAsset | undefined, isCollection: boolean): Holding['type'] {
  if (isCollection) return 'ERC721'
  return asset?.type === 'ERC1155' ? 'ERC1155' : 'ERC20'
}

const TRANSFER = Hash.ofText('Transfer(address,address,uint256)')

/** The transfers to an account up to a block. */
interface Search {
  readonly number: bigint
  readonly hash: Hash
  /** the first HELD_TOKENS */
  readonly tokens: readonly Address[]
}

/** By connection and account, the latest search last: the page asks every 3 s, and each search continues after the block of the previous one. */
const searches = new WeakMap<WalletChain['rpc'], Map<Address, Search>>()

async function receivedTokens({ rpc }: WalletChain, account: Address): Promise<readonly Address[]> {
  const known = searches.get(rpc) ?? new Map<Address, Search>()
  searches.set(rpc, known)
  const before = known.get(account)
  try {
    const latest = await blockAt(rpc, 'latest')
    if (latest === null) return []
    if (before?.hash === latest.hash) return before.tokens
    // After a rewind or a reset the chain has another block there.
    const isContinued = before !== undefined && (await blockAt(rpc, Hex.fromQuantity(before.number)))?.hash === before.hash
    const fromBlock = Hex.fromQuantity(isContinued ? before.number + 1n : 0n)
    const topics = [TRANSFER, null, Hex.fromBytes32(BigInt(account))]
    const filter = { fromBlock, toBlock: Hex.fromQuantity(latest.number), topics }
    const logs = await rpc.request({ method: 'eth_getLogs', params: [filter] })
    const found = Array.isArray(logs) ? logs.map((log: { readonly address: string }) => Address.from(log.address)) : []
    const tokens = [...new Set([...(isContinued ? before.tokens : []), ...found])].slice(0, HELD_TOKENS)
    known.delete(account)
    known.set(account, { ...latest, tokens })
    const [oldest] = known.keys()
    if (known.size > SEARCHED_ACCOUNTS && oldest !== undefined) known.delete(oldest)
    return tokens
  } catch (error) {
    // Such as a limit on the number of blocks or logs.
    if (error instanceof RpcError) return before?.tokens ?? []
    throw error
  }
}

async function blockAt(rpc: WalletChain['rpc'], block: Hex | 'latest'): Promise<Pick<Search, 'number' | 'hash'> | null> {
  const answer = await rpc.request({ method: 'eth_getBlockByNumber', params: [block, false] })
  return answer === null ? null : BLOCK.parse(answer, 'block')
}

const BLOCK = schema.object({ number: schema.quantity, hash: schema.hash })

import { Abi, Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { WalletContext } from '../context.ts'
import { shortAddress } from '../preview/display.ts'
import { PERMIT2 } from '../preview/labels.ts'
import type { Allowance } from '../question.ts'
import { latestBlock } from './fees.ts'
import { sendOwnTransaction } from './owntransaction.ts'

/**
 * Takes back an allowance that a call of an activity gave, by a transaction of its account. It requires the control credential and therefore no
 * approval. Returns the transaction's hash. Throws RpcError -32602 for an activity without that allowance, 4100 for an account that may not sign, and
 * the refusals of the node.
 */
export async function revokeAllowance(wallet: WalletContext, activityId: string, index: number): Promise<Hash> {
  const activity = wallet.activities.find(activityId)
  const allowance = activity?.allowances[index]
  if (activity === null || allowance === undefined || activity.account === null || activity.chain === null) throw unknownAllowance()
  const chain = wallet.chains.get(Number(activity.chain.chainId))
  if (chain === null) throw invalidParams(`the wallet no longer has chain ${activity.chain.chainId}`, { reason: 'unknown-chain' })
  const from = activity.account
  const { to, data } = revocation(allowance)
  const call = { from, to, input: Hex.fromBytes(data) }
  const gas = await estimate(() => chain.rpc.request({ method: 'eth_estimateGas', params: [call, 'pending'] }))
  const { gasLimit } = await latestBlock(chain)
  const room = (gas * 5n) / 4n
  return sendOwnTransaction(wallet, {
    kind: 'revoke',
    method: 'pocketchain_revokeAllowance',
    chain,
    from,
    to,
    data,
    gas: room < gasLimit ? room : gas,
    summary: `Revoke the allowance of ${allowance.symbol ?? 'a token'} for ${allowance.spenderLabel ?? shortAddress(allowance.spender)}`,
    check: () => Promise.resolve(),
  })
}

/** The call that takes it back. */
function revocation({ kind, token, tokenId, spender }: Allowance): { readonly to: Address; readonly data: Uint8Array } {
  switch (kind) {
    case 'erc20':
      return { to: token, data: Abi.call(Abi.selector('approve(address,uint256)'), [spender, 0n]) }
    case 'nft':
      return { to: token, data: Abi.call(Abi.selector('approve(address,uint256)'), [Address.zero, BigInt(tokenId ?? 0)]) }
    case 'allNfts':
      return { to: token, data: Abi.call(Abi.selector('setApprovalForAll(address,bool)'), [spender, 0n]) }
    case 'permit2':
      return { to: PERMIT2, data: Abi.call(Abi.selector('approve(address,address,uint160,uint48)'), [token, spender, 0n, 0n]) }
    default:
      return kind satisfies never
  }
}

async function estimate(request: () => Promise<unknown>): Promise<bigint> {
  const gas = await request()
  if (Hex.isHex(gas)) return BigInt(gas)
  throw new RpcError(CODE.internal, 'the node answered eth_estimateGas with no quantity')
}

function unknownAllowance(): RpcError {
  return invalidParams(
    'there is no such allowance: name the id of an activity of pocketchain_walletActivity, and the index of its allowance',
    {
      reason: 'unknown-allowance',
    },
  )
}

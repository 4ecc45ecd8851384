// An ERC-20 token that all dev accounts hold, and transfers of it signed in advance.
import { encodeDeployData, toFunctionSelector } from 'viem'
import { word } from './history.mjs'
import { Line } from './load.mjs'
import { bodyOf } from './race.mjs'

const TRANSFER = toFunctionSelector('function transfer(address,uint256)').slice(2)
const SUPPLY = 10n ** 24n
const SHARE = 10n ** 22n
/** 52,000 when the receiver had nothing before. */
export const TRANSFER_GAS = 60_000n
const RECEIVERS = 500

/**
 * Deploys it and gives every dev account a share. Mining is held.
 * @returns {Promise<{ token: string } & Record<'transfer' | 'send' | 'among', () => { raw: string, hash: string }>>} the next transaction of
 *   the next account: of the token or of ether to receivers in turn, of the token among the accounts themselves
 */
export async function dealToken(field, peer) {
  const sign = field.wallet.signer()
  const { Token } = field.contracts
  const deploy = sign({ data: encodeDeployData({ ...Token, args: [SUPPLY] }), gas: 2_000_000n })
  await peer.rpc('eth_sendRawTransaction', [deploy.raw])
  await peer.rpc('evm_mine')
  const { contractAddress: token } = await peer.rpc('eth_getTransactionReceipt', [deploy.hash])
  for (const address of field.wallet.addresses.slice(1)) {
    const { raw } = sign({ to: token, data: call(address, SHARE), gas: TRANSFER_GAS })
    await peer.rpc('eth_sendRawTransaction', [raw])
  }
  await peer.rpc('evm_mine')
  let count = 0
  const turn = () => ({
    account: count % field.wallet.addresses.length,
    receiver: `0x${(0xb0b00000 + (count++ % RECEIVERS)).toString(16).padStart(40, '0')}`,
  })
  return {
    token,
    transfer: () => {
      const { account, receiver } = turn()
      return sign({ account, to: token, data: call(receiver, 1n), gas: TRANSFER_GAS })
    },
    among: () => {
      const account = count++ % field.wallet.addresses.length
      return sign({ account, to: token, data: call(field.wallet.addresses[count % field.wallet.addresses.length], 1n), gas: TRANSFER_GAS })
    },
    send: () => {
      const { account, receiver } = turn()
      return sign({ account, to: receiver, value: 1n })
    },
  }
}

function call(receiver, amount) {
  return `0x${TRANSFER}${word(receiver)}${amount.toString(16).padStart(64, '0')}`
}

/** Sends all of them and mines one block. @returns {Promise<number>} its number */
export async function mineBlock(peer, /** @type {readonly { raw: string }[]} */ transactions) {
  const line = await Line.open(peer, 4)
  await Promise.all(transactions.map(({ raw }) => line.ask(bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }))))
  line.close()
  await peer.rpc('evm_mine')
  const number = await peer.rpc('eth_blockNumber')
  const count = await countIn(peer, number)
  if (count !== transactions.length)
    throw new Error(`${peer.name}: block ${Number(number)} has ${count} transactions and not ${transactions.length}`)
  return Number(number)
}

/** A block's transactions, without the one that each block of an OP chain begins with: the news of L1. */
export async function countIn(peer, /** @type {string} */ number) {
  return Number(await peer.rpc('eth_getBlockTransactionCountByNumber', [number])) - (peer.name === 'ours' ? 1 : 0)
}

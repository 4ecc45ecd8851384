// An ERC-20 token held by all dev accounts, and transfers signed in advance.
import { encodeDeployData, toFunctionSelector } from 'viem'
import { word } from './history.mjs'
import { Line } from './load.mjs'
import { bodyOf } from './compare.mjs'

const TRANSFER = toFunctionSelector('function transfer(address,uint256)').slice(2)
const SUPPLY = 10n ** 24n
const SHARE = 10n ** 22n
/** 52,000 if the recipient had no balance. */
export const TRANSFER_GAS = 60_000n
const RECEIVERS = 500

/**
 * Deploys the token and distributes it to all dev accounts. Mining must be held.
 * @returns {Promise<{ token: string } & Record<'transfer' | 'send' | 'among', () => { raw: string, hash: string }>>} the next transaction
 * of the next account: token or ether to recipients in turn, or the token among the accounts
 */
export async function dealToken(participants, peer) {
  const sign = participants.wallet.signer()
  const { Token } = participants.contracts
  const deploy = sign({ data: encodeDeployData({ ...Token, args: [SUPPLY] }), gas: 2_000_000n })
  await peer.rpc('eth_sendRawTransaction', [deploy.raw])
  await peer.rpc('evm_mine')
  const { contractAddress: token } = await peer.rpc('eth_getTransactionReceipt', [deploy.hash])
  for (const address of participants.wallet.addresses.slice(1)) {
    const { raw } = sign({ to: token, data: call(address, SHARE), gas: TRANSFER_GAS })
    await peer.rpc('eth_sendRawTransaction', [raw])
  }
  await peer.rpc('evm_mine')
  let count = 0
  const turn = () => ({
    account: count % participants.wallet.addresses.length,
    receiver: `0x${(0xb0b00000 + (count++ % RECEIVERS)).toString(16).padStart(40, '0')}`,
  })
  return {
    token,
    transfer: () => {
      const { account, receiver } = turn()
      return sign({ account, to: token, data: call(receiver, 1n), gas: TRANSFER_GAS })
    },
    among: () => {
      const account = count++ % participants.wallet.addresses.length
      return sign({
        account,
        to: token,
        data: call(participants.wallet.addresses[count % participants.wallet.addresses.length], 1n),
        gas: TRANSFER_GAS,
      })
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

/** Sends all and mines one block. @returns {Promise<number>} its number */
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

/** Transactions of a block without the L1 attributes deposit of OP chains. */
export async function countIn(peer, /** @type {string} */ number) {
  return Number(await peer.rpc('eth_getBlockTransactionCountByNumber', [number])) - (peer.name === 'ours' ? 1 : 0)
}

// eth_call of a token balance, and the minimal cost of a request.
import { encodeDeployData, encodeFunctionData } from 'viem'
import { compare } from '../compare.mjs'

const SUPPLY = 10n ** 24n

export async function calls(participants) {
  await participants.withPeers('held', async (peers) => {
    const { Token } = participants.contracts
    const [holder] = participants.wallet.addresses
    const { raw, hash } = participants.wallet.signer()({ data: encodeDeployData({ ...Token, args: [SUPPLY] }), gas: 2_000_000n })
    let token = ''
    for (const { rpc } of peers) {
      await rpc('eth_sendRawTransaction', [raw])
      await rpc('evm_mine')
      token = (await rpc('eth_getTransactionReceipt', [hash])).contractAddress
    }
    const data = encodeFunctionData({ abi: Token.abi, functionName: 'balanceOf', args: [holder] })
    const chainId = { group: 'calls', name: 'eth_chainId', method: 'eth_chainId', params: [], isJsonFloor: true }
    const balanceOf = { group: 'calls', name: 'eth_call balanceOf', method: 'eth_call', params: [{ to: token, data }, 'latest'] }
    for (const lanes of [1, 16]) await compare(participants, peers, { ...chainId, lanes })
    for (const lanes of [1, 16, 64]) await compare(participants, peers, { ...balanceOf, lanes })
  })
}

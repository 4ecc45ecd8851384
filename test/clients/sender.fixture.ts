import { JsonRpcProvider, Wallet } from 'ethers'
import { createWalletClient, http, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { Web3 } from 'web3'
import { ALICE_KEY, BOB } from './peer.fixture.ts'

/** A client library with a local account. */
export interface Sender {
  readonly client: 'viem' | 'ethers' | 'web3.js'
  /** the block at which the library reads the next nonce */
  readonly noncesAt: 'pending' | 'latest'
  /** Sends 1 wei this number of times, each after the receipt of the former one. Throws if one fails. */
  readonly send: (url: string, times: number) => Promise<void>
}

export const SENDERS: readonly Sender[] = [
  { client: 'viem', noncesAt: 'pending', send: sendWithViem },
  { client: 'ethers', noncesAt: 'pending', send: sendWithEthers },
  { client: 'web3.js', noncesAt: 'latest', send: sendWithWeb3 },
]

const pollingInterval = 50

async function sendWithViem(url: string, times: number): Promise<void> {
  const account = privateKeyToAccount(ALICE_KEY)
  const client = createWalletClient({ account, chain: foundry, transport: http(url), pollingInterval }).extend(publicActions)
  for (let sent = 0; sent < times; sent++) {
    const receipt = await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ to: BOB, value: 1n }) })
    if (receipt.status !== 'success') throw new Error(`transaction ${receipt.transactionHash} failed`)
  }
}

async function sendWithEthers(url: string, times: number): Promise<void> {
  const provider = new JsonRpcProvider(url, undefined, { pollingInterval, cacheTimeout: -1 })
  const wallet = new Wallet(ALICE_KEY, provider)
  for (let sent = 0; sent < times; sent++) await (await wallet.sendTransaction({ to: BOB, value: 1n })).wait()
  provider.destroy()
}

async function sendWithWeb3(url: string, times: number): Promise<void> {
  const web3 = new Web3(url)
  web3.eth.transactionPollingInterval = pollingInterval
  const [account] = web3.eth.accounts.wallet.add(ALICE_KEY)
  for (let sent = 0; sent < times; sent++) await web3.eth.sendTransaction({ from: account!.address, to: BOB, value: 1 })
}

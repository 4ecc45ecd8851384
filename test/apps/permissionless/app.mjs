// An app that uses permissionless as its documentation shows: each kind of account sends two sponsored operations.
// RPC_URL names the node with its bundler, PAYMASTER_URL the sponsor's service, KIND the only kind of account, if any. Prints one line of JSON for each operation.
import { createSmartAccountClient } from 'permissionless'
import { to7702SimpleSmartAccount, toSafeSmartAccount, toSimpleSmartAccount } from 'permissionless/accounts'
import { createPimlicoClient } from 'permissionless/clients/pimlico'
import { createPublicClient, encodeFunctionData, erc20Abi, http } from 'viem'
import {
  createPaymasterClient,
  entryPoint06Address,
  entryPoint07Address,
  entryPoint08Address,
  toCoinbaseSmartAccount,
  toSimple7702SmartAccount,
} from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'

const { RPC_URL, PAYMASTER_URL, KIND } = process.env
const WETH = '0x4200000000000000000000000000000000000006'
const SPENDER = '0x000000000000000000000000000000000000b0b0'

const chain = { ...foundry, rpcUrls: { default: { http: [RPC_URL] } } }
const client = createPublicClient({ chain, transport: http(RPC_URL), pollingInterval: 20 })
const paymaster = createPaymasterClient({ transport: http(PAYMASTER_URL) })

const [version06, version07, version08] = [
  { address: entryPoint06Address, version: '0.6' },
  { address: entryPoint07Address, version: '0.7' },
  { address: entryPoint08Address, version: '0.8' },
]
for (const [name, toAccount] of [
  ['simple 0.6', (owner) => toSimpleSmartAccount({ client, owner, entryPoint: version06 })],
  ['simple 0.7', (owner) => toSimpleSmartAccount({ client, owner, entryPoint: version07 })],
  ['simple 0.8', (owner) => toSimpleSmartAccount({ client, owner, entryPoint: version08 })],
  ['7702 simple 0.8', (owner) => to7702SimpleSmartAccount({ client, owner })],
  ['7702 simple 0.8 of viem', (owner) => toSimple7702SmartAccount({ client, owner })],
  ['safe 1.4.1', (owner) => toSafeSmartAccount({ client, owners: [owner], version: '1.4.1', entryPoint: version07 })],
  ['coinbase 1', (owner) => toCoinbaseSmartAccount({ client, owners: [owner], version: '1' })],
  ['coinbase 1.1', (owner) => toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' })],
]) {
  if (KIND !== undefined && KIND !== name) continue
  const owner = privateKeyToAccount(generatePrivateKey())
  await run(name, owner, await toAccount(owner))
}

async function run(name, owner, account) {
  const { entryPoint } = account
  const bundler = createPimlicoClient({ transport: http(RPC_URL), entryPoint })
  const smart = createSmartAccountClient({
    account,
    chain,
    client,
    bundlerTransport: http(RPC_URL),
    paymaster,
    pollingInterval: 20,
    userOperation: { estimateFeesPerGas: async () => (await bundler.getUserOperationGasPrice()).fast },
  })
  for (const amounts of [[1n], [2n, 3n]]) {
    const calls = amounts.map((amount) => ({
      to: WETH,
      value: 0n,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [SPENDER, amount] }),
    }))
    const hash = await smart.sendUserOperation({ calls, ...(await delegation(owner, account)) })
    const { success, sender, paymaster: payer, actualGasCost, receipt } = await smart.waitForUserOperationReceipt({ hash, timeout: 10_000 })
    const allowance = await client.readContract({
      address: WETH,
      abi: erc20Abi,
      functionName: 'allowance',
      args: [sender, SPENDER],
      blockTag: 'pending',
    })
    const balance = await client.getBalance({ address: sender, blockTag: 'pending' })
    const line = { name, version: entryPoint.version, hash, success, sender, payer, actualGasCost, allowance, balance }
    process.stdout.write(`${JSON.stringify(line, (_, value) => (typeof value === 'bigint' ? String(value) : value))}\n`)
    await sealed(receipt.transactionHash)
  }
}

/** An account of its own key's address is made by an authorization, once. */
async function delegation(owner, account) {
  if (!account.authorization || (await account.isDeployed())) return {}
  const nonce = await client.getTransactionCount({ address: owner.address })
  return { authorization: await owner.signAuthorization({ ...account.authorization, chainId: chain.id, nonce }) }
}

/** The account's code is looked for in the newest sealed block. */
async function sealed(hash) {
  const { blockNumber } = await client.getTransactionReceipt({ hash })
  while ((await client.getBlockNumber({ cacheTime: 0 })) < blockNumber) await new Promise((resolve) => setTimeout(resolve, 50))
}

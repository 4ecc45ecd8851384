import { createWalletClient, http, parseEther, publicActions } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { expect, it } from 'vitest'
import { createPocketchain } from '../index.ts'
import { viemChain } from './viemchain.ts'

const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const account = mnemonicToAccount('test test test test test test test test test test test junk')

it.each([
  ['preconf', 2_000, 1_000, 200],
  ['native', 200, 500, undefined],
  ['instant', 200, 500, undefined],
] as const)('viem polls a chain under %s in step with its blocks', async (cadence, blockTime, pollingInterval, preconfirmation) => {
  await using node = await createPocketchain({ cadence, wallet: false, chainId: 7 })
  const chain = viemChain(node, await node.listen({ port: 0 }))
  expect(chain).toMatchObject({ id: 7, blockTime })
  expect(chain.experimental_preconfirmationTime).toBe(preconfirmation)
  const client = createWalletClient({ account, chain, transport: http() }).extend(publicActions)
  expect(client.pollingInterval).toBe(pollingInterval)
  const { status } = await client.sendTransactionSync({ to: BOB, value: parseEther('1') })
  expect(status).toBe('success')
  expect(await client.getBalance({ address: BOB })).toBe(parseEther('10001'))
  const hash = await client.sendTransaction({ to: BOB, value: 1n })
  expect(await client.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
})

it('names the arguments that it expects', async () => {
  await using node = await createPocketchain({ wallet: false })
  const loose = viemChain as (...given: unknown[]) => unknown
  expect(() => loose()).toThrow('viemChain(node, server) expects a node of createPocketchain and the server that its listen returned')
  expect(() => loose(node)).toThrow('the server that its listen returned')
})

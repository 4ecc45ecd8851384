import {
  connect,
  createConfig,
  disconnect,
  getAccount,
  getCapabilities,
  sendCalls,
  signMessage,
  switchChain,
  waitForCallsStatus,
  watchChainId,
} from '@wagmi/core'
import type { CreateConnectorFn } from '@wagmi/core'
import { custom, defineChain, http, verifyMessage } from 'viem'
import { foundry } from 'viem/chains'
import { describe, expect, test } from 'vitest'
import { createPocketchain } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import type { Wallet } from '../wallet/index.ts'
import { pocketchainConnector } from './connector.ts'
import { vitestFixtures } from './vitest.ts'
import type { VitestContext } from './vitest.ts'

const it = test.extend<VitestContext>(vitestFixtures())
const SHOP = '0x00000000000000000000000000000000005eed01'
const SECOND = defineChain({
  id: 1338,
  name: 'Second',
  nativeCurrency: foundry.nativeCurrency,
  rpcUrls: { default: { http: ['http://127.0.0.1:1'] } },
})

describe('the connector in wagmi', () => {
  it('connects after the approval', async ({ chain, wallet }) => {
    const { config, connector } = appOn(chain, wallet)
    const connecting = connect(config, { connector })
    const prompt = await wallet.approvals.next()
    expect(prompt.question).toMatchObject({ kind: 'connect', origin: 'http://localhost:3000' })
    prompt.approve()
    const { accounts, chainId } = await connecting
    expect([accounts[0]?.toLowerCase(), chainId]).toEqual([chain.accounts[0]?.address, 31_337])
    expect(getAccount(config)).toMatchObject({ isConnected: true })
    await disconnect(config)
    expect(wallet.sites.list().flatMap(({ accounts }) => accounts)).toEqual([])
  })

  it('rejects with UserRejectedRequestError if the user rejects', async ({ chain, wallet }) => {
    const { config, connector } = appOn(chain, wallet)
    wallet.approvals.setPolicy('reject')
    await expect(connect(config, { connector })).rejects.toMatchObject({ code: 4001 })
    expect(getAccount(config).isConnected).toBe(false)
  })

  it('signs, and sends batches of both kinds', async ({ chain, wallet }) => {
    wallet.approvals.setPolicy('approve')
    const { config, connector } = appOn(chain, wallet)
    const { accounts } = await connect(config, { connector })
    const signature = await signMessage(config, { message: 'hello' })
    expect(await verifyMessage({ address: accounts[0], message: 'hello', signature })).toBe(true)
    expect((await getCapabilities(config, { chainId: 31_337 })).atomic).toBeDefined()
    for (const forceAtomic of [false, true]) {
      const { id } = await sendCalls(config, {
        forceAtomic,
        calls: [
          { to: SHOP, value: 1n },
          { to: SHOP, value: 2n },
        ],
      })
      const { status, atomic } = await waitForCallsStatus(config, { id })
      expect([status, atomic]).toEqual(['success', forceAtomic])
    }
    expect(await chain.request({ method: 'eth_getBalance', params: [SHOP, 'latest'] })).toBe('0x6')
  })

  it('switches the chain, and adds one that the wallet lacks', async ({ chain, wallet }) => {
    await using second = await createPocketchain({ chainId: SECOND.id, cadence: 'instant' })
    const { url } = await second.listen()
    const { config, connector } = appOn(chain, wallet)
    wallet.approvals.setPolicy('approve')
    await connect(config, { connector })
    const seen: number[] = []
    watchChainId(config, { onChange: (id) => seen.push(id) })
    await switchChain(config, { chainId: SECOND.id, addEthereumChainParameter: { rpcUrls: [url] } })
    expect(getAccount(config).chainId).toBe(SECOND.id)
    await switchChain(config, { chainId: foundry.id })
    expect(seen).toEqual([SECOND.id, foundry.id])
  })
})

function appOn(chain: Pocketchain, wallet: Wallet) {
  const create: CreateConnectorFn = pocketchainConnector({ wallet }) // assignable: that is the promise
  const config = createConfig({
    chains: [foundry, SECOND],
    connectors: [create],
    transports: { [foundry.id]: custom(chain), [SECOND.id]: http() },
    storage: null,
  })
  return { config, connector: config.connectors[0] }
}

test('names the arguments that it expects', () => {
  const loose = pocketchainConnector as (...given: unknown[]) => unknown
  expect(() => loose()).toThrow('pocketchainConnector expects { wallet } of a node or fixture, or { provider } of an EIP-1193 wallet')
  expect(() => loose({})).toThrow('pocketchainConnector expects')
})

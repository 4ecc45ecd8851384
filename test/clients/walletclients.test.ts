// The wallet with client libraries, each through its own API, with scripted answers.
import {
  connect,
  createConfig,
  disconnect,
  getAccount,
  getCapabilities,
  injected,
  sendCalls,
  sendTransaction,
  signMessage,
} from '@wagmi/core'
import { signTypedData, switchChain, waitForCallsStatus, waitForTransactionReceipt } from '@wagmi/core'
import { BrowserProvider, verifyMessage, verifyTypedData } from 'ethers'
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, Server } from 'pocketchain'
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  custom,
  defineChain,
  parseAbi,
  parseEther,
} from 'viem'
import type { Address, Chain, WalletCapabilities } from 'viem'
import { foundry } from 'viem/chains'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Keyring, createWallet, embeddedChain } from '../../src/wallet/index.ts'
import type { Provider, Question, QuestionKind, Wallet } from '../../src/wallet/index.ts'

const ORIGIN = 'https://app.example'
const SECOND_CHAIN = 424_242
const BOB: Address = '0x000000000000000000000000000000000000b0b0'
const CAROL: Address = '0x00000000000000000000000000000000000ca201'
/** reverts every call: revert(0, 0) */
const REFUSES: Address = '0x00000000000000000000000000000000000f0f0f'
/** answers every call with the custom error Denied(42) */
const DENIED: Address = '0x00000000000000000000000000000000000000de'
const DENIES = '0x637e46dab660e01b5f52602a60045260245ffd'

let node: Pocketchain
let second: Pocketchain
let server: Server
let wallet: Wallet
let provider: Provider
let alice: Address

beforeAll(async () => {
  node = await createPocketchain({ wallet: false })
  second = await createPocketchain({ chainId: SECOND_CHAIN, cadence: 'instant', wallet: false })
  server = await second.listen({ port: 0 })
  await node.request({ method: 'anvil_setCode', params: [REFUSES, '0x5f5ffd'] })
})

afterAll(async () => {
  await node.close()
  await second.close()
})

// Each test has its own account, without delegations and nonces of other tests.
let used = 0
beforeEach(() => {
  used += 1
  const { privateKey, address } = node.accounts[used % node.accounts.length] as (typeof node.accounts)[number] // the index is in range
  alice = address
  const keyring = Keyring.of({ dev: [privateKey] })
  wallet = createWallet({ chains: [embeddedChain(node)], keyring, answerWithinMs: 10_000 })
  provider = wallet.provider(ORIGIN)
})

afterEach(async () => {
  wallet.approvals.assertAnswered()
  await wallet.close()
})

/** Approves the next questions, which must have these kinds in this order, and returns them. */
async function approve(...kinds: readonly QuestionKind[]): Promise<readonly Question[]> {
  const questions: Question[] = []
  for (const kind of kinds) {
    const prompt = await wallet.approvals.next({ origin: ORIGIN })
    expect(prompt.question.kind).toBe(kind)
    prompt.approve()
    questions.push(prompt.question)
  }
  return questions
}

/** Awaits the app's request and its approvals. Fails immediately if the request is rejected. */
async function approved<T>(request: Promise<T>, ...kinds: readonly QuestionKind[]): Promise<T> {
  const [answer] = await Promise.all([request, approve(...kinds)])
  return answer
}

function balance(address: Address): Promise<unknown> {
  return node.request({ method: 'eth_getBalance', params: [address, 'pending'] })
}

/** Returns how much the balance of `address` grows while `work` runs. */
async function gained(address: Address, work: () => Promise<unknown>): Promise<bigint> {
  const before = BigInt(String(await balance(address)))
  await work()
  return BigInt(String(await balance(address))) - before
}

function chainOf(chain: Pocketchain, rpcUrl = 'http://127.0.0.1:1'): Chain {
  return defineChain({
    id: chain.chain.config.chainId,
    name: `Chain ${chain.chain.config.chainId}`,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
}

const types = {
  Mail: [
    { name: 'to', type: 'address' },
    { name: 'text', type: 'string' },
  ],
} as const
const message = { to: BOB, text: 'hi' } as const
const domain = { name: 'Mail', version: '1', chainId: 31_337 } as const
const MAIL = { types, primaryType: 'Mail', domain, message } as const

describe('viem', () => {
  let client: ReturnType<typeof clientOf>

  function clientOf() {
    return createWalletClient({ chain: chainOf(node), transport: custom(provider), pollingInterval: 20 })
  }

  beforeEach(async () => {
    client = clientOf()
    expect(await client.getAddresses()).toEqual([])
    const [account] = await approved(client.requestAddresses(), 'connect')
    expect(account?.toLowerCase()).toBe(alice)
  })

  it('signs a message and typed data', async () => {
    const signature = await approved(client.signMessage({ account: alice, message: 'hello' }), 'sign')
    expect(verifyMessage('hello', signature).toLowerCase()).toBe(alice)
    const signed = await approved(client.signTypedData({ account: alice, ...MAIL }), 'sign')
    expect(verifyTypedData(domain, { Mail: [...types.Mail] }, message, signed).toLowerCase()).toBe(alice)
  })

  it('sends a transaction', async () => {
    const reader = createPublicClient({ chain: chainOf(node), transport: custom(provider), pollingInterval: 20 })
    const sum = await gained(BOB, async () => {
      const hash = await approved(client.sendTransaction({ account: alice, to: BOB, value: parseEther('1') }), 'send')
      expect(await reader.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', from: alice })
    })
    expect(sum).toBe(parseEther('1'))
  })

  it('gets UserRejectedRequestError after a rejection', async () => {
    const sum = await gained(BOB, async () => {
      const sent = client.sendTransaction({ account: alice, to: BOB, value: 1n }).catch((error: unknown) => error)
      ;(await wallet.approvals.next()).reject()
      expect(await sent).toMatchObject({ cause: { name: 'UserRejectedRequestError', code: 4001 } })
    })
    expect(sum).toBe(0n)
  })

  it('sends a batch call by call, waits for it, and gets the failure of a part', async () => {
    const calls = [{ to: BOB, value: 1n }, { to: REFUSES }, { to: CAROL, value: 2n }]
    const sum = await gained(CAROL, async () => {
      const { id } = await approved(client.sendCalls({ account: alice, calls }), 'batch')
      const { statusCode, atomic, receipts } = await client.waitForCallsStatus({ id })
      expect({ statusCode, atomic }).toEqual({ statusCode: 600, atomic: false })
      expect(receipts?.map((receipt) => receipt.status)).toEqual(['success', 'reverted', 'success'])
    })
    expect(sum).toBe(2n)
  })

  it('sends an atomic batch after an upgrade of the account, and waits for it', async () => {
    const calls = [
      { to: BOB, value: 1n },
      { to: CAROL, value: 2n },
    ]
    const sum = await gained(CAROL, async () => {
      const { id } = await approved(client.sendCalls({ account: alice, calls, forceAtomic: true }), 'upgrade', 'batch')
      const { status, statusCode, atomic, receipts } = await client.waitForCallsStatus({ id })
      expect({ status, statusCode, atomic }).toEqual({ status: 'success', statusCode: 200, atomic: true })
      expect(receipts?.map((receipt) => receipt.status)).toEqual(['success'])
    })
    expect(sum).toBe(2n)
    const capabilities: WalletCapabilities = await client.getCapabilities({ account: alice, chainId: 31_337 })
    expect(capabilities).toMatchObject({ atomic: { status: 'supported' } })
  })

  it('decodes the custom error of a call, by the node in process and by the wallet', async () => {
    await node.request({ method: 'anvil_setCode', params: [DENIED, DENIES] })
    for (const transport of [custom(node), custom(provider)]) {
      const client = createPublicClient({ chain: foundry, transport })
      const abi = parseAbi(['function ask() view', 'error Denied(uint256 code)'])
      const error = await client.readContract({ address: DENIED, abi, functionName: 'ask' }).catch((thrown: unknown) => thrown)
      const reverted = error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
      expect(reverted).toMatchObject({ data: { errorName: 'Denied', args: [42n] } })
    }
  })

  it('reads the capabilities of the account', async () => {
    expect(await client.getCapabilities({ account: alice, chainId: 31_337 })).toMatchObject({
      atomic: { status: 'ready' },
      paymasterService: { supported: true },
      gasLimitOverride: { supported: true },
    })
  })

  it('adds a chain and switches to it and back', async () => {
    const chain = chainOf(second, server.url)
    await approved(client.addChain({ chain }), 'addChain', 'switchChain')
    expect(await client.getChainId()).toBe(SECOND_CHAIN)
    await approved(client.switchChain({ id: 31_337 }), 'switchChain')
    expect(await client.getChainId()).toBe(31_337)
    await approved(client.switchChain({ id: SECOND_CHAIN }), 'switchChain')
    const sending = createWalletClient({ chain, transport: custom(provider) })
    const hash = await approved(sending.sendTransaction({ account: alice, to: BOB, value: 3n }), 'send')
    expect(await second.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1' })
  })

  it('gets the error of an unknown chain', async () => {
    const switched = client.switchChain({ id: 5 })
    await expect(switched).rejects.toMatchObject({ name: 'SwitchChainError', code: 4902 })
    expect(wallet.approvals.pending).toEqual([])
  })
})

describe('wagmi', () => {
  // Its connector requires `window`.
  beforeAll(() => void vi.stubGlobal('window', new EventTarget()))
  afterAll(() => void vi.unstubAllGlobals())

  function configOf(chains: readonly [Chain, ...Chain[]]) {
    // The connector of an injected wallet (EIP-6963).
    const target = { id: 'pocketchain', name: 'pocketchain', provider: provider as never }
    const transports = Object.fromEntries(chains.map(({ id }) => [id, custom(provider)]))
    return createConfig({
      chains,
      connectors: [injected({ target, shimDisconnect: false })],
      transports,
      storage: null,
      pollingInterval: 20,
    })
  }

  async function connectedConfig(chains: readonly [Chain, ...Chain[]] = [chainOf(node)]) {
    const config = configOf(chains)
    const connector = config.connectors[0]
    if (connector === undefined) throw new Error('there is no connector')
    const { accounts, chainId } = await approved(connect(config, { connector }), 'connect')
    expect({ account: accounts[0].toLowerCase(), chainId }).toEqual({ account: alice, chainId: 31_337 })
    return config
  }

  it('connects, and disconnects after a revocation by the person', async () => {
    const config = await connectedConfig()
    expect(getAccount(config).status).toBe('connected')
    const status = new Promise((resolve) => config.subscribe((state) => state.status, resolve))
    wallet.sites.disconnect(ORIGIN)
    expect(await status).toBe('disconnected')
  })

  it('disconnects', async () => {
    const config = await connectedConfig()
    await disconnect(config)
    expect(wallet.sites.get(ORIGIN).accounts).toEqual([])
  })

  it('signs a message and typed data', async () => {
    const config = await connectedConfig()
    const signature = await approved(signMessage(config, { message: 'hello' }), 'sign')
    expect(verifyMessage('hello', signature).toLowerCase()).toBe(alice)
    const signed = await approved(signTypedData(config, MAIL), 'sign')
    expect(verifyTypedData(domain, { Mail: [...types.Mail] }, message, signed).toLowerCase()).toBe(alice)
  })

  it('sends a transaction', async () => {
    const config = await connectedConfig()
    const sum = await gained(BOB, async () => {
      const hash = await approved(sendTransaction(config, { to: BOB, value: 5n }), 'send')
      expect(await waitForTransactionReceipt(config, { hash })).toMatchObject({ status: 'success' })
    })
    expect(sum).toBe(5n)
  })

  it('sends batches, atomic and not, and waits for them', async () => {
    const config = await connectedConfig()
    const calls = [
      { to: BOB, value: 1n },
      { to: CAROL, value: 2n },
    ]
    const sum = await gained(CAROL, async () => {
      const { id: loose } = await approved(sendCalls(config, { calls }), 'batch')
      expect(await waitForCallsStatus(config, { id: loose })).toMatchObject({ statusCode: 200, atomic: false })
      const { id: tight } = await approved(sendCalls(config, { calls, forceAtomic: true }), 'upgrade', 'batch')
      expect(await waitForCallsStatus(config, { id: tight })).toMatchObject({ statusCode: 200, atomic: true })
    })
    expect(sum).toBe(4n)
    expect(await getCapabilities(config, { chainId: 31_337 })).toMatchObject({ atomic: { status: 'supported' } })
  })

  it('adds a missing chain when it switches to it, and switches back', async () => {
    const here = chainOf(node)
    const config = await connectedConfig([here, chainOf(second, server.url)])
    await approved(switchChain(config, { chainId: SECOND_CHAIN }), 'addChain', 'switchChain')
    expect(getAccount(config).chainId).toBe(SECOND_CHAIN)
    await approved(switchChain(config, { chainId: here.id }), 'switchChain')
    expect(getAccount(config).chainId).toBe(here.id)
  })
})

describe("ethers' BrowserProvider", () => {
  it('connects, signs, sends and follows the chain', async () => {
    const browser = new BrowserProvider(provider, 'any', { polling: true, pollingInterval: 20 })
    expect(await browser.listAccounts()).toEqual([])
    const signer = await approved(browser.getSigner(), 'connect')
    expect(signer.address.toLowerCase()).toBe(alice)

    const signature = await approved(signer.signMessage('hello'), 'sign')
    expect(verifyMessage('hello', signature).toLowerCase()).toBe(alice)
    const signed = await approved(signer.signTypedData(domain, { Mail: [...types.Mail] }, message), 'sign')
    expect(verifyTypedData(domain, { Mail: [...types.Mail] }, message, signed).toLowerCase()).toBe(alice)

    const sum = await gained(BOB, async () => {
      const sent = await approved(signer.sendTransaction({ to: BOB, value: 7n }), 'send')
      expect(await sent.wait()).toMatchObject({ status: 1, from: signer.address })
    })
    expect(sum).toBe(7n)
    expect(Number((await browser.getNetwork()).chainId)).toBe(31_337)
    browser.destroy()
  })

  it('sends batches, adds and switches chains by raw requests', async () => {
    const browser = new BrowserProvider(provider, 'any')
    await approved(browser.getSigner(), 'connect')
    const batch = (id: string, atomicRequired: boolean) => ({
      version: '2.0.0',
      id,
      from: alice,
      chainId: '0x7a69',
      atomicRequired,
      calls: [
        { to: BOB, value: '0x1' },
        { to: CAROL, value: '0x2', data: '0x' },
      ],
    })
    const loose: unknown = await approved(browser.send('wallet_sendCalls', [batch('loose', false)]), 'batch')
    expect(loose).toMatchObject({ id: 'loose', batchId: 'loose', status: 'pending' })
    const tight: unknown = await approved(browser.send('wallet_sendCalls', [batch('tight', true)]), 'upgrade', 'batch')
    expect(tight).toMatchObject({ id: 'tight' })
    const { status, atomic } = (await browser.send('wallet_getCallsStatus', ['tight'])) as { status: number; atomic: boolean } // EIP-5792
    expect({ status, atomic }).toEqual({ status: 200, atomic: true })
    expect(await browser.send('wallet_getCapabilities', [alice])).toMatchObject({ '0x7a69': { atomic: { status: 'supported' } } })
    await expect(browser.send('wallet_sendCalls', [batch('tight', true)])).rejects.toMatchObject({ error: { code: 5720 } })

    const added = {
      chainId: `0x${SECOND_CHAIN.toString(16)}`,
      chainName: 'Second',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: [server.url],
    }
    await approved(browser.send('wallet_addEthereumChain', [added]), 'addChain', 'switchChain')
    expect(Number((await browser.getNetwork()).chainId)).toBe(SECOND_CHAIN)
    await approved(browser.send('wallet_switchEthereumChain', [{ chainId: '0x7a69' }]), 'switchChain')
    expect(await browser.send('eth_chainId', [])).toBe('0x7a69')
    browser.destroy()
  })
})

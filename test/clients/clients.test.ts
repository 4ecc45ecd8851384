import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Contract, ContractFactory, HDNodeWallet, JsonRpcProvider, Mnemonic, WebSocketProvider, isError } from 'ethers'
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createTestClient,
  createWalletClient,
  defineChain,
  http,
  parseAbi,
  parseAbiItem,
  parseEther,
  webSocket,
} from 'viem'
import type { Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Web3 } from 'web3'
import { abi, bytecode } from '../../examples/contract/counter.mjs'
import { CAST } from '../foundry.fixture.ts'
import { WORDS, ZERO_HASH, startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

// Client libraries against a real node, which must behave like Base. Each test uses a separate account.

const SHARED = fileURLToPath(new URL('../../../shared/', import.meta.url))
const ACCOUNT = { viem: 0, ethers: 1, web3: 2, cast: 3 } as const
/** answers every call with the custom error Denied(42) */
const DENIES = '0x637e46dab660e01b5f52602a60045260245ffd'
const DENIED = '0x00000000000000000000000000000000000000de'

let running: RunningNode

beforeAll(async () => {
  running = await startNode({ cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 200 } })
  await running.ask('anvil_setCode', DENIED, DENIES)
})

afterAll(() => running[Symbol.asyncDispose]())

describe('viem', () => {
  const counterAbi = parseAbi(abi)
  const account = mnemonicToAccount(WORDS, { addressIndex: ACCOUNT.viem })

  /** Clients of a chain with the pre-confirmation setting of viem's Base chains. */
  function clients() {
    const chain = defineChain({
      id: 31_337,
      name: 'pocketchain',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [running.url], webSocket: [running.wsUrl] } },
      experimental_preconfirmationTime: 200,
    })
    return {
      reader: createPublicClient({ chain, transport: http(), pollingInterval: 50 }),
      wallet: createWalletClient({ chain, account, transport: http() }),
      hand: createTestClient({ chain, mode: 'anvil', transport: http() }),
      streaming: createPublicClient({ chain, transport: webSocket() }),
    }
  }

  it('reads pre-confirmed data: receipt, code, state, balance, logs, block, block receipts', async () => {
    const { reader, wallet } = clients()
    const deployed = await wallet.sendTransactionSync({ data: bytecode })
    expect(deployed).toMatchObject({ status: 'success', blockHash: ZERO_HASH })
    const address = deployed.contractAddress!
    const counter = { address, abi: counterAbi } as const
    expect(await reader.readContract({ ...counter, functionName: 'count' })).toBe(0n)
    const { request } = await reader.simulateContract({ ...counter, account, functionName: 'increment' })
    const hash = await wallet.writeContract(request)
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect(receipt.status).toBe('success')
    expect(receipt.logs).toHaveLength(1)

    const sent = await wallet.writeContractSync(request)
    expect(await reader.readContract({ ...counter, functionName: 'count' })).toBe(2n)
    const logs = await reader.getContractEvents({ ...counter, eventName: 'Incremented', fromBlock: 0n, toBlock: 'pending' })
    expect(logs.map(({ args }) => (args as { count: bigint }).count)).toEqual([1n, 2n])
    const block = await reader.getBlock()
    expect(block.number).toBeGreaterThanOrEqual(sent.blockNumber)
    // The block of the pre-confirmation, or one opened since.
    const receipts = await reader.getBlockReceipts()
    expect(receipts[0]!.blockNumber).toBeGreaterThanOrEqual(sent.blockNumber)
    expect(await reader.getTransactionCount({ address: account.address, blockTag: 'pending' })).toBe(3)
  })

  it('decodes a custom error', async () => {
    const { reader } = clients()
    const call = reader.readContract({
      address: DENIED,
      abi: parseAbi(['function ask() view', 'error Denied(uint256 code)']),
      functionName: 'ask',
    })
    const error = await call.then(
      () => null,
      (thrown: unknown) => thrown,
    )
    const reverted = error instanceof BaseError ? error.walk((cause) => cause instanceof ContractFunctionRevertedError) : null
    expect(reverted).toMatchObject({ data: { errorName: 'Denied', args: [42n] } })
  })

  it('receives events and blocks over WebSocket and by polling', async () => {
    const { reader, wallet, streaming } = clients()
    const address = (await wallet.sendTransactionSync({ data: bytecode })).contractAddress!
    const event = parseAbiItem('event Incremented(address indexed by, uint256 count)')
    const seen: string[] = []
    const ends = [
      streaming.watchEvent({ address, event, onLogs: (logs) => seen.push(...logs.map(({ args }) => `event ${args.count}`)) }),
      streaming.watchBlockNumber({ onBlockNumber: () => seen.push('head') }),
      reader.watchBlocks({ onBlock: () => seen.push('block') }),
      reader.watchContractEvent({ address, abi: counterAbi, poll: true, onLogs: () => seen.push('polled') }),
    ]
    // Requests on one socket are answered in order, so this response confirms the subscriptions.
    await streaming.getChainId()
    await wallet.writeContractSync({ address, abi: counterAbi, functionName: 'increment' })
    await expect.poll(() => new Set(seen)).toEqual(new Set(['event 1', 'head', 'block', 'polled']))
    for (const end of ends) end()
    ;(await streaming.transport.getRpcClient()).close()
  })

  it('moves the chain with its test client', async () => {
    const { reader, hand } = clients()
    const address = '0x000000000000000000000000000000000000bEEF'
    const id = await hand.snapshot()
    await hand.setBalance({ address, value: parseEther('3') })
    expect(await reader.getBalance({ address })).toBe(parseEther('3'))
    const before = await reader.getBlockNumber()
    await hand.mine({ blocks: 2 })
    expect(await reader.getBlockNumber({ cacheTime: 0 })).toBeGreaterThanOrEqual(before + 2n)
    await hand.revert({ id })
    expect(await reader.getBalance({ address })).toBe(0n)
  })
})

describe('ethers', () => {
  it('deploys, sends, waits and reads, and receives events over WebSocket', async () => {
    const provider = new JsonRpcProvider(running.url, undefined, { pollingInterval: 50, cacheTimeout: -1 })
    const streaming = new WebSocketProvider(running.wsUrl)
    const signer = HDNodeWallet.fromMnemonic(Mnemonic.fromPhrase(WORDS), `m/44'/60'/0'/0/${ACCOUNT.ethers}`).connect(provider)
    const deployed = await new ContractFactory(abi, bytecode, signer).deploy()
    const address = await (await deployed.waitForDeployment()).getAddress()
    await sealed(deployed.deploymentTransaction()!.hash)
    const counter = new Contract(address, abi, signer)
    const counts: unknown[] = []
    await new Contract(address, abi, streaming).on('Incremented', (_, count) => counts.push(count))
    // Requests on one socket are answered in order, so the next response confirms the subscription.
    await streaming.getBlockNumber()
    const sent = await counter.getFunction('increment')()
    expect((await sent.wait()).status).toBe(1)
    await expect.poll(() => counts).toEqual([1n])
    expect(await counter.getFunction('count')({ blockTag: 'pending' })).toBe(1n)
    expect(await counter.queryFilter('Incremented', 0, 'pending')).toHaveLength(1)
    expect((await provider.getBlock('pending'))?.number).toBeGreaterThan(0)
    expect((await provider.getFeeData()).maxFeePerGas).toBeGreaterThan(0n)
    await streaming.destroy()
    provider.destroy()
  })

  it('decodes a custom error', async () => {
    const provider = new JsonRpcProvider(running.url)
    const denies = new Contract(DENIED, ['function ask() view', 'error Denied(uint256 code)'], provider)
    const error: unknown = await denies
      .getFunction('ask')()
      .then(
        () => null,
        (thrown: unknown) => thrown,
      )
    expect(isError(error, 'CALL_EXCEPTION') && error.revert).toMatchObject({ name: 'Denied' })
    provider.destroy()
  })
})

describe('web3', () => {
  it('deploys, sends, reads past events and receives heads over WebSocket', async () => {
    const web3 = new Web3(running.url)
    const streaming = new Web3(running.wsUrl)
    const { address: from } = web3.eth.accounts.wallet.add(mnemonicKey(ACCOUNT.web3))[0]!
    const draft = new web3.eth.Contract(WEB3_ABI)
    const sending = draft.deploy({ data: bytecode }).send({ from })
    const hash = await new Promise<string>((resolve) => {
      sending.once('transactionHash', (bytes) => resolve(String(bytes)))
    })
    const deployed = await sending
    await sealed(hash)
    const heads = await streaming.eth.subscribe('newHeads')
    const head = new Promise<bigint>((resolve) => {
      heads.on('data', ({ number }) => resolve(BigInt(number ?? 0)))
    })
    const receipt = await deployed.methods['increment']().send({ from })
    expect(receipt.status).toBe(1n)
    expect(await deployed.methods['count']().call({}, 'pending')).toBe(1n)
    expect(await deployed.getPastEvents('Incremented', { fromBlock: 0, toBlock: 'pending' })).toHaveLength(1)
    expect(await head).toBeGreaterThan(0n)
    streaming.provider?.disconnect()
  })
})

describe('cast', () => {
  it('deploys, sends, calls, reads logs and blocks', async (context) => {
    if (CAST === null) context.skip('needs the package @foundry-rs/cast')
    const key = mnemonicKey(ACCOUNT.cast)
    const deployed = JSON.parse(await cast('send', '--json', '--private-key', key, '--create', bytecode)) as { contractAddress: string }
    const address = deployed.contractAddress
    // By default cast reads nonces from the sealed state.
    const sender = await cast('wallet', 'address', '--private-key', key)
    const nonce = await cast('nonce', '--block', 'pending', sender)
    const options = ['--json', '--private-key', key, '--nonce', nonce, '--sync']
    const sent = JSON.parse(await cast('send', ...options, address, 'increment()')) as {
      status: string
      blockNumber: string
      transactionHash: string
    }
    expect(sent.status).toBe('0x1')
    expect(await cast('call', '--block', 'pending', address, 'count()(uint256)')).toBe('1')
    expect(await cast('logs', '--from-block', 'earliest', '--to-block', 'pending', '--address', address)).toContain(sent.transactionHash)
    expect(await cast('block', 'pending', '--field', 'number')).toMatch(/^\d+$/)
    expect(JSON.parse(await cast('receipt', '--json', sent.transactionHash))).toMatchObject({
      blockNumber: sent.blockNumber,
      status: '0x1',
    })
    expect(await cast('chain-id')).toBe('31337')
  })
})

describe.skipIf(!existsSync(`${SHARED}tools/smoke-viem.mjs`))('the smoke runs', () => {
  // Cases of the wallet, the paymaster and the bundler, or with packages that are not installed.
  const LATER = /5792 getCapabilities|permissionless|@base-org\/account/

  it.each(['smoke-viem.mjs', 'smoke-others.mjs'])('%s: every request to the node gets a response', async (script) => {
    await using own = await startNode()
    const lines = (await runBeside(script, own.url)).split('\n')
    const failed = lines.filter((line) => line.startsWith('FAIL') && !LATER.test(line))
    const passed = lines.filter((line) => line.startsWith('ok | '))
    console.log(`${script}: ${passed.length} ok, ${lines.filter((line) => line.startsWith('FAIL')).length} left for the wallet's side`)
    expect(failed).toEqual([])
    expect(passed.length).toBeGreaterThanOrEqual(8)
  })
})

/**
 * ethers and web3 accept a pre-confirmed receipt, but then read nonces (web3) and estimate gas (both) in the sealed state. Therefore an app
 * must wait for the sealed block before it sends again.
 */
async function sealed(hash: string): Promise<void> {
  const receipt = async (): Promise<unknown> => running.ask('eth_getTransactionReceipt', hash)
  await expect.poll(receipt).toEqual(expect.objectContaining({ blockHash: expect.not.stringMatching(ZERO_HASH) }))
}

/** Runs a script of the shared folder with the packages of this repository. */
async function runBeside(script: string, url: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-smoke-'))
  try {
    copyFileSync(`${SHARED}tools/${script}`, join(folder, script))
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, script), url], { cwd: folder })
    return stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function cast(command: string, ...args: readonly string[]): Promise<string> {
  const place = command === 'wallet' ? [] : ['--rpc-url', running.url]
  const { stdout } = await promisify(execFile)(CAST!, [command, ...place, ...args])
  return stdout.trim()
}

function mnemonicKey(addressIndex: number): Hex {
  return `0x${Buffer.from(mnemonicToAccount(WORDS, { addressIndex }).getHdKey().privateKey!).toString('hex')}`
}

/** web3 does not accept signatures of functions as text. */
const WEB3_ABI = [
  { type: 'function', name: 'count', inputs: [], outputs: [{ name: '', type: 'uint256' }], stateMutability: 'view' },
  { type: 'function', name: 'increment', inputs: [], outputs: [], stateMutability: 'nonpayable' },
  {
    type: 'event',
    name: 'Incremented',
    inputs: [
      { name: 'by', type: 'address', indexed: true },
      { name: 'count', type: 'uint256', indexed: false },
    ],
  },
] as const

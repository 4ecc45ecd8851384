import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createWalletClient, custom, hexToBytes, parseEther, publicActions } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { PocketchainOptions } from '../../src/index.ts'
import { CAST } from '../foundry.fixture.ts'
import { startNode } from '../node.fixture.ts'

const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const L1_BLOCK = '0x4200000000000000000000000000000000000015'
const ENTRY_POINT = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const CREATE2 = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const SAFE = '0x69f4D1788e39c87893C980c06EdF4b7f686e2938'
const EAS = '0x4200000000000000000000000000000000000021'
const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

describe('a chain of type l1', () => {
  it.each(['preconf', 'native', 'instant', 'manual'] as const)('has no deposit, data fee or OP predeploy under %s', async (cadence) => {
    await using node = await createPocketchain({ chainType: 'l1', cadence, clock: 'manual' })
    const client = createWalletClient({ chain: foundry, transport: custom(node) }).extend(publicActions)
    const [alice] = await client.getAddresses()
    const hash = await client.sendTransaction({ account: alice!, to: BOB, value: parseEther('1') })
    if (cadence === 'manual') await node.request({ method: 'evm_mine' })
    else await node.request({ method: 'pocketchain_tick', params: [2_000] })
    const block = await client.getBlock({ blockHash: (await client.getTransactionReceipt({ hash })).blockHash, includeTransactions: true })
    expect(block.transactions.map(({ hash: each }) => each)).toEqual([hash])
    expect(block).toMatchObject({ extraData: '0x', miner: `0x${'0'.repeat(40)}`, blobGasUsed: 0n, excessBlobGas: 0n })
    const receipt = await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })
    expect(Object.keys(receipt as object).filter((key) => key.startsWith('l1'))).toEqual([])
    const { gasUsed, effectiveGasPrice } = await client.getTransactionReceipt({ hash })
    expect(await client.getBalance({ address: alice! })).toBe(parseEther('9999') - gasUsed * effectiveGasPrice)
    for (const address of [L1_BLOCK, EAS, USDC] as const) expect(await client.getCode({ address })).toBeUndefined()
    for (const address of [ENTRY_POINT, MULTICALL, CREATE2, SAFE] as const)
      expect(await client.getCode({ address })).toMatch(/^0x[0-9a-f]{100}/)
  })

  it('has no USDC to mint', async () => {
    await using node = await createPocketchain({ chainType: 'l1' })
    await expect(node.request({ method: 'pocketchain_mintUsdc', params: [BOB, 1] })).rejects.toThrow(/there is no ERC-20 token at 0x8335/)
  })

  it('seals each pre-confirmed result unchanged', async () => {
    await using node = await createPocketchain({ chainType: 'l1', clock: 'manual' })
    const ask = (method: string, ...params: unknown[]) => node.request({ method, params })
    const hash = await ask('eth_sendTransaction', { from: node.accounts[0]!.address, to: BOB, value: '0x1' })
    await ask('pocketchain_tick', 200)
    const promised = await ask('eth_getTransactionReceipt', hash)
    expect(promised).toMatchObject({ status: '0x1', transactionIndex: '0x0', blockHash: `0x${'0'.repeat(64)}` })
    await ask('pocketchain_tick', 2_000)
    expect(await ask('eth_getTransactionReceipt', hash)).toEqual({
      ...(promised as object),
      blockHash: expect.not.stringMatching(/^0x0+$/),
    })
  })

  it('computes the base fee by EIP-1559 with the parameters of Ethereum', async () => {
    await using node = await createPocketchain({ chainType: 'l1', cadence: 'instant' })
    await node.request({ method: 'evm_mine' })
    expect(await node.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })).toMatchObject({
      baseFeePerGas: `0x${(875_000_000).toString(16)}`, // an empty block lowers 1 gwei by an eighth
    })
  })

  it('has the wallet, the bundler and the sponsor', async () => {
    const keys = { memory: [hexToBytes(generatePrivateKey())] }
    await using node = await createPocketchain({ chainType: 'l1', accounts: 0, wallet: { policy: 'approve', keys } })
    const { paymaster } = await node.listen()
    const app = createWalletClient({ chain: foundry, transport: custom(node.wallet.provider('http://localhost:3000')) })
    const [account] = await app.requestAddresses()
    const { id } = await app.sendCalls({
      account: account!,
      calls: [
        { to: MULTICALL, data: '0x0f28c97d' },
        { to: MULTICALL, data: '0x42cbb15c' },
      ],
      forceAtomic: true,
      capabilities: { paymasterService: { url: paymaster!.url } },
    })
    expect(await app.waitForCallsStatus({ id })).toMatchObject({ status: 'success' })
  })

  it('cast replays a transaction on the default chain id', async (context) => {
    if (CAST === null) context.skip('needs the package @foundry-rs/cast')
    await using running = await startNode({ chainType: 'l1', cadence: 'instant' })
    const hash = await running.ask('eth_sendTransaction', { from: running.node.accounts[0]!.address, to: MULTICALL, data: '0x0f28c97d' })
    const { stdout } = await promisify(execFile)(CAST!, ['run', String(hash), '--rpc-url', running.url])
    expect(stdout).toContain('Transaction successfully executed')
  })

  it('accepts Ethereum fork names only, and an earlier fork lacks later header fields', async () => {
    const start = (options: PocketchainOptions) => createPocketchain({ chainType: 'l1', ...options })
    await expect(start({ hardfork: 'jovian' })).rejects.toThrow(
      'hardfork must be one of paris, shanghai, cancun, prague, osaka, latest with --chain-type l1, not "jovian"',
    )
    await using shanghai = await start({ hardfork: 'shanghai', cadence: 'instant' })
    await shanghai.request({ method: 'evm_mine' })
    const block = (await shanghai.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as object
    expect(block).toHaveProperty('withdrawalsRoot')
    expect(block).not.toHaveProperty('blobGasUsed')
  })
})

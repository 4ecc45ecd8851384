// The account contract that the wallet upgrades accounts to, on a real chain: EIP-7702, ERC-7821, ERC-1271, ERC-7739, ERC-4337.
import { readFileSync } from 'node:fs'
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, PocketchainOptions } from 'pocketchain'
import {
  type Address,
  type Hex,
  concat,
  createPublicClient,
  createWalletClient,
  custom,
  decodeErrorResult,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getCreate2Address,
  hashMessage,
  hashTypedData,
  http,
  keccak256,
  parseAbi,
  parseAbiParameters,
  parseEther,
  toHex,
} from 'viem'
import { entryPoint08Abi, getUserOperationHash, toPackedUserOperation } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { hashTypedData as nestTypedData, signMessage, signTypedData } from 'viem/experimental/erc7739'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'

const ROOT = new URL('../..', import.meta.url)
// The build script defines the type; test/predeploys.test.ts checks that the file is its output.
const delegate = JSON.parse(readFileSync(new URL('src/wallet/delegate.json', ROOT), 'utf8')) as Record<
  'address' | 'deployer' | 'salt' | 'initCode',
  Hex
>
const ACCOUNT = delegate.address
const CODE: Hex = `0xef0100${ACCOUNT.slice(2)}`
const ZERO: Address = `0x${'0'.repeat(40)}`
const ENTRY_POINT: Address = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
const BATCH = toHex(1n << 248n, { size: 32 })
const FOREIGN = '0x000000000000000000000000000000000000f00d'

const abi = parseAbi([
  'struct Execution { address target; uint256 value; bytes data; }',
  'function execute(bytes32 mode, bytes executionData) payable',
  'function supportsExecutionMode(bytes32) view returns (bool)',
  'function supportsInterface(bytes4) view returns (bool)',
  'function entryPoint() view returns (address)',
  'function isValidSignature(bytes32, bytes) view returns (bytes4)',
  'function eip712Domain() view returns (bytes1, string, string, uint256, address, bytes32, uint256[])',
  'error AccountUnauthorized(address)',
  'error UnsupportedExecutionMode()',
  'error CallFailed(uint256 index)',
  'error LimitsMismatch()',
])
const bodyAbi = parseAbi(['struct Execution { address target; uint256 value; bytes data; }', 'function body(Execution[] calls)'])
const { Coin, Card, Thing, Faults } = contracts()

const owner = privateKeyToAccount(keccak256('0x0a11ce'))
let node: Pocketchain

beforeEach(async () => (node = await start()))
afterEach(() => node.close())

describe('the account contract', () => {
  it('is deployed at its address from the first block on, on every chain', async () => {
    const { deployer, salt, initCode } = delegate
    expect(getCreate2Address({ from: deployer, salt, bytecode: initCode }).toLowerCase()).toBe(ACCOUNT)
    await using other = await createPocketchain({ chainId: 8453, cadence: 'instant' })
    const [here, there] = await Promise.all([node, other].map((chain) => client(chain).getCode({ address: ACCOUNT })))
    expect(here).toMatch(/^0x60/)
    // The chain id is part of its signing domain.
    expect(there).toHaveLength(here?.length ?? 0)
    expect(there).not.toBe(here)
  })

  it.skipIf(ANVIL === null)('is put on any other chain by one call of the CREATE2 deployer', async () => {
    await using anvil = await startAnvil()
    const [from] = await anvil.ask<Address[]>('eth_accounts')
    const hash = await anvil.ask<Hex>('eth_sendTransaction', {
      from,
      to: delegate.deployer,
      data: concat([delegate.salt, delegate.initCode]),
    })
    const there = createPublicClient({ chain: foundry, transport: http(anvil.url), pollingInterval: 10 })
    expect(await there.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
    const code = await anvil.ask<Hex>('eth_getCode', ACCOUNT, 'latest')
    expect(code).toBe(await client(node).getCode({ address: ACCOUNT })) // both have chain id 31337
  })

  it('reports the interfaces and modes that it supports', async () => {
    const read = (functionName: 'supportsExecutionMode' | 'supportsInterface', arg: Hex) =>
      client(node).readContract({ address: ACCOUNT, abi, functionName, args: [arg] })
    expect(await read('supportsExecutionMode', BATCH)).toBe(true)
    // ERC-7821 ignores the bytes from 10 on.
    expect(await read('supportsExecutionMode', `${BATCH.slice(0, 22)}${'77'.repeat(22)}` as Hex)).toBe(true)
    for (const mode of ['0x00', '0x0101', '0xff', `0x0100${'0'.repeat(8)}78210001`]) {
      expect(await read('supportsExecutionMode', mode.padEnd(66, '0') as Hex), mode).toBe(false)
    }
    // ERC-165, ERC-721 and ERC-1155 receivers, ERC-1271, IAccount
    for (const id of ['0x01ffc9a7', '0x150b7a02', '0x4e2312e0', '0x1626ba7e', '0x19822f7c'] as const) {
      expect(await read('supportsInterface', id), id).toBe(true)
    }
    expect(await read('supportsInterface', '0xffffffff')).toBe(false)
    expect(await client(node).readContract({ address: ACCOUNT, abi, functionName: 'entryPoint' })).toBe(ENTRY_POINT)
  })
})

describe('an upgraded account', () => {
  it('is upgraded and executes a batch in one transaction', async () => {
    const coin = await deploy('Coin', Coin, ['Coin', 'COIN', 6])
    await call(coin, Coin.abi, 'transfer', [owner.address, 100n])
    const receipt = await upgrade([
      [coin, 0n, encodeFunctionData({ abi: Coin.abi, functionName: 'transfer', args: [FOREIGN, 30n] })],
      [FOREIGN, 5n, '0x'],
      [coin, 0n, encodeFunctionData({ abi: Coin.abi, functionName: 'approve', args: [FOREIGN, 7n] })],
    ])
    expect(receipt.status).toBe('success')
    expect(await client(node).getCode({ address: owner.address })).toBe(CODE)
    expect(await balanceOf(coin, FOREIGN)).toBe(30n)
    expect(await client(node).getBalance({ address: FOREIGN })).toBe(5n)
    expect(receipt.logs.map(({ address }) => address)).toEqual([coin, coin])
  })

  it('sends to the zero address', async () => {
    const before = await client(node).getBalance({ address: ZERO })
    const receipt = await upgrade([[ZERO, 1_000n, '0x']])
    expect(receipt.status).toBe('success')
    expect(await client(node).getBalance({ address: ZERO })).toBe(before + 1_000n)
  })

  it('has no effect if a call reverts, with the revert data of that call', async () => {
    const faults = await deploy('Faults', Faults, [])
    await upgrade([])
    const calls: Calls = [
      [FOREIGN, 5n, '0x'],
      [faults, 0n, encodeFunctionData({ abi: Faults.abi, functionName: 'custom' })],
    ]
    const reason = await revertOf({ from: owner.address, to: owner.address, data: execute(calls) })
    expect(decodeErrorResult({ abi: Faults.abi, data: reason })).toMatchObject({ errorName: 'Broke', args: [1n, 2n] })
    const receipt = await send(owner.address, execute(calls))
    expect(receipt.status).toBe('reverted')
    expect(await client(node).getBalance({ address: FOREIGN })).toBe(0n)
  })

  it('limits the gas of each call in the mode with limits, and names one that fails without data', async () => {
    const limitsMode = `0x0100000000006e270e55${'0'.repeat(44)}` as const
    const parameters = parseAbiParameters('(address target, uint256 value, bytes data)[], uint256[]')
    const body = (targets: readonly Address[], limits: readonly bigint[]) =>
      encodeAbiParameters(parameters, [targets.map((target) => ({ target, value: 0n, data: '0x' as const })), limits])
    const executed = (data: Hex) => encodeFunctionData({ abi, functionName: 'execute', args: [limitsMode, data] })
    const burner: Address = '0x00000000000000000000000000000000000b0b01'
    const logger: Address = '0x00000000000000000000000000000000000b0b02'
    await node.request({ method: 'anvil_setCode', params: [burner, '0x5b600056'] })
    await node.request({ method: 'anvil_setCode', params: [logger, '0x5a5f5260205fa000'] })
    await node.request({ method: 'anvil_setCode', params: [owner.address, CODE] })
    const call = (data: Hex) => node.request({ method: 'eth_call', params: [{ from: owner.address, to: owner.address, data }, 'latest'] })
    const simulated = (await node.request({
      method: 'eth_simulateV1',
      params: [
        {
          blockStateCalls: [
            { calls: [{ from: owner.address, to: owner.address, input: executed(body([logger, logger], [45_000n, 0n])) }] },
          ],
        },
        'latest',
      ],
    })) as readonly { readonly calls: readonly { readonly logs: readonly { readonly data: Hex }[] }[] }[]
    const [first, second] = (simulated[0]?.calls[0]?.logs ?? []).map(({ data }) => BigInt(data))
    expect(first).toBe(44_998n)
    expect(second).toBeGreaterThan(1_000_000n)
    const reverted = async (data: Hex) => {
      const error = await call(data).catch((thrown: unknown) => thrown)
      return decodeErrorResult({ abi, data: (error as { readonly data: Hex }).data })
    }
    expect(await reverted(executed(body([logger, burner], [0n, 30_000n])))).toMatchObject({ errorName: 'CallFailed', args: [1n] })
    expect(await reverted(executed(body([logger], [1n, 2n])))).toMatchObject({ errorName: 'LimitsMismatch' })
    // Limits that are not there, or beyond the end.
    for (const wrong of [
      body([logger], []).slice(0, -64),
      `0x${body([logger], [1n]).slice(2, 66)}${'f'.repeat(64)}${body([logger], [1n]).slice(130)}`,
    ]) {
      await expect(call(executed(wrong as Hex))).rejects.toThrow(/revert/)
    }
  })

  it('rejects calls of other callers', async () => {
    await upgrade([])
    const reason = await revertOf({ from: FOREIGN, to: owner.address, data: execute([[FOREIGN, 1n, '0x']]) })
    expect(decodeErrorResult({ abi, data: reason })).toMatchObject({ errorName: 'AccountUnauthorized' })
    // The contract itself has no owner.
    expect(await revertOf({ from: owner.address, to: ACCOUNT, data: execute([]) })).not.toBe('0x')
  })

  it.each([
    [
      'an unknown mode',
      encodeFunctionData({ abi, functionName: 'execute', args: [toHex(0x0101n << 240n, { size: 32 }), body([])] }),
      'UnsupportedExecutionMode',
    ],
    [
      'a body cut short',
      encodeFunctionData({ abi, functionName: 'execute', args: [BATCH, body([[ZERO, 1n, '0x']]).slice(0, 130) as Hex] }),
      null,
    ],
    [
      'an endless list',
      encodeFunctionData({ abi, functionName: 'execute', args: [BATCH, `0x${'20'.padStart(64, '0')}${'f'.repeat(64)}`] }),
      null,
    ],
  ])('rejects %s', async (_, data, error) => {
    await upgrade([])
    const reason = await revertOf({ from: owner.address, to: owner.address, data })
    if (error !== null) expect(decodeErrorResult({ abi, data: reason }).errorName).toBe(error)
  })

  it('receives ether with any data, and tokens with receiver hooks', async () => {
    await upgrade([])
    const card = await deploy('Card', Card, [])
    const thing = await deploy('Thing', Thing, [])
    await call(card, Card.abi, 'mint', [owner.address, 1n])
    await call(thing, Thing.abi, 'mint', [owner.address, 1n, 2n])
    await call(thing, Thing.abi, 'mintBatch', [owner.address, [5n, 6n], [1n, 1n]])
    const before = await client(node).getBalance({ address: owner.address })
    const hash = await rich().sendTransaction({ to: owner.address, value: 9n, data: toHex('for the coffee') })
    expect((await client(node).waitForTransactionReceipt({ hash })).status).toBe('success')
    expect(await client(node).getBalance({ address: owner.address })).toBe(before + 9n)
  })
})

describe('signatures of an upgraded account', () => {
  const typed = {
    domain: { name: 'App', version: '1', chainId: 31337, verifyingContract: FOREIGN },
    types: { Order: [{ name: 'amount', type: 'uint256' }] },
    primaryType: 'Order',
    message: { amount: 3n },
  } as const
  const verifierDomain = {
    name: 'PocketAccount',
    version: '1',
    chainId: 31337,
    verifyingContract: owner.address,
    salt: toHex(0, { size: 32 }),
  } as const

  beforeEach(() => upgrade([]))

  it('of messages are valid, plain and nested (ERC-7739)', async () => {
    const verify = (signature: Hex, message = 'hello') => client(node).verifyMessage({ address: owner.address, message, signature })
    const plain = await owner.signMessage({ message: 'hello' })
    expect(await verify(plain)).toBe(true)
    expect(await isValid(hashMessage('hello'), plain)).toBe(true)
    const { salt: _, ...verifier } = verifierDomain
    const nested = await signMessage(signer(), { account: owner, message: 'hello', verifierDomain: verifier })
    expect(await verify(nested)).toBe(true)
    expect(await verify(nested, 'goodbye')).toBe(false)
    expect(await isValid(hashMessage('hello'), nested)).toBe(true)
  })

  it('of typed data are valid, plain and nested (ERC-7739)', async () => {
    const plain = await owner.signTypedData(typed)
    expect(await client(node).verifyTypedData({ ...typed, address: owner.address, signature: plain })).toBe(true)
    expect(await isValid(hashTypedData(typed), plain)).toBe(true)
    const nested = await signTypedData(signer(), { ...typed, account: owner, verifierDomain })
    expect(await client(node).verifyTypedData({ ...typed, address: owner.address, signature: nested })).toBe(true)
    expect(await client(node).verifyTypedData({ ...typed, message: { amount: 4n }, address: owner.address, signature: nested })).toBe(false)
    // The inner signature is valid for the nested hash only.
    const inner = await owner.sign({ hash: nestTypedData({ ...typed, verifierDomain }) })
    expect(await isValid(hashTypedData(typed), inner)).toBe(false)
  })

  it('of another key, or truncated, are invalid', async () => {
    const other = privateKeyToAccount(keccak256('0x0b0b'))
    const signature = await other.signMessage({ message: 'hello' })
    expect(await client(node).verifyMessage({ address: owner.address, message: 'hello', signature })).toBe(false)
    for (const cut of ['0x', signature.slice(0, 20), `${signature}00`]) expect(await isValid(hashMessage('hello'), cut as Hex)).toBe(false)
  })

  it('are detected as nested ones (ERC-7739)', async () => {
    const probe: Hex = `0x${'7739'.repeat(16)}`
    const answer = await client(node).readContract({ address: owner.address, abi, functionName: 'isValidSignature', args: [probe, '0x'] })
    expect(answer).toBe('0x77390001')
  })

  async function isValid(hash: Hex, signature: Hex): Promise<boolean> {
    const answer = await client(node).readContract({
      address: owner.address,
      abi,
      functionName: 'isValidSignature',
      args: [hash, signature],
    })
    return answer === '0x1626ba7e'
  }
})

describe('user operations through EntryPoint 0.8', () => {
  const request = {
    sender: owner.address,
    nonce: 0n,
    callData: execute([[FOREIGN, 11n, '0x']]),
    callGasLimit: 200_000n,
    verificationGasLimit: 200_000n,
    preVerificationGas: 100_000n,
    maxFeePerGas: 2_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    signature: '0x',
  } as const
  const hash = getUserOperationHash({ chainId: 31337, entryPointAddress: ENTRY_POINT, entryPointVersion: '0.8', userOperation: request })
  const handle = (signature: Hex) =>
    encodeFunctionData({
      abi: entryPoint08Abi,
      functionName: 'handleOps',
      args: [[toPackedUserOperation({ ...request, signature })], FOREIGN],
    })

  it('run if its key has signed them, and pay for themselves', async () => {
    await upgrade([])
    const before = await client(node).getBalance({ address: owner.address })
    const sent = await rich().sendTransaction({ to: ENTRY_POINT, data: handle(await owner.sign({ hash })) })
    const receipt = await client(node).waitForTransactionReceipt({ hash: sent })
    expect(receipt.status).toBe('success')
    const paid = (await client(node).getBalance({ address: owner.address })) - before
    expect(paid).toBeLessThan(-11n)
    expect(await client(node).getBalance({ address: FOREIGN })).toBeGreaterThan(11n) // the beneficiary here
    const nonce = await client(node).readContract({
      address: ENTRY_POINT,
      abi: entryPoint08Abi,
      functionName: 'getNonce',
      args: [owner.address, 0n],
    })
    expect(nonce).toBe(1n)
  })

  it('are rejected if another key has signed them', async () => {
    await upgrade([])
    const other = privateKeyToAccount(keccak256('0x0b0b'))
    const reason = await revertOf({ from: node.accounts[0]?.address ?? ZERO, to: ENTRY_POINT, data: handle(await other.sign({ hash })) })
    expect(decodeErrorResult({ abi: entryPoint08Abi, data: reason })).toMatchObject({
      errorName: 'FailedOp',
      args: [0n, 'AA24 signature error'],
    })
  })
})

type Calls = readonly (readonly [to: Address, value: bigint, data: Hex])[]

/** A chain on which the owner has ether and no code. */
async function start(options: PocketchainOptions = {}): Promise<Pocketchain> {
  const started = await createPocketchain({ cadence: 'instant', ...options })
  await started.request({ method: 'anvil_setBalance', params: [owner.address, toHex(parseEther('10'))] })
  return started
}

/** Type 4 to itself: the delegation and the batch. */
async function upgrade(calls: Calls) {
  const authorization = await signer().signAuthorization({ contractAddress: ACCOUNT, executor: 'self' })
  const hash = await signer().sendTransaction({
    to: owner.address,
    data: execute(calls),
    authorizationList: [authorization],
    gas: 1_000_000n,
  })
  return client(node).waitForTransactionReceipt({ hash })
}

async function send(to: Address, data: Hex) {
  const hash = await signer().sendTransaction({ to, data, gas: 1_000_000n })
  return client(node).waitForTransactionReceipt({ hash })
}

function execute(calls: Calls): Hex {
  return encodeFunctionData({ abi, functionName: 'execute', args: [BATCH, body(calls)] })
}

function body(calls: Calls): Hex {
  const args = [calls.map(([target, value, data]) => ({ target, value, data }))] as const
  return `0x${encodeFunctionData({ abi: bodyAbi, functionName: 'body', args }).slice(10)}`
}

/** Returns the revert data. */
async function revertOf(call: { from: Address; to: Address; data: Hex }): Promise<Hex> {
  const refusal: unknown = await node.request({ method: 'eth_call', params: [call, 'latest'] }).then(
    () => null,
    (error: unknown) => error,
  )
  expect(refusal).toMatchObject({ message: expect.stringMatching(/^execution reverted/), data: expect.stringMatching(/^0x/) })
  return (refusal as { data: Hex }).data // a revert carries it
}

async function deploy(
  name: string,
  { abi: itsAbi, bytecode }: { abi: typeof Coin.abi; bytecode: Hex },
  args: readonly unknown[],
): Promise<Address> {
  const hash = await rich().sendTransaction({ data: encodeDeployData({ abi: itsAbi, bytecode, args }) })
  const { contractAddress } = await client(node).waitForTransactionReceipt({ hash })
  if (!contractAddress) throw new Error(`${name} was not created`)
  return contractAddress
}

async function call(to: Address, itsAbi: typeof Coin.abi, functionName: string, args: readonly unknown[]) {
  const hash = await rich().sendTransaction({ to, data: encodeFunctionData({ abi: itsAbi, functionName, args }) })
  expect((await client(node).waitForTransactionReceipt({ hash })).status).toBe('success')
}

function balanceOf(token: Address, holder: Address) {
  return client(node).readContract({ address: token, abi: Coin.abi, functionName: 'balanceOf', args: [holder] })
}

function client(of: Pocketchain) {
  return createPublicClient({ chain: foundry, transport: custom(of), pollingInterval: 10 })
}

function signer() {
  return createWalletClient({ account: owner, chain: foundry, transport: custom(node) })
}

function rich() {
  const [first] = node.accounts
  return createWalletClient({ account: first?.address ?? ZERO, chain: foundry, transport: custom(node) })
}

// Tests of the bundler: a shared node, accounts and paymasters with constant responses, and their operations.
import { createPocketchain } from 'pocketchain'
import type { Pocketchain } from 'pocketchain'
import { concatHex, keccak256, numberToHex, pad, parseEther, size, slice, toFunctionSelector, zeroHash } from 'viem'
import type { Address, Hex } from 'viem'
import { entryPoint06Address, entryPoint07Address, entryPoint08Address, entryPoint09Address } from 'viem/account-abstraction'
import { afterAll, beforeAll, beforeEach } from 'vitest'

export const CREATE2 = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
export const BOB: Address = '0x000000000000000000000000000000000000b0b0'
export const VERSIONS = {
  '0.6': entryPoint06Address,
  '0.7': entryPoint07Address,
  '0.8': entryPoint08Address,
  '0.9': entryPoint09Address,
} as const
export type Version = keyof typeof VERSIONS

/** The node that the functions of this file use. */
let node: Pocketchain

/** The node that the tests of a file share. */
export function sharedNode(): Pocketchain {
  return node
}

/** Starts the shared node before the tests of a file, and closes it after them. */
export function shareNode(): void {
  beforeAll(async () => {
    node = await createPocketchain({ wallet: false, bundler: { rules: 'strict' } })
  })
  afterAll(() => node.close())
}

/** Bundles are sent on request in the tests of a suite, and the bundler is empty before and after each. */
export function bundleOnRequest(): void {
  beforeEach(async () => {
    await ask('debug_bundler_clearState')
    await ask('debug_bundler_setBundlingMode', 'manual')
    return async () => {
      await ask('debug_bundler_clearState')
      await ask('debug_bundler_setBundlingMode', 'auto')
    }
  })
}

/** Runs a test with another node in place of the shared one. */
export async function onNode<T>(other: Pocketchain, run: () => Promise<T>): Promise<T> {
  const shared = node
  try {
    node = other
    return await run()
  } finally {
    node = shared
  }
}

export function ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
  return node.request({ method, params })
}

/** Code that returns these words for any call. */
export function answering(...words: readonly bigint[]): Hex {
  const stores = words.map((word, i) =>
    concatHex(['0x7f', numberToHex(word, { size: 32 }), '0x60', numberToHex(i * 32, { size: 1 }), '0x52']),
  )
  return concatHex([...stores, '0x60', numberToHex(words.length * 32, { size: 1 }), '0x5f', '0xf3'])
}

let made = 0

export async function withCode(code: Hex): Promise<Address> {
  const address = pad(numberToHex((made += 1) + 0xacc0000), { size: 20 })
  await ask('anvil_setCode', address, code)
  return address
}

/** Code that reverts with these data, which are at most four words. */
export function reverting(data: Hex): Hex {
  const padded = pad(data, { dir: 'right', size: 128 })
  const stores = [0, 32, 64, 96].map((at) => concatHex(['0x7f', slice(padded, at, at + 32), '0x60', numberToHex(at, { size: 1 }), '0x52']))
  return concatHex([...stores, '0x60', numberToHex(size(data), { size: 1 }), '0x5ffd'])
}

/** Code that runs `then`, which contains no jump, for calls of a function, and `otherwise` for others. */
export function branching(signature: string, then: Hex, otherwise: Hex): Hex {
  const target = numberToHex(15 + size(otherwise), { size: 2 })
  return concatHex(['0x5f3560e01c63', toFunctionSelector(signature), '0x1461', target, '0x57', otherwise, '0x5b', then])
}

export const POST_OP_07 = 'postOp(uint8,bytes,uint256,uint256)'
export const POST_OP = { '0.6': 'postOp(uint8,bytes,uint256)', '0.7': POST_OP_07, '0.8': POST_OP_07, '0.9': POST_OP_07 } as const
export const UNPACKED = '(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)'
export const PACKED = '(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)'

/** An account that returns this validation data for any signature, with a deposit for its gas. */
export async function account(version: Version, validationData = 0n): Promise<Address> {
  const address = await withCode(answering(validationData))
  await depositTo(version, address)
  return address
}

export async function paymaster(version: Version, validationData = 0n, deposit = parseEther('1')): Promise<Address> {
  const address = await withCode(answering(0x40n, validationData, 0n))
  if (deposit > 0n) await depositTo(version, address, deposit)
  return address
}

export async function depositTo(version: Version, holder: Address, value = parseEther('1')): Promise<void> {
  // The first slot of every EntryPoint is the mapping of deposits. Without a transaction for each there is nothing to wait for.
  const slot = keccak256(concatHex([pad(holder), zeroHash]))
  await ask('anvil_setStorageAt', VERSIONS[version], slot, numberToHex(value, { size: 32 }))
  await ask('anvil_setBalance', VERSIONS[version], numberToHex(parseEther('1000')))
}

export async function brokenAccount(version: Version): Promise<Address> {
  const address = await withCode('0x5f5ffd')
  await depositTo(version, address)
  return address
}

export async function brokenPaymaster(version: Version): Promise<Address> {
  const address = await withCode('0x5f5ffd')
  await depositTo(version, address)
  return address
}

export async function brokenFactory(version: Version): Promise<Fields> {
  const factory = await withCode('0x5f5ffd')
  return version === '0.6' ? { initCode: factory } : { factory, factoryData: '0x' }
}

/** A factory without code. */
export function absentFactory(version: Version): Fields {
  return version === '0.6' ? { initCode: BOB } : { factory: BOB, factoryData: '0x' }
}

export type Fields = Readonly<Record<string, unknown>>

export async function operation(sender: Address, more: Fields = {}): Promise<Fields> {
  const { standard } = (await ask('pimlico_getUserOperationGasPrice')) as { standard: Fields }
  return {
    sender,
    nonce: '0x0',
    callData: '0x',
    callGasLimit: numberToHex(50_000),
    verificationGasLimit: numberToHex(100_000),
    preVerificationGas: numberToHex(200_000),
    ...standard,
    signature: '0x1234',
    ...more,
  }
}

export function sponsored(sponsor: Address, version: Version): Fields {
  if (version === '0.6') return { paymasterAndData: sponsor }
  return {
    paymaster: sponsor,
    paymasterVerificationGasLimit: numberToHex(60_000),
    paymasterPostOpGasLimit: numberToHex(20_000),
    paymasterData: '0x',
  }
}

export async function plain(version: Version, more: Fields = {}) {
  const sender = await account(version)
  const sent = await operation(sender, more)
  return { sender, sent, hash: (await ask('eth_sendUserOperation', sent, VERSIONS[version])) as Hex }
}

export async function included(hash: Hex): Promise<unknown> {
  const ends = performance.now() + 5_000
  while (performance.now() < ends) {
    const receipt = await ask('eth_getUserOperationReceipt', hash)
    if (receipt !== null) return receipt
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`${hash} was not included: ${JSON.stringify(await ask('pimlico_getUserOperationStatus', hash))}`)
}

export function rulesOf(change: object): Promise<unknown> {
  return ask('pocketchain_bundlerRules', change)
}

export async function seenOf(entity: Address): Promise<number> {
  const all = (await ask('debug_bundler_dumpReputation', entryPoint08Address)) as { address: Address; opsSeen: Hex }[]
  return Number(all.find(({ address }) => address.toLowerCase() === entity.toLowerCase())?.opsSeen ?? 0)
}

/** The code that runs before it returns. */
export function doing(code: Hex, ...words: readonly bigint[]): Hex {
  return concatHex([code, answering(...words)])
}

export const READ_OWN_SLOT = '0x5f5450'

export async function accountDoing(code: Hex): Promise<Address> {
  const address = await withCode(doing(code, 0n))
  await depositTo('0.8', address)
  return address
}

export async function paymasterDoing(code: Hex): Promise<Address> {
  const address = await withCode(doing(code, 0x40n, 0n, 0n))
  await depositTo('0.8', address)
  return address
}

/** The second slot of its deposit has staked, stake and delay. In 0.6 the first one has the deposit in 112 bits, staked and stake. */
export async function stake(holder: Address, amount: bigint, delaySec: bigint, version: Version = '0.8'): Promise<void> {
  const slot = BigInt(keccak256(concatHex([pad(holder), zeroHash])))
  const stakeWord = 1n | (amount << 8n)
  const words = version === '0.6' ? [parseEther('1') | (stakeWord << 112n), delaySec] : [parseEther('1'), stakeWord | (delaySec << 120n)]
  for (const [i, word] of words.entries())
    await ask('anvil_setStorageAt', VERSIONS[version], numberToHex(slot + BigInt(i), { size: 32 }), numberToHex(word, { size: 32 }))
}

import { describe, expect, it } from 'vitest'
import { getUserOperationHash } from 'viem/account-abstraction'
import { Address, DecodeError, Hex, UserOperation } from './index.ts'
import type { EntryPointVersion, UserOperationFields } from './index.ts'

const ENTRY_POINTS: Readonly<Record<EntryPointVersion, Address>> = {
  '0.6': Address.from('0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789'),
  '0.7': Address.from('0x0000000071727De22E5E9d8BAf0edAc6f37da032'),
  '0.8': Address.from('0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'),
  '0.9': Address.from('0x433709009B8330FDa32311DF1C2AFA402eD8D009'),
}
const PLAIN: UserOperationFields = {
  sender: Address.from(`0x${'11'.repeat(20)}`),
  nonce: 1n,
  callData: Hex.toBytes('0xdeadbeef'),
  callGasLimit: 100_000n,
  verificationGasLimit: 200_000n,
  preVerificationGas: 50_000n,
  maxFeePerGas: 1_000_000n,
  maxPriorityFeePerGas: 1_000n,
}
const PAYMASTER = {
  paymaster: Address.from(`0x${'22'.repeat(20)}`),
  paymasterVerificationGasLimit: 30_000n,
  paymasterPostOpGasLimit: 40_000n,
  paymasterData: Hex.toBytes('0xaabb'),
}
const FACTORY = { factory: Address.from(`0x${'33'.repeat(20)}`), factoryData: Hex.toBytes('0x01') }
const DELEGATE = Address.from('0xe6Cae83BdE06E4c305530e199D7217f42808555B')

function hashOf(version: EntryPointVersion, more: Partial<UserOperationFields> = {}, delegate?: Address) {
  return UserOperation.hash(UserOperation.of({ ...PLAIN, ...more }), {
    version,
    entryPoint: ENTRY_POINTS[version],
    chainId: 8453,
    ...(delegate === undefined ? undefined : { delegate }),
  })
}

describe('the hash of a user operation', () => {
  // The results of getUserOpHash of the deployed EntryPoints.
  it.each([
    ['0.6', {}, '0x32be63b24458475d319b09cd4b49438fd265f668fa2b6fc3bddf3b162fa2c38c'],
    ['0.6', PAYMASTER, '0x01263c731faf90b02cc590156f7c34f1f39c2fbaaa33b3f21bc9beffa1f3eb37'],
    ['0.7', {}, '0x2bc7d55bf978e22d0eb249b9f81c459c036fdd01253a403451305d92e02f1d76'],
    ['0.7', PAYMASTER, '0xd71bb2b1b7ef319cf57f06850d07064d2093b9825eb40546f897c46fdd19aab2'],
    ['0.7', FACTORY, '0x83dc31bb0b765b9e11aabe73b6db4d4ad5cc173510fb8f7b0924029d8443dff2'],
    ['0.8', {}, '0x9dfdd9609e282acf25d41f114916f8946b37d98cd6e657472ac6986df14954f3'],
    ['0.8', PAYMASTER, '0x188e97f3da9abc9953057f217b02952693f08942cd460fd9a91d5f686b6aa3e0'],
  ] as const)('of %s is the EntryPoint’s (%#)', (version, more, expected) => {
    expect(hashOf(version, more)).toBe(expected)
  })

  it('contains the delegate where 0.8 has the marker of EIP-7702', () => {
    const expected = '0xbfbea05d7a17cc7b84c2fc8e9897190c84d4b57155a3b4f19d4d2eddfbf94bae'
    expect(hashOf('0.8', { factory: UserOperation.DELEGATION }, DELEGATE)).toBe(expected)
  })

  it('is rejected for a delegation without a delegate', () => {
    expect(() => hashOf('0.8', { factory: UserOperation.DELEGATION })).toThrow(DecodeError)
  })

  it('of 0.9 does not depend on the signature of the paymaster, and equals that of viem', () => {
    const hashes = ['0x01', '0x0203'].map((signature) => hashOf('0.9', { ...PAYMASTER, paymasterSignature: Hex.toBytes(signature) }))
    const userOperation = {
      ...PLAIN,
      ...PAYMASTER,
      callData: '0xdeadbeef',
      signature: '0x',
      paymasterData: '0xaabb',
      paymasterSignature: '0x01',
    }
    const expected = getUserOperationHash({
      chainId: 8453,
      entryPointAddress: ENTRY_POINTS['0.9'],
      entryPointVersion: '0.9',
      userOperation,
    } as unknown as Parameters<typeof getUserOperationHash>[0]) // its type differs with each version
    expect(new Set(hashes)).toEqual(new Set([expected]))
    expect(hashOf('0.9', PAYMASTER)).not.toBe(expected)
  })

  it.each(['0.6', '0.7', '0.8', '0.9'] as const)("of %s equals viem's, with every field set", (entryPointVersion) => {
    const userOperation = {
      ...PLAIN,
      callData: '0xdeadbeef',
      signature: '0x',
      ...(entryPointVersion === '0.6'
        ? { initCode: `${FACTORY.factory}01`, paymasterAndData: `${PAYMASTER.paymaster}aabb` }
        : { ...FACTORY, factoryData: '0x01', ...PAYMASTER, paymasterData: '0xaabb' }),
    }
    const expected = getUserOperationHash({
      chainId: 8453,
      entryPointAddress: ENTRY_POINTS[entryPointVersion],
      entryPointVersion,
      userOperation,
    } as unknown as Parameters<typeof getUserOperationHash>[0]) // its type differs with each version
    expect(hashOf(entryPointVersion, { ...FACTORY, ...PAYMASTER })).toBe(expected)
  })
})

describe('packing', () => {
  it('packs two amounts into a word', () => {
    const packed = UserOperation.pack(UserOperation.of({ ...PLAIN, ...PAYMASTER }))
    expect(BigInt(packed.accountGasLimits)).toBe((200_000n << 128n) | 100_000n)
    expect(BigInt(packed.gasFees)).toBe((1_000n << 128n) | 1_000_000n)
    expect(packed.paymasterAndData).toHaveLength(20 + 32 + 2)
  })

  it.each(['0x', '0x0102'])('splits the signature %s of the paymaster from its data', (signature) => {
    const paymasterSignature = Hex.toBytes(signature)
    const operation = UserOperation.of({ ...PLAIN, ...PAYMASTER, paymasterSignature })
    const paymasterData = UserOperation.pack(operation).paymasterAndData.subarray(52)
    const split = UserOperation.splitPaymasterSignature({ ...operation, paymasterSignature: new Uint8Array(0), paymasterData })
    expect([split.paymasterData, split.paymasterSignature].map(Hex.fromBytes)).toEqual(['0xaabb', signature])
  })

  it.each(['0x22e325a297439656', '0x000022e325a297439656', '0x000322e325a297439656'])(
    'keeps data that ends like a signature: %s',
    (data) => {
      const operation = UserOperation.of({ ...PLAIN, ...PAYMASTER, paymasterData: Hex.toBytes(data) })
      expect(UserOperation.splitPaymasterSignature(operation)).toBe(operation)
    },
  )

  it('rejects amounts that do not fit', () => {
    expect(() => UserOperation.pack(UserOperation.of({ ...PLAIN, callGasLimit: 1n << 128n }))).toThrow('callGasLimit')
  })
})

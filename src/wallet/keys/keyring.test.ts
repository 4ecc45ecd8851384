import { inspect } from 'node:util'
import { getUserOperationHash } from 'viem/account-abstraction'
import { recoverAddress, recoverAuthorizationAddress, verifyMessage } from 'viem/utils'
import { describe, expect, it } from 'vitest'
import { Authorization, Hash, Hex, PersonalMessage, Secp256k1, Transaction, UserOperation, entryPoint } from '../../eth/index.ts'
import type { Address, PrivateKey } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { Keyring } from './keyring.ts'
import type { SigningChain } from './keyring.ts'

const DEV_KEY = Hex.toBytes('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const OWN_KEY: PrivateKey = `0x${'5e'.repeat(32)}`
const dev = Secp256k1.address(DEV_KEY)
const own = Secp256k1.address(OWN_KEY)
const stranger = `0x${'11'.repeat(20)}` as Address // 20 bytes

const embedded: SigningChain = { chainId: 31_337, name: 'Pocketchain', isEmbedded: true }
const base: SigningChain = { chainId: 8_453, name: 'Base', isEmbedded: false }
const sepolia: SigningChain = { chainId: 84_532, name: 'Base Sepolia', isEmbedded: false }

const keyring = Keyring.of({ dev: [DEV_KEY], memory: [OWN_KEY] })

function refusal(run: () => unknown): RpcError {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError)
    return error as RpcError
  }
  return expect.fail('it was signed')
}

describe('accounts', () => {
  it('are numbered in order, without duplicates, with their source', () => {
    expect(Keyring.of({ dev: [DEV_KEY], memory: [OWN_KEY, OWN_KEY] }).accounts).toEqual([
      { address: dev, name: 'Account 1', source: 'dev' },
      { address: own, name: 'Account 2', source: 'memory' },
    ])
    expect(keyring.has(own)).toBe(true)
    expect(keyring.has(stranger)).toBe(false)
    expect(keyring.find(own)?.name).toBe('Account 2')
    expect(Keyring.of({}).accounts).toEqual([])
  })

  it('with a public key of the standard mnemonic are dev accounts, whatever their source', () => {
    expect(Keyring.of({ memory: [DEV_KEY] }).accounts[0]?.source).toBe('dev')
  })

  it('an invalid key is rejected without a copy in the error', () => {
    const secret = `0x${'ab'.repeat(31)}zz`
    expect(() => Keyring.of({ memory: [secret as Hex] })).toThrow('private key')
    expect(() => Keyring.of({ memory: [secret as Hex] })).not.toThrow(secret)
  })
})

describe('signatures', () => {
  it('of a message recover to the account', async () => {
    const { r, s, yParity } = keyring.sign(own, PersonalMessage.hash(new TextEncoder().encode('hello')), embedded)
    const signature =
      `0x${[Hex.fromBytes32(r), Hex.fromBytes32(s)].map((word) => word.slice(2)).join('')}${yParity === 0 ? '1b' : '1c'}` as const
    expect(await verifyMessage({ address: own, message: 'hello', signature })).toBe(true)
  })

  it('of a transaction are for the given chain only', () => {
    for (const type of [0, 1, 2] as const) {
      const signed = Transaction.decode(keyring.transaction({ type, nonce: 3n, to: stranger, gas: 21_000n }, own, sepolia).raw)
      expect([signed.from, signed.chainId]).toEqual([own, 84_532])
    }
    for (const chainId of [1, 0, null]) {
      expect(refusal(() => keyring.transaction({ chainId }, own, sepolia)).data).toMatchObject({ reason: 'other-chain', chainId: 84_532 })
    }
  })

  it('of an authorization are for the given chain, never for all', async () => {
    const fields = { chainId: 84_532n, address: stranger, nonce: 1n }
    const signed = keyring.authorization(fields, own, sepolia)
    expect(Authorization.recover(signed)).toBe(own)
    const { r, s, yParity } = signed
    const authorization = { address: stranger, chainId: 84_532, nonce: 1, r: Hex.fromBytes32(r), s: Hex.fromBytes32(s), yParity }
    expect((await recoverAuthorizationAddress({ authorization })).toLowerCase()).toBe(own)
    for (const chainId of [0n, 1n]) {
      const error = refusal(() => keyring.authorization({ ...fields, chainId }, own, sepolia))
      expect([error.code, error.data]).toEqual([4100, { reason: 'other-chain', asked: String(chainId), chainId: 84_532 }])
    }
  })

  it('of a user operation are of its hash for the EntryPoint, the chain and the delegate', async () => {
    const point = entryPoint('0.8')
    const bare = UserOperation.of({ sender: own, nonce: 7n, callData: Uint8Array.of(1, 2), maxFeePerGas: 5n })
    for (const factory of [null, UserOperation.DELEGATION]) {
      const { operation, hash } = keyring.userOperation({ ...bare, factory }, point, stranger, sepolia)
      const authorization = { address: stranger, chainId: 84_532, nonce: 0, r: '0x', s: '0x', yParity: 0 } as const
      const common = { sender: own, nonce: 7n, callData: '0x0102', maxFeePerGas: 5n, signature: '0x' } as const
      const gas = { maxPriorityFeePerGas: 0n, callGasLimit: 0n, verificationGasLimit: 0n, preVerificationGas: 0n }
      const made = factory === null ? {} : { factory: '0x7702' as const, factoryData: '0x' as const, authorization }
      const userOperation = { ...common, ...gas, ...made }
      expect(hash).toBe(
        getUserOperationHash({ chainId: 84_532, entryPointAddress: point.address, entryPointVersion: '0.8', userOperation }),
      )
      const signer = await recoverAddress({ hash, signature: Hex.fromBytes(operation.signature) })
      expect(signer.toLowerCase()).toBe(own)
      expect({ ...operation, signature: bare.signature }).toEqual({ ...bare, factory })
    }
  })
})

describe('signing is allowed', () => {
  const signers = (address: Address, chain: SigningChain): readonly (() => unknown)[] => [
    () => keyring.assertMaySign(address, chain),
    () => keyring.sign(address, Hash.keccak(new Uint8Array(1)), chain),
    () => keyring.transaction({}, address, chain),
    () => keyring.authorization({ chainId: BigInt(chain.chainId), address: stranger, nonce: 0n }, address, chain),
    () => keyring.userOperation(UserOperation.of({ sender: address, nonce: 0n }), entryPoint('0.8'), stranger, chain),
  ]

  it('for the wallet’s own accounts only', () => {
    for (const sign of signers(stranger, embedded)) {
      const error = refusal(sign)
      expect([error.code, error.data]).toEqual([4100, { reason: 'unknown-account', account: stranger }])
    }
  })

  it('for no dev account on a real chain', () => {
    for (const sign of signers(dev, base)) {
      const error = refusal(sign)
      expect([error.code, error.data]).toEqual([4100, { reason: 'dev-account-on-real-chain', account: dev, chainId: 8_453 }])
      expect(error.message).toContain('private key')
    }
  })

  it('for a dev account on testnets, local chains, and a copy of a real chain in the same process', () => {
    for (const chain of [embedded, sepolia, { ...base, isEmbedded: true }])
      for (const sign of signers(dev, chain)) expect(sign).not.toThrow()
  })

  it('for other accounts on every chain', () => {
    for (const chain of [embedded, sepolia, base]) for (const sign of signers(own, chain)) expect(sign).not.toThrow()
  })
})

it('a key is in no JSON, no log and no error', () => {
  const secrets = [Hex.fromBytes(DEV_KEY).slice(2), OWN_KEY.slice(2), Buffer.from(DEV_KEY).toString('base64'), '172, 9, 116, 190']
  const errors = [refusal(() => keyring.assertMaySign(stranger, base)), refusal(() => keyring.assertMaySign(dev, base))]
  const seen = [
    JSON.stringify(keyring),
    JSON.stringify(keyring.accounts),
    inspect(keyring, { depth: 10, showHidden: true }),
    inspect(keyring.accounts, { depth: 10, showHidden: true }),
    ...errors.map((error) => inspect(error, { depth: 10, showHidden: true })),
    JSON.stringify(structuredClone(keyring.accounts)),
  ].join('\n')
  for (const secret of secrets) expect(seen).not.toContain(secret)
  expect(JSON.parse(JSON.stringify(keyring))).toEqual({ accounts: keyring.accounts })
})

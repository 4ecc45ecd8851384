import { describe, expect, it } from 'vitest'
import { Address, UserOperation, entryPoint } from '../../../src/eth/index.ts'
import { UserOperationJson } from '../../../src/jsonrpc/index.ts'
import { prefundGas } from '../../../pages/explorer/prefund.ts'
import type { OperationGasFields } from '../../../pages/explorer/prefund.ts'

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)('the gas in advance of EntryPoint %s', (version) => {
  const paymaster = Address.from(`0x${'aa'.repeat(20)}`)
  const gas = { callGasLimit: 1n, verificationGasLimit: 20n, preVerificationGas: 300n, maxFeePerGas: 5n, maxPriorityFeePerGas: 1n }
  const plain = UserOperation.of({ sender: paymaster, nonce: 0n, callData: new Uint8Array(), signature: new Uint8Array(), ...gas })
  const limits = version === '0.6' ? {} : { paymasterVerificationGasLimit: 4_000n, paymasterPostOpGasLimit: 50_000n }

  it.each([
    ['without a paymaster', plain],
    ['with a paymaster', { ...plain, paymaster, ...limits }],
  ])('is that of the bundler %s', (_, operation) => {
    const at = entryPoint(version)
    const json = UserOperationJson.write(operation, version) as unknown as OperationGasFields // its fields by definition
    expect(prefundGas(json, Address.checksum(at.address))).toBe(at.prefundGas(operation))
  })
})

import { getContractAddress, recoverTransactionAddress, serializeTransaction } from 'viem'
import { describe, expect, test } from 'vitest'
import { Address, Hash, Hex, sha256 } from '../../eth/index.ts'
import { ETHER, GENESIS_SECONDS, GWEI, RICH, receiptOf, signed, startedChain } from '../chain.fixture.ts'
import { defaultGenesis, DEFAULT_FEE_PARAMETERS } from './defaultgenesis.ts'
import type { DefaultGenesisOptions } from './defaultgenesis.ts'
import { requestQueues } from './requestqueues.ts'

const [WITHDRAWALS, CONSOLIDATIONS] = requestQueues()
const EMPTY_REQUESTS = Hex.fromBytes(sha256(new Uint8Array()))

function genesisOf(hardfork: DefaultGenesisOptions['hardfork']) {
  return defaultGenesis({
    chainId: 31_337,
    timestamp: GENESIS_SECONDS,
    hardfork,
    gasLimit: 60_000_000n,
    baseFeePerGas: GWEI,
    feeParameters: DEFAULT_FEE_PARAMETERS,
    accounts: [{ address: RICH[0]!, balance: 10n * ETHER }],
    codeSizeLimit: null,
    transactionGasCap: null,
  })
}

describe('the queues of requests', () => {
  // The published transactions are signed so that their senders create the contracts at these addresses.
  test.each([
    ['EIP-7002', WITHDRAWALS!, '0x5feeb084551e4e03a3581e269bc2ea2f8d0008'],
    ['EIP-7251', CONSOLIDATIONS!, '0xc0730f92dc275b663d377a7cbb141b6600052'],
  ] as const)('have the code that the transaction of %s deploys', async (_, { address, code }, s) => {
    const size = code.length.toString(16).padStart(4, '0')
    const data = `0x7f${'f'.repeat(64)}5f5561${size}80602d5f395ff3${Hex.fromBytes(code).slice(2)}` as const
    const fields = { type: 'legacy', nonce: 0, gas: 0x3d090n, gasPrice: 0xe8d4a51000n, data } as const
    const pad = (value: string) => `0x${value.slice(2).padStart(64, '0')}` as const
    const serializedTransaction = serializeTransaction(fields, { r: pad('0x539'), s: pad(s), v: 27n })
    const from = await recoverTransactionAddress({ serializedTransaction })
    expect(Address.from(getContractAddress({ from, nonce: 0n }))).toBe(address)
  })

  test('are part of L1 chains since Prague only', () => {
    for (const [hardfork, has] of [
      ['cancun', false],
      ['prague', true],
      ['osaka', true],
      ['azul', false],
    ] as const)
      for (const { address } of requestQueues()) expect(genesisOf(hardfork).state.accounts.has(address), hardfork).toBe(has)
  })

  test('return the requests of a block, which its header commits to, from the first block on', async () => {
    const { chain } = await startedChain('manual', { genesis: genesisOf('osaka') })
    const key = new Uint8Array(48).fill(0xab)
    const exit = signed({ to: WITHDRAWALS!.address, gas: 300_000n, data: Uint8Array.of(...key, 0, 0, 0, 0, 0, 0, 0, 7) })
    const merge = signed({ nonce: 1n, to: CONSOLIDATIONS!.address, gas: 300_000n, data: Uint8Array.of(...key, ...key) })
    for (const tx of [exit, merge]) await chain.submit(tx)
    const [block, next] = await chain.mine(2)
    for (const { hash } of [exit, merge]) expect(receiptOf(chain, hash)?.status).toBe(1)
    const sender = Address.toBytes(RICH[0]!)
    const requests = [Uint8Array.of(1, ...sender, ...key, 7, 0, 0, 0, 0, 0, 0, 0), Uint8Array.of(2, ...sender, ...key, ...key)]
    expect(block!.header.requestsHash).toBe(Hash.from(sha256(Buffer.concat(requests.map(sha256)))))
    expect(next!.header.requestsHash).toBe(EMPTY_REQUESTS)
  })
})

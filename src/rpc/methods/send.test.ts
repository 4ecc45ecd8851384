import { describe, expect, it } from 'vitest'
import { TRANSACTION_BYTES } from '../../chain/index.ts'
import { Address, Hash, Hex, Transaction } from '../../eth/index.ts'
import { ALICE, KEY, MANUAL, PRECONF, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const CONTRACT = Address.from('0x4200000000000000000000000000000000000006')

function signed({ chain }: TestNode, nonce: bigint, more: object = {}): Transaction {
  const fees = { maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
  return Transaction.sign({ type: 2, chainId: chain.config.chainId, nonce, gas: 21_000n, to: BOB, value: 1n, ...fees, ...more }, KEY)
}

describe('eth_sendRawTransaction', () => {
  it('returns the hash, and the pool rejects with the messages that clients match', async () => {
    const node = await testNode()
    const tx = signed(node, 0n)
    const send = (transaction: Transaction) => node.ask('eth_sendRawTransaction', Hex.fromBytes(transaction.raw))
    expect(await send(tx)).toBe(tx.hash)
    await expect(send(tx)).rejects.toMatchObject({ code: -32_000, message: 'already known' })
    await expect(send(signed(node, 0n, { value: 2n }))).rejects.toMatchObject({
      code: -32_000,
      message: 'replacement transaction underpriced',
    })
    await node.chain.mine(1)
    await expect(send(signed(node, 0n, { value: 3n }))).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('nonce too low'),
    })
    await expect(send(signed(node, 1n, { value: 10n ** 24n }))).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('insufficient funds for gas * price + value'),
    })
  })

  it.each([['0x'], ['0x02'], ['0xzz'], [7], ['0x05c0'], ['0xc0']])('rejects %s as a transaction', async (raw) => {
    const { ask } = await testNode()
    await expect(ask('eth_sendRawTransaction', raw)).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('argument 0'),
    })
  })
})

describe('eth_sendRawTransactionSync', () => {
  it('returns the receipt with the flashblock that contains it', async () => {
    const node = await testNode({ cadence: PRECONF })
    const tx = signed(node, 0n)
    const answer = node.ask('eth_sendRawTransactionSync', Hex.fromBytes(tx.raw))
    await node.clock.advance(200)
    expect(await answer).toMatchObject({ transactionHash: tx.hash, status: '0x1', blockNumber: '0x1', blockHash: Hash.zero })
    await node.chain.stop()
  })

  it('returns code 4 with the hash if there is no receipt in time', async () => {
    const node = await testNode()
    const tx = signed(node, 0n)
    await expect(node.ask('eth_sendRawTransactionSync', Hex.fromBytes(tx.raw), 10)).rejects.toMatchObject({ code: 4, data: tx.hash })
    expect(node.chain.pool.has(tx.hash)).toBe(true)
  })

  it('rejects a timeout above 6 s', async () => {
    const node = await testNode()
    await expect(node.ask('eth_sendRawTransactionSync', Hex.fromBytes(signed(node, 0n).raw), '0x1771')).rejects.toMatchObject({
      code: -32_602,
      message: 'time out too long, timeout: 6001 ms, max: 6000 ms',
    })
    expect(node.chain.pool.size).toBe(0)
  })
})

describe('eth_sendTransaction', () => {
  it('refuses a price of zero, which no block would include, unless the base fee is zero', async () => {
    const request = { from: ALICE, to: BOB, value: '0x1' }
    const zeros = [
      [{ gasPrice: '0x0' }, 'gasPrice must be non-zero after london fork'],
      [{ maxFeePerGas: '0x0' }, 'maxFeePerGas must be non-zero'],
      [{ maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x0' }, 'maxFeePerGas must be non-zero'],
    ] as const
    for (const compat of ['default', 'geth'] as const) {
      const { ask, chain } = await testNode({ compat })
      for (const [prices, message] of zeros) {
        for (const name of ['eth_sendTransaction', 'eth_fillTransaction'])
          await expect(ask(name, { ...request, ...prices })).rejects.toMatchObject({ code: -32_000, message })
      }
      expect(chain.pool.size).toBe(0)
      await ask('anvil_setNextBlockBaseFeePerGas', '0x0')
      for (const [prices] of zeros) {
        const hash = await ask('eth_sendTransaction', { ...request, ...prices })
        await ask('anvil_setNextBlockBaseFeePerGas', '0x0')
        await ask('evm_mine')
        expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
        await ask('anvil_setNextBlockBaseFeePerGas', '0x0')
      }
    }
    const anvil = await testNode({ compat: 'anvil' })
    await expect(anvil.ask('eth_sendTransaction', { ...request, gasPrice: '0x0' })).rejects.toMatchObject({
      code: -32_003,
      message: expect.stringContaining('less than block base fee'),
    })
  })

  it('lowers the gas limit of a whole block to the maximum of one transaction, and rejects more than a block has', async () => {
    const { ask, chain } = await testNode()
    const sent = async (gas: bigint) =>
      chain.pool.get((await ask('eth_sendTransaction', { from: ALICE, to: BOB, gas: Hex.fromQuantity(gas) })) as Hash)
    expect((await sent(chain.gasLimit))?.gas).toBe(16_777_216n) // EIP-7825
    await chain.setGasLimit(5_000_000n)
    expect((await sent(5_000_000n))?.gas).toBe(4_000_000n) // a block begins with a deposit of up to 1,000,000
    await expect(sent(5_000_001n)).rejects.toThrow('exceeds block gas limit')
  })

  it('fills in nonce, gas, fees and type, and signs', async () => {
    const { ask, chain } = await testNode()
    const hash = (await ask('eth_sendTransaction', { from: ALICE, to: BOB, value: '0x1' })) as Hash
    const tx = chain.pool.get(hash)
    const baseFee = BigInt((await ask('eth_baseFee')) as string)
    expect(tx).toMatchObject({
      type: 2,
      from: ALICE,
      nonce: 0n,
      gas: 21_000n,
      maxPriorityFeePerGas: 1_000_000n,
      maxFeePerGas: 2n * baseFee + 1_000_000n,
    })
    expect(Transaction.decode(tx?.raw ?? new Uint8Array()).from).toBe(ALICE)
  })

  it('assigns consecutive nonces to concurrent sends, and none to a failed one', async () => {
    const { ask, chain } = await testNode()
    const send = (value: bigint) => ask('eth_sendTransaction', { from: ALICE, to: BOB, value: Hex.fromQuantity(value) })
    const sent = await Promise.allSettled(Array.from({ length: 21 }, (_, i) => send(i === 10 ? 10n ** 30n : 1n)))
    expect(sent.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))).toEqual([10])
    const [block] = await chain.mine(1)
    const nonces = block?.transactions.filter(({ from }) => from === ALICE).map(({ nonce }) => Number(nonce))
    expect(nonces).toEqual(Array.from({ length: 20 }, (_, i) => i))
  })

  it('mines each of concurrent sends under the instant cadence', async () => {
    const { ask, chain } = await testNode({ cadence: { kind: 'instant' } })
    const hashes = await Promise.all(
      [1, 2, 3].map((value) => ask('eth_sendTransaction', { from: ALICE, to: BOB, value: Hex.fromQuantity(value) })),
    )
    for (const hash of hashes) expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    expect(chain.head.view.head.header.number).toBe(3)
  })

  it('derives the type from the fields', async () => {
    const { ask, chain } = await testNode()
    const sent = async (more: object) => chain.pool.get((await ask('eth_sendTransaction', { from: ALICE, to: BOB, ...more })) as Hash)
    expect(await sent({ gasPrice: '0x77359400' })).toMatchObject({ type: 0, maxFeePerGas: 2_000_000_000n })
    expect(await sent({ type: '0x0' })).toMatchObject({ type: 0 })
    expect(await sent({ gasPrice: '0x77359400', accessList: [{ address: BOB, storageKeys: [] }] })).toMatchObject({ type: 1 })
    const authorizationList = [{ chainId: '0x7a69', address: CONTRACT, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }]
    expect(await sent({ authorizationList })).toMatchObject({ type: 4 })
    expect(await sent({ maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1' })).toMatchObject({ type: 2, maxPriorityFeePerGas: 1n })
  })

  it('sends from an impersonated account, including a contract, until impersonation stops', async () => {
    const { ask, chain } = await testNode()
    const from = CONTRACT
    const transfer = { from, to: BOB, value: '0x1' }
    await expect(ask('eth_sendTransaction', transfer)).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('unknown account'),
    })
    await chain.edit((world) => world.setBalance(from, 10n ** 18n))
    const hash = (await ask('eth_sendUnsignedTransaction', transfer)) as Hash
    await chain.mine(1)
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ from, status: '0x1' })
  })

  it('is rejected with the reason', async () => {
    const { ask } = await testNode()
    const refused = { code: -32_602 }
    await expect(ask('eth_sendTransaction', { to: BOB })).rejects.toMatchObject(refused)
    await expect(ask('eth_sendTransaction', { from: ALICE })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining('contract creation without any data'),
    })
    await expect(ask('eth_sendTransaction', { from: ALICE, to: BOB, chainId: '0x1' })).rejects.toMatchObject(refused)
    await expect(ask('eth_sendTransaction', { from: ALICE, to: BOB, blobVersionedHashes: [Hash.zero] })).rejects.toMatchObject(refused)
    await expect(ask('eth_sendTransaction', { from: ALICE, to: BOB, value: Hex.fromQuantity(10n ** 24n) })).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('insufficient funds'),
    })
  })

  it.each([
    ['0x5', 'transaction type 5 cannot be sent'],
    ['0x05', 'transaction type 5 cannot be sent'],
    ['0x3', 'blob transactions (EIP-4844) are not signed here'],
    ['0x4', 'transaction type 4 (EIP-7702) needs an authorizationList with at least one entry'],
    ['0X2', 'hex string without 0x prefix'],
    [5, 'transaction type 5 cannot be sent'],
    [true, 'expected'],
  ])('rejects type %s and takes nothing into the pool', async (type, words) => {
    const { ask, chain } = await testNode()
    const request = { from: ALICE, to: BOB, type }
    for (const method of ['eth_sendTransaction', 'eth_sendUnsignedTransaction', 'eth_signTransaction', 'eth_fillTransaction']) {
      await expect(ask(method, request)).rejects.toMatchObject({ code: -32_602, message: expect.stringContaining(words) })
    }
    await expect(ask('eth_sendTransaction', { ...request, authorizationList: [] })).rejects.toMatchObject({ code: -32_602 })
    expect(chain.pool.size).toBe(0)
  })

  it.each([
    [{ blobVersionedHashes: [`0x01${'00'.repeat(31)}`] }],
    [{ maxFeePerBlobGas: '0x1' }],
    [{ blobs: ['0x00'] }],
    [{ sidecars: [{ blob: '0x00', commitment: '0x00', proof: '0x00' }] }],
    [{ commitments: ['0x00'], proofs: ['0x00'] }],
  ])('rejects %j with what to do, and takes nothing into the pool', async (fields) => {
    const { ask, chain } = await testNode()
    for (const method of ['eth_sendTransaction', 'eth_sendUnsignedTransaction', 'eth_signTransaction', 'eth_fillTransaction']) {
      await expect(ask(method, { from: ALICE, to: BOB, ...fields })).rejects.toMatchObject({
        code: -32_602,
        message: expect.stringMatching(/blob transactions \(EIP-4844\) are not signed here: .* eth_sendRawTransaction/),
      })
    }
    expect(chain.pool.size).toBe(0)
  })

  it('with a price below the base fee waits in the pool, and is rejected under compat anvil', async () => {
    const cheap = { from: ALICE, to: BOB, gasPrice: '0x9', gas: '0x5208' }
    for (const cadence of [MANUAL, { kind: 'instant' }] as const) {
      const [node, anvil] = [await testNode({ cadence }), await testNode({ cadence, compat: 'anvil' })]
      await node.ask('eth_sendTransaction', cheap)
      expect(await node.ask('txpool_status')).toMatchObject({ pending: '0x1' })
      const message = 'max fee per gas less than block base fee'
      await anvil.ask('anvil_setNextBlockBaseFeePerGas', 1_000_000_000)
      await expect(anvil.ask('eth_sendTransaction', cheap)).rejects.toMatchObject({ code: -32_003, message })
      expect(await anvil.ask('txpool_status')).toMatchObject({ pending: '0x0', queued: '0x0' })
    }
  })

  it('continues after a failed send', async () => {
    const { ask } = await testNode()
    const bad = ask('eth_sendTransaction', { from: ALICE, to: BOB, value: Hex.fromQuantity(10n ** 24n) })
    const good = ask('eth_sendTransaction', { from: ALICE, to: BOB })
    await expect(bad).rejects.toThrow('insufficient funds')
    expect(await good).toMatch(/^0x/)
  })
})

describe('oversized transactions', () => {
  it('are rejected with the text of the pool before they are decoded', async () => {
    const { ask } = await testNode()
    const garbage = `0x04${'00'.repeat(TRANSACTION_BYTES)}`
    await expect(ask('eth_sendRawTransaction', garbage)).rejects.toMatchObject({
      code: -32_000,
      message: `oversized data: transaction size ${TRANSACTION_BYTES + 1}, limit ${TRANSACTION_BYTES}`,
    })
  })
})

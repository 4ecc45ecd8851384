import { describe, expect, it } from 'vitest'
import { Address, Hex, PersonalMessage, Secp256k1, Transaction, TypedData } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { Json } from '../json.ts'
import { ALICE, testNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')

function signerOf(digest: Hash, signature: string): string | null {
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), Number(`0x${signature.slice(130)}`)]
  return Secp256k1.recover(digest, BigInt(`0x${r}`), BigInt(`0x${s}`), v - 27)
}

describe('filling and signing', () => {
  it('fills a transaction without sending it, and signs one without sending it', async () => {
    const { ask, chain } = await testNode()
    const { raw, tx } = (await ask('eth_fillTransaction', { from: ALICE, to: BOB })) as { raw: string; tx: Json }
    expect(tx).toMatchObject({ nonce: '0x0', gas: '0x5208', type: '0x2', chainId: '0x7a69', from: ALICE })
    expect(raw).toMatch(/^0x02/)
    const bytes = Hex.toBytes((await ask('eth_signTransaction', { from: ALICE, to: BOB, nonce: '0x7' })) as string)
    expect(Transaction.decode(bytes)).toMatchObject({ from: ALICE, to: BOB, nonce: 7n })
    expect(chain.pool.size).toBe(0)
  })

  it('signs messages and typed data', async () => {
    const { ask } = await testNode()
    const digest = PersonalMessage.hash(Hex.toBytes('0xdeadbeef'))
    expect(signerOf(digest, (await ask('eth_sign', ALICE, '0xdeadbeef')) as string)).toBe(ALICE)
    expect(signerOf(digest, (await ask('personal_sign', '0xdeadbeef', ALICE)) as string)).toBe(ALICE)
    const data = {
      types: { Mail: [{ name: 'text', type: 'string' }] },
      primaryType: 'Mail',
      domain: { name: 'x' },
      message: { text: 'hi' },
    }
    const hash = TypedData.hash(TypedData.parse(data))
    expect(signerOf(hash, (await ask('eth_signTypedData_v4', ALICE, data)) as string)).toBe(ALICE)
    expect(signerOf(hash, (await ask('eth_signTypedData_v4', ALICE, JSON.stringify(data))) as string)).toBe(ALICE)
    await expect(ask('eth_sign', BOB, '0x')).rejects.toMatchObject({ code: -32_000, message: expect.stringContaining('unknown account') })
    await expect(ask('eth_signTypedData_v4', ALICE, { types: 5 })).rejects.toMatchObject({ code: -32_602 })
  })
})

import { describe, expect, test } from 'vitest'
import { decodeExtraData } from '../../src/chain/index.ts'
import { Hex, Transaction } from '../../src/eth/index.ts'
import { builderOf, headerOf, recorded } from './op-blocks.fixture.ts'

describe.skipIf(recorded.length === 0)('blocks of OP Sepolia', () => {
  test.each(recorded.map((block) => [block.number, block] as const))('%i has the recorded hash', (_, block) => {
    const { builder, witness } = builderOf(block)
    builder.begin()
    for (const raw of block.payload.transactions) builder.add(Transaction.decode(Hex.toBytes(raw)))
    const sealed = builder.seal()
    expect(sealed.block.hash).toBe(block.expected_block_hash)
    expect(sealed.block.header.stateRoot).toBe(witness.stateRoot())
  })

  test('negative control: a block without one transaction has another hash', () => {
    const block = recorded[0]!
    const { builder } = builderOf(block)
    builder.begin()
    for (const raw of block.payload.transactions.slice(0, -1)) builder.add(Transaction.decode(Hex.toBytes(raw)))
    expect(builder.seal().block.hash).not.toBe(block.expected_block_hash)
  })

  test('recorded parents match the parent hashes', () => {
    const [first, second] = recorded
    expect(headerOf(second!.parent_header).parentHash).toBe(first!.expected_block_hash)
    expect(decodeExtraData(headerOf(first!.parent_header).extraData)).toMatchObject({ denominator: 250n, elasticity: 6n })
  })
})

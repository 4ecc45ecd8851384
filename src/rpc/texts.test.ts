import { beforeAll, describe, expect, it } from 'vitest'
import type { Block } from '../eth/index.ts'
import { blockJson, receiptsJson } from './json.ts'
import { PRECONF, testNode } from './node.fixture.ts'
import { BlockTexts } from './texts.ts'

describe('block texts', () => {
  let blocks: readonly Block[]
  beforeAll(async () => {
    blocks = await (await testNode()).chain.mine(8)
  })

  it('say what the objects say, and are written once', () => {
    const texts = new BlockTexts()
    const [block] = blocks
    for (const full of [true, false]) expect(JSON.parse(texts.block(block!, full).text)).toEqual(blockJson(block!, full))
    expect(JSON.parse(texts.receipts(block!).text)).toEqual(receiptsJson(block!))
    expect(texts.block(block!, true)).toBe(texts.block(block!, true))
    expect(texts.block(block!, true)).not.toBe(texts.block(block!, false))
  })

  it('of a block under construction are never kept', async () => {
    const node = await testNode({ cadence: PRECONF })
    const texts = new BlockTexts()
    const pending = node.chain.head.view.tagged('pending')
    expect(texts.block(pending, true)).not.toBe(texts.block(pending, true))
    expect(texts.sizeBytes).toBe(0)
    await node.chain.stop()
  })

  it('make room by forgetting what was asked longest ago', () => {
    const size = new BlockTexts().block(blocks[0]!, true).text.length
    const texts = new BlockTexts(Math.floor(size * 3.5))
    const first = texts.block(blocks[0]!, true)
    const second = texts.block(blocks[1]!, true)
    texts.block(blocks[2]!, true)
    expect(texts.block(blocks[0]!, true)).toBe(first)
    texts.block(blocks[3]!, true)
    expect(texts.block(blocks[0]!, true)).toBe(first)
    expect(texts.block(blocks[1]!, true)).not.toBe(second)
    for (const block of blocks) texts.block(block, true)
    expect(texts.sizeBytes).toBeLessThanOrEqual(size * 3.5)
  })
})

import { expect, it } from 'vitest'
import { AbiTable, fragmentsOf } from './abis.ts'
import { callTree, hasUnknownNames } from './calltree.ts'
import type { CallFrame } from './calltree.ts'
import { TREE_LINES } from './limits.ts'

const TO = '0x00000000000000000000000000000000000000aa'
const SHOWN = '0x00000000000000000000000000000000000000AA'
const frame = (changes: Partial<CallFrame> = {}): CallFrame => ({
  type: 'CALL',
  from: TO,
  to: TO,
  gasUsed: '0x10',
  input: '0x',
  ...changes,
})

it('prints calls, creations, self-destructs and logs without an ABI', () => {
  const root = frame({
    value: '0x5',
    logs: [
      { topics: [], data: '0x01', position: '0x0' },
      { topics: [`0x${'11'.repeat(32)}`], data: '0x', position: '0x2' },
    ],
    calls: [
      frame({ type: 'CREATE2', output: '0x6001', value: '0x0' }),
      frame({ type: 'DELEGATECALL', input: '0x12345678ab', to: '0x4200000000000000000000000000000000000006', output: '0x07' }),
      frame({ type: 'SELFDESTRUCT', value: '0x3' }),
    ],
    error: 'out of gas',
  })
  expect(callTree(root, new AbiTable())).toEqual([
    `[16] ${SHOWN}::fallback{value: 5}()`,
    '  ├─ emit topics: [], data: 0x01',
    `  ├─ [16] → new ${SHOWN}`,
    '  │   └─ ← [Return] 2 bytes of code',
    '  ├─ [16] WETH9::0x12345678(ab) [delegatecall]',
    '  │   └─ ← [Return] 0x07',
    `  ├─ emit topics: [0x${'11'.repeat(32)}], data: 0x`,
    `  ├─ [16] selfdestruct to ${SHOWN}{value: 3}`,
    '  │   └─ ← [Stop]',
    '  └─ ← [Halt] out of gas',
  ])
})

it('prints at most TREE_LINES calls and mentions the rest', () => {
  const lines = callTree(frame({ calls: Array.from({ length: 1_000 }, () => frame()) }), new AbiTable())
  expect(lines.length).toBeLessThan(TREE_LINES + 5)
  expect(lines.at(-1)).toContain('debug_traceTransaction')
})

it('detects names that no ABI has', () => {
  const abis = new AbiTable()
  const called = frame({ calls: [frame({ input: '0x3ccfd60b' })] })
  expect(hasUnknownNames(frame(), abis)).toBe(false)
  expect(hasUnknownNames(called, abis)).toBe(true)
  for (const fragment of fragmentsOf([{ type: 'function', name: 'withdraw', inputs: [], outputs: [] }]) ?? []) abis.add(fragment)
  expect(hasUnknownNames(called, abis)).toBe(false)
  expect(callTree(called, abis)[1]).toBe(`  ├─ [16] ${SHOWN}::withdraw()`)
})

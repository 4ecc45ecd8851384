import { describe, expect, it } from 'vitest'
import { textOf } from '../body.ts'
import { Address } from '../../eth/index.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, MANUAL, PRECONF, PUBLIC, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const NEW = Address.from('0x00000000000000000000000000000000c0ffee00')
const ONE = `0x${'0'.repeat(63)}1`
const SLOT_0 = `0x${'0'.repeat(64)}`

const FOREVER = '0x5b600056'
const READS_SLOT_0 = '0x60005460005260206000f3'
const ADDS_TO_SLOT_0 = '0x600160005401600055'
/** Calls the address in its call data with that data. */
const CALLS = '0x36600060003760006000366000600060003560601c5af100'

const CALL_TRACER = { tracer: 'callTracer' }

/** A sealed transfer to BOB. */
async function withTransfer(): Promise<TestNode & { readonly hash: string }> {
  const node = await testNode({ cadence: MANUAL })
  const hash = await node.send({ to: BOB, value: 7n })
  await node.ask('evm_mine')
  return { ...node, hash }
}

describe('debug_traceTransaction', () => {
  it('logs no opcode of a transfer', async () => {
    const { ask, hash } = await withTransfer()
    expect(await ask('debug_traceTransaction', hash)).toEqual({ gas: 21_000, failed: false, returnValue: '0x', structLogs: [] })
  })

  it('logs the opcodes of a creation, from the first to its RETURN', async () => {
    const node = await testNode({ cadence: MANUAL })
    const hash = await node.send({ data: LOGGER_INIT_CODE })
    await node.ask('evm_mine')
    const { failed, structLogs } = (await node.ask('debug_traceTransaction', hash)) as { failed: boolean; structLogs: Step[] }
    expect(failed).toBe(false)
    expect(structLogs[0]).toMatchObject({ pc: 0, depth: 1, stack: [] })
    expect(structLogs.at(-1)).toMatchObject({ op: 'RETURN', depth: 1 })
    for (const [i, step] of structLogs.entries()) {
      const next = structLogs[i + 1]
      if (next !== undefined) expect(step.gas - step.gasCost).toBe(next.gas)
    }
  })

  it('executes the transactions before a pre-confirmed one', async () => {
    const node = await testNode({ cadence: PRECONF })
    await node.send({ data: LOGGER_INIT_CODE })
    const hash = await node.send({ to: LOGGER, data: new Uint8Array(32) })
    await node.ask('pocketchain_tick', 400)
    const { gasUsed } = (await node.ask('eth_getTransactionReceipt', hash)) as { gasUsed: string }
    const trace = await node.ask('debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } })
    expect(trace).toMatchObject({
      from: ALICE,
      to: LOGGER,
      type: 'CALL',
      gasUsed,
      logs: [{ address: LOGGER, index: '0x0', position: '0x0' }],
    })
  })

  it('shows the state after earlier transactions with prestateTracer', async () => {
    const node = await testNode({ cadence: MANUAL })
    const first = await node.send({ to: BOB, value: 7n })
    const second = await node.send({ to: BOB, value: 5n })
    await node.ask('evm_mine')
    const traced = (hash: string) =>
      node.ask('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } })
    const before = BigInt((await node.ask('eth_getBalance', BOB, 'earliest')) as string)
    const hex = (value: bigint) => `0x${value.toString(16)}`
    expect(await traced(first)).toMatchObject({ post: { [BOB]: { balance: hex(before + 7n) }, [ALICE]: { nonce: 1 } } })
    expect(await traced(second)).toMatchObject({
      pre: { [BOB]: { balance: hex(before + 7n) }, [ALICE]: { nonce: 1 } },
      post: { [BOB]: { balance: hex(before + 12n) }, [ALICE]: { nonce: 2 } },
    })
  })

  it('rejects an unknown transaction', async () => {
    const { ask, send } = await testNode({ cadence: MANUAL })
    const error = { code: -32_000, message: 'transaction not found' }
    await expect(ask('debug_traceTransaction', ONE)).rejects.toMatchObject(error)
    await expect(ask('debug_traceTransaction', await send({ to: BOB }))).rejects.toMatchObject(error)
  })

  it('returns 4444 if the state before it is pruned', async () => {
    const { ask, chain, send } = await testNode({ cadence: MANUAL, historyBlocks: 4 })
    const hash = await send({ to: BOB })
    await chain.mine(10)
    await expect(ask('debug_traceTransaction', hash)).rejects.toMatchObject({ code: 4444 })
    await expect(ask('debug_traceBlockByNumber', '0x1')).rejects.toMatchObject({ code: 4444 })
    await expect(ask('debug_traceCall', { to: BOB }, '0x1')).rejects.toMatchObject({ code: 4444 })
    expect(await ask('debug_traceBlockByNumber', '0x9', CALL_TRACER)).toHaveLength(1)
  })

  it('does not exist on the public tier', async () => {
    const { rpc, hash } = await withTransfer()
    const { body } = await rpc.handle(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceTransaction', params: [hash] }), PUBLIC)
    expect(JSON.parse(textOf(body!))).toMatchObject({ error: { code: -32_601 } })
  })
})

interface Step {
  readonly gas: number
  readonly gasCost: number
}

describe('debug_traceCallMany', () => {
  const [zero, options] = [SLOT_0, { tracer: 'callTracer' }]
  const COUNTER = '0x6000546001018060005560005260206000f3'

  it('traces each call on the state that those before it leave, by bundle, and changes nothing', async () => {
    const { ask } = await testNode({ cadence: MANUAL })
    await ask('anvil_setCode', NEW, COUNTER)
    const call = { from: ALICE, to: NEW }
    const outputs = async (...params: readonly unknown[]) =>
      ((await ask('debug_traceCallMany', ...params)) as readonly (readonly { readonly output: string }[])[]).map((each) =>
        each.map(({ output }) => BigInt(output)),
      )
    const given = [{ transactions: [call, call] }, { transactions: [call] }]
    expect(await outputs(given, { blockNumber: 'latest' }, options)).toEqual([[1n, 2n], [3n]])
    const stateOverrides = { [NEW]: { stateDiff: { [zero]: `0x${'0'.repeat(62)}28` } } }
    expect(await outputs(given, null, { ...options, stateOverrides })).toEqual([[41n, 42n], [43n]])
    expect(await ask('eth_getStorageAt', NEW, '0x0', 'latest')).toBe(SLOT_0)
    // The same values as without a tracer.
    const values = (await ask('eth_callMany', given)) as readonly (readonly { readonly value: string }[])[]
    expect(values.map((each) => each.map(({ value }) => BigInt(value)))).toEqual(await outputs(given, undefined, options))
    const [[alone]] = (await ask('debug_traceCallMany', [{ transactions: [call] }], undefined, options)) as [[unknown]]
    expect(alone).toEqual(await ask('debug_traceCall', call, 'latest', options))
    const [[steps]] = (await ask('debug_traceCallMany', [{ transactions: [call] }])) as [[{ readonly structLogs: readonly unknown[] }]]
    expect(steps.structLogs).toHaveLength(12)
  })

  it('runs before a transaction of a block, and with the block overrides of a bundle', async () => {
    const { ask, send } = await testNode({ cadence: MANUAL })
    await ask('anvil_setCode', NEW, COUNTER)
    await send({ to: NEW })
    await send({ to: NEW })
    await ask('evm_mine')
    const output = async (transactions: readonly object[], place: object, more: object = {}) => {
      const [[trace]] = (await ask('debug_traceCallMany', [{ transactions, ...more }], place, options)) as [[{ readonly output: string }]]
      return BigInt(trace.output)
    }
    const call = { from: ALICE, to: NEW }
    // The first transaction of the block is the deposit.
    expect(await output([call], { blockNumber: 'latest', transactionIndex: 2 })).toBe(2n)
    for (const transactionIndex of [-1, 99]) expect(await output([call], { blockNumber: 'latest', transactionIndex })).toBe(3n)
    await ask('anvil_setCode', NEW, '0x4360005260206000f3')
    expect(await output([call], { blockNumber: 'latest' }, { blockOverride: { number: '0x1234' } })).toBe(0x1234n)
  })

  it('refuses an unknown block and tracer, another chain, and a call that no block could include', async () => {
    const { ask } = await testNode({ cadence: MANUAL })
    const given = [{ transactions: [{ from: ALICE, to: BOB }] }]
    await expect(ask('debug_traceCallMany', given, { blockNumber: '0x99' })).rejects.toMatchObject({
      code: -32_000,
      message: 'block #153 not found',
    })
    await expect(ask('debug_traceCallMany', given, null, { tracer: 'x' })).rejects.toMatchObject({ code: -32_602 })
    await expect(ask('debug_traceCallMany', [{}])).rejects.toMatchObject({ code: -32_602 })
    await expect(ask('debug_traceCallMany', [{ transactions: [{ to: BOB, chainId: '0x1' }] }])).rejects.toMatchObject({ code: -32_602 })
    const poor = { from: NEW, to: BOB, value: '0x1' }
    await expect(ask('debug_traceCallMany', [{ transactions: [poor] }])).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringContaining('insufficient funds'),
    })
    expect(await ask('debug_traceCallMany', [], null, options)).toEqual([])
  })
})

describe('debug_traceBlockByNumber and debug_traceBlockByHash', () => {
  it('trace all transactions of a block in their order, the deposit first', async () => {
    const { ask, hash } = await withTransfer()
    const block = (await ask('eth_getBlockByNumber', 'latest', false)) as { hash: string; transactions: string[] }
    const traces = (await ask('debug_traceBlockByNumber', 'latest', CALL_TRACER)) as { txHash: string; result: { gasUsed: string } }[]
    expect(traces.map(({ txHash }) => txHash)).toEqual(block.transactions)
    expect(traces.at(-1)).toMatchObject({ txHash: hash, result: { from: ALICE, to: BOB, value: '0x7', gasUsed: '0x5208' } })
    expect(await ask('debug_traceBlockByHash', block.hash, CALL_TRACER)).toEqual(traces)
  })

  it('include position and block in flat traces', async () => {
    const { ask, hash } = await withTransfer()
    const { hash: blockHash, transactions } = (await ask('eth_getBlockByNumber', 'latest', false)) as {
      hash: string
      transactions: string[]
    }
    const traces = (await ask('debug_traceBlockByNumber', 'latest', { tracer: 'flatCallTracer' })) as { result: unknown[] }[]
    const place = { blockHash, blockNumber: 1, transactionHash: hash, transactionPosition: transactions.length - 1 }
    expect(traces.at(-1)?.result).toEqual([expect.objectContaining({ ...place, traceAddress: [], subtraces: 0, type: 'call' })])
  })

  it('have no traces of the genesis with compat anvil', async () => {
    const { ask } = await testNode({ compat: 'anvil' })
    expect(await ask('debug_traceBlockByNumber', '0x0', { tracer: 'callTracer' })).toEqual([])
  })

  it('reject the genesis and unknown blocks', async () => {
    const { ask } = await withTransfer()
    await expect(ask('debug_traceBlockByNumber', '0x0')).rejects.toMatchObject({ code: -32_000, message: 'genesis is not traceable' })
    await expect(ask('debug_traceBlockByNumber', '0x9')).rejects.toMatchObject({ code: -32_000, message: 'block #9 not found' })
    await expect(ask('debug_traceBlockByHash', ONE)).rejects.toMatchObject({ code: -32_000, message: `block ${ONE} not found` })
  })
})

describe('debug_traceCall', () => {
  it('runs a call under overrides and changes nothing', async () => {
    const { ask } = await testNode()
    const overrides = { stateOverrides: { [NEW]: { code: READS_SLOT_0, stateDiff: { [SLOT_0]: ONE } } } }
    expect(await ask('debug_traceCall', { to: NEW }, 'latest', { ...CALL_TRACER, ...overrides })).toMatchObject({ to: NEW, output: ONE })
    expect(await ask('debug_traceCall', { to: NEW }, 'latest', overrides)).toMatchObject({ failed: false, returnValue: ONE })
    expect(await ask('debug_traceCall', { to: NEW }, 'latest', CALL_TRACER)).not.toHaveProperty('output')
  })

  it('counts overrides as the state before', async () => {
    const { ask } = await testNode()
    const stateOverrides = { [NEW]: { code: ADDS_TO_SLOT_0, stateDiff: { [SLOT_0]: ONE } } }
    const options = { tracer: 'prestateTracer', tracerConfig: { diffMode: true, disableCode: true }, stateOverrides }
    const { pre, post } = (await ask('debug_traceCall', { to: NEW }, 'latest', options)) as Record<'pre' | 'post', Record<string, object>>
    expect(pre[NEW]).toMatchObject({ storage: { [SLOT_0]: ONE } })
    expect(post[NEW]).toEqual({ storage: { [SLOT_0]: ONE.replace(/1$/, '2') } })
  })

  it('shows no storage that an override replaced', async () => {
    const { ask } = await testNode()
    await ask('anvil_setStorageAt', NEW, '0x0', ONE)
    const storage = async (override: object) => {
      const stateOverrides = { [NEW]: { code: READS_SLOT_0, ...override } }
      const pre = (await ask('debug_traceCall', { to: NEW }, 'latest', { tracer: 'prestateTracer', stateOverrides })) as {
        readonly [NEW]?: { readonly storage?: Readonly<Record<string, string>> }
      }
      return BigInt(pre[NEW]?.storage?.[SLOT_0] ?? 0)
    }
    expect(await storage({})).toBe(1n)
    expect(await storage({ state: {} })).toBe(0n)
  })

  it('runs before the transaction of txIndex', async () => {
    const node = await testNode({ cadence: MANUAL })
    await node.send({ data: LOGGER_INIT_CODE })
    await node.ask('evm_mine')
    const { transactions } = (await node.ask('eth_getBlockByNumber', 'latest', false)) as { transactions: string[] }
    const call = { to: LOGGER, data: SLOT_0 }
    const opcodes = async (options: object) =>
      ((await node.ask('debug_traceCall', call, 'latest', options)) as { structLogs: Step[] }).structLogs.length
    expect(await opcodes({})).toBeGreaterThan(0)
    expect(await opcodes({ txIndex: `0x${(transactions.length - 1).toString(16)}` })).toBe(0)
    await expect(opcodes({ txIndex: '0x63' })).rejects.toMatchObject({ code: -32_000 })
  })

  it('traces reverts and halts', async () => {
    const { ask } = await testNode()
    const run = (code: string) =>
      ask('debug_traceCall', { to: NEW, gas: '0x186a0' }, 'latest', { ...CALL_TRACER, stateOverrides: { [NEW]: { code } } })
    expect(await run('0x60006000fd')).toMatchObject({ error: 'execution reverted' })
    expect(await run('0xfe')).toMatchObject({ error: 'invalid opcode: INVALID', gasUsed: '0x186a0' })
  })

  it('shows the error of an opcode that could not be paid for', async () => {
    const { ask } = await testNode()
    const stateOverrides = { [NEW]: { code: FOREVER } }
    const { structLogs } = (await ask('debug_traceCall', { to: NEW, gas: '0x5270' }, 'latest', { stateOverrides })) as {
      structLogs: unknown[]
    }
    expect(structLogs.at(-1)).toMatchObject({ error: 'out of gas' })
    expect(structLogs.filter((log) => typeof log === 'object' && log !== null && 'error' in log)).toHaveLength(1)
  })

  it('rejects an invalid call with the reason', async () => {
    const { ask } = await testNode()
    const call = { from: NEW, to: BOB, value: '0x1' }
    await expect(ask('debug_traceCall', call, 'latest')).rejects.toMatchObject({
      code: -32_000,
      message: expect.stringMatching(/^tracing failed: insufficient funds/) as unknown,
    })
  })
})

describe('tracers', () => {
  const TWO = { [NEW]: { code: CALLS }, [BOB]: { code: '0x00' } }
  const call = { to: NEW, data: `${BOB}${'0'.repeat(24)}` }
  const traced = (node: TestNode, options: object) => node.ask('debug_traceCall', call, 'latest', { stateOverrides: TWO, ...options })

  it('record inner calls, or the outermost only', async () => {
    const node = await testNode()
    expect(await traced(node, CALL_TRACER)).toMatchObject({ calls: [{ from: NEW, to: BOB, type: 'CALL' }] })
    expect(await traced(node, { ...CALL_TRACER, tracerConfig: { onlyTopCall: true } })).not.toHaveProperty('calls')
  })

  it('count selectors', async () => {
    const node = await testNode()
    expect(await traced(node, { tracer: '4byteTracer' })).toEqual({ [`${BOB.slice(0, 10)}-28`]: 2 })
  })

  it('record nothing', async () => {
    expect(await traced(await testNode(), { tracer: 'noopTracer' })).toEqual({})
  })

  it('run together', async () => {
    const node = await testNode()
    const tracerConfig = { '4byteTracer': null, callTracer: { onlyTopCall: true }, muxTracer: { noopTracer: {} } }
    expect(await traced(node, { tracer: 'muxTracer', tracerConfig })).toEqual({
      '4byteTracer': await traced(node, { tracer: '4byteTracer' }),
      callTracer: await traced(node, { ...CALL_TRACER, tracerConfig: { onlyTopCall: true } }),
      muxTracer: { noopTracer: {} },
    })
  })

  it('that do not exist are rejected by name, and so is JavaScript', async () => {
    const node = await testNode()
    const refusal = { code: -32_602, message: expect.stringMatching(/callTracer, .*JavaScript are not run/) as unknown }
    await expect(traced(node, { tracer: 'bigramTracer' })).rejects.toMatchObject(refusal)
    await expect(traced(node, { tracer: '{data: [], step: function() {}}' })).rejects.toMatchObject(refusal)
    const both = { tracer: 'prestateTracer', tracerConfig: { diffMode: true, includeEmpty: true } }
    await expect(traced(node, both)).rejects.toMatchObject({ code: -32_602 })
  })

  it('are limited in their nesting', async () => {
    const node = await testNode()
    const nested = (depth: number): object => (depth === 0 ? { noopTracer: {} } : { muxTracer: nested(depth - 1) })
    expect(await traced(node, { tracer: 'muxTracer', tracerConfig: nested(3) })).toEqual({
      muxTracer: { muxTracer: { muxTracer: { noopTracer: {} } } },
    })
    const refusal = { code: -32_602, message: expect.stringMatching(/muxTracer is nested more than 4 times/) as unknown }
    await expect(traced(node, { tracer: 'muxTracer', tracerConfig: nested(4) })).rejects.toMatchObject(refusal)
    await expect(traced(node, { tracer: 'muxTracer', tracerConfig: nested(2_000) })).rejects.toMatchObject(refusal)
    expect(node.bugs).toEqual([])
  })

  it('apply the options of the struct logger', async () => {
    const node = await testNode()
    const logs = async (options: object) => ((await traced(node, options)) as { structLogs: Record<string, unknown>[] }).structLogs
    const all = await logs({})
    expect(all[0]).toHaveProperty('stack')
    expect((await logs({ disableStack: true }))[0]).not.toHaveProperty('stack')
    expect((await logs({ limit: 100 })).length).toBe(2)
    const stateOverrides = { [NEW]: { code: READS_SLOT_0 } }
    const plain = await logs({ stateOverrides })
    expect(plain.some((log) => 'memory' in log)).toBe(false)
    expect(plain.find(({ op }) => op === 'SLOAD')).toMatchObject({ storage: { [SLOT_0]: SLOT_0 } })
    expect((await logs({ stateOverrides, enableMemory: true })).at(-1)).toMatchObject({ op: 'RETURN', memory: [SLOT_0] })
    expect((await logs({ stateOverrides, disableStorage: true })).some((log) => 'storage' in log)).toBe(false)
  })

  it('stop after the given timeout', async () => {
    const node = await testNode()
    const stateOverrides = { [NEW]: { code: FOREVER } }
    const run = (timeout: unknown) => traced(node, { tracer: 'noopTracer', stateOverrides, timeout })
    await expect(run('1ms')).rejects.toMatchObject({ code: -32_000, message: 'execution aborted (timeout = 0.001s)' })
    for (const timeout of ['soon', 5, '1h']) await expect(run(timeout)).rejects.toMatchObject({ code: -32_602 })
  })

  it('reject traces that are too large', async () => {
    const node = await testNode()
    const run = () => traced(node, { stateOverrides: { [NEW]: { code: FOREVER } }, timeout: '60s' })
    await expect(run()).rejects.toMatchObject({ code: -32_003, message: expect.stringMatching(/larger than 134217728 bytes/) as unknown })
  })
})

import { verifyMessage } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { Authorization, Hash, Hex } from '../../eth/index.ts'
import type { Address, Transaction } from '../../eth/index.ts'
import { BASE_FEE_VAULT, L1_FEE_VAULT } from '../../evm/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import { ABSENT_METHODS } from '../absent.ts'
import { textOf } from '../body.ts'
import { ALICE, DEDICATED, LOGGER_INIT_CODE, MANUAL, PRECONF, PUBLIC, testNode } from '../node.fixture.ts'
import { METHODS } from '../table.ts'

const BOB = '0x00000000000000000000000000000000000000b0' as Address // 20 bytes
const INSTANT = { kind: 'instant' } as const
/** The second account of the usual mnemonic, which the test node does not have. */
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const OWNER = privateKeyToAccount(KEY)

async function refusal(promise: Promise<unknown>): Promise<RpcError> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'rejected' && outcome.reason instanceof RpcError) return outcome.reason
  throw new Error(`it was not refused: ${JSON.stringify(outcome)}`)
}

describe('methods that are left out', () => {
  it.each([...ABSENT_METHODS])('%s is -32601 with its reason', async (name, why) => {
    const { rpc } = await testNode()
    const error = await refusal(rpc.request({ method: name, params: [] }))
    expect(error).toMatchObject({ code: -32601, message: `the method ${name} does not exist/is not available: ${why}` })
    expect(METHODS.has(name)).toBe(false)
  })

  it.each([
    ...['admin_nodeInfo', 'debug_setHead', 'debug_memStats', 'debug_gcStats', 'debug_intermediateRoots', 'debug_accountRange'],
    ...['optimism_outputAtBlock', 'optimism_rollupConfig', 'optimism_syncStatus', 'optimism_version'],
  ])('%s, which clients of geth and of the OP Stack call, has a reason', async (name) => {
    const { ask } = await testNode()
    expect(await refusal(ask(name))).toMatchObject({ code: -32601, message: expect.stringContaining('does not exist/is not available: ') })
  })

  it('have no reason on the public tier', async () => {
    const { rpc } = await testNode()
    const [name] = [...ABSENT_METHODS.keys()]
    expect((await refusal(rpc.request({ method: name ?? '', params: [] }, PUBLIC))).message).toMatch(/available$|public/)
    expect(await rpc.request({ method: 'eth_accounts' }, DEDICATED)).toEqual([ALICE])
  })
})

describe('names of other nodes', () => {
  it('answer as those of this one', async () => {
    const { ask } = await testNode()
    expect(await ask('eth_requestAccounts')).toEqual(await ask('eth_accounts'))
    expect(await ask('personal_listAccounts')).toEqual(await ask('eth_accounts'))
    expect(await ask('eth_networkId')).toBe(await ask('net_version'))
    expect(await ask('eth_getCompilers')).toEqual([])
    expect(await ask('miner_setEtherbase', BOB)).toBe(true)
    await ask('evm_mine')
    expect(await ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ miner: BOB })
    expect(await ask('miner_setGasPrice', '0x5')).toBe(true)
    expect(await refusal(ask('miner_setGasPrice', Hex.fromQuantity(2n ** 128n)))).toMatchObject({ code: -32602 })
    const anvil = await testNode({ compat: 'anvil' })
    expect(await refusal(anvil.ask('miner_setGasPrice', '0x5'))).toMatchObject({ code: -32602 })
  })

  it('eth_resend keeps the authorizations of a transaction', async () => {
    const { ask } = await testNode({ cadence: MANUAL })
    const authorizationList = [{ chainId: '0x7a69', address: BOB, nonce: '0x0', yParity: '0x0', r: '0x1', s: '0x1' }]
    const request = { from: ALICE, to: BOB, nonce: '0x0', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x1', authorizationList }
    await ask('eth_sendTransaction', request)
    const resent = await ask('eth_resend', request, '0xee6b2800')
    expect(await ask('eth_getTransactionByHash', resent)).toMatchObject({ type: '0x4', maxFeePerGas: '0xee6b2800', authorizationList })
  })

  it('eth_pendingTransactions has what waits, and eth_getTransactionBySenderAndNonce any transaction', async () => {
    const { ask, send } = await testNode({ cadence: MANUAL })
    const [first, later] = [await send({ to: BOB, gas: 21_000n }), await send({ to: BOB, gas: 21_000n, nonce: 5n })]
    const pending = (await ask('eth_pendingTransactions')) as readonly { readonly hash: string }[]
    expect(pending.map(({ hash }) => hash)).toEqual([first, later])
    expect(await ask('eth_getTransactionBySenderAndNonce', ALICE, '0x5')).toMatchObject({ hash: later, blockNumber: null })
    await ask('evm_mine')
    expect(await ask('eth_getTransactionBySenderAndNonce', ALICE, '0x0')).toMatchObject({ hash: first, blockNumber: '0x1' })
    expect(await ask('eth_getTransactionBySenderAndNonce', ALICE, '0x1')).toBeNull()
    expect(await ask('debug_clearTxpool')).toBeNull()
    expect(await ask('eth_pendingTransactions')).toEqual([])
  })

  it('personal_ methods create and import keys, send and sign, and recover signers', async () => {
    const { ask } = await testNode({ cadence: INSTANT })
    const created = (await ask('personal_newAccount', 'secret')) as Address
    for (const key of [KEY, KEY.slice(2)]) expect(await ask('personal_importRawKey', key, 'secret')).toBe(OWNER.address.toLowerCase())
    expect(await ask('eth_accounts')).toEqual([ALICE, created, OWNER.address.toLowerCase()])
    expect(await ask('personal_unlockAccount', created, 'anything', 300)).toBe(true)
    expect(await refusal(ask('personal_unlockAccount', BOB, 'anything'))).toMatchObject({ code: -32000 })
    expect(await ask('personal_lockAccount', created)).toBe(false)
    const hash = await ask('personal_sendTransaction', { from: ALICE, to: created, value: '0xde0b6b3a7640000' }, 'secret')
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    const raw = await ask('personal_signTransaction', { from: created, to: BOB, value: '0x1' }, 'secret')
    const sent = await ask('eth_sendRawTransaction', raw)
    expect(await ask('eth_getTransactionReceipt', sent)).toMatchObject({ status: '0x1', from: created })
    await ask('anvil_impersonateAccount', BOB)
    for (const name of ['personal_signTransaction', 'eth_signTransaction'])
      expect(await refusal(ask(name, { from: BOB, to: ALICE }))).toMatchObject({
        code: -32000,
        message: expect.stringMatching(/^unknown account .* no private key/),
      })
    const signature = (await ask('eth_sign', created, '0xdeadbeef')) as Hex
    expect(await verifyMessage({ address: created, message: { raw: '0xdeadbeef' }, signature })).toBe(true)
    expect(await ask('personal_ecRecover', '0xdeadbeef', signature)).toBe(created)
    for (const wrong of ['0x', `0x${'00'.repeat(65)}`, `${signature.slice(0, -2)}55`])
      expect(await refusal(ask('personal_ecRecover', '0xdeadbeef', wrong))).toMatchObject({ code: -32602 })
    for (const wrong of ['0x', `0x${'00'.repeat(32)}`, `0x${'ff'.repeat(32)}`, '0x1234'])
      expect(await refusal(ask('personal_importRawKey', wrong))).toMatchObject({ code: -32602 })
  })

  it('evm_addAccount and evm_removeAccount begin and end an impersonation', async () => {
    const { ask } = await testNode({ cadence: INSTANT })
    const send = () => ask('eth_sendTransaction', { from: BOB, to: ALICE, value: '0x0', gas: '0x5208', gasPrice: '0x0' })
    await ask('anvil_setBalance', BOB, '0xde0b6b3a7640000')
    expect(await refusal(ask('eth_sendTransaction', { from: BOB, to: ALICE }))).toMatchObject({ code: -32000 })
    expect(await ask('evm_addAccount', BOB, 'secret')).toBe(true)
    expect(await ask('evm_addAccount', BOB, 'secret')).toBe(false)
    expect(await ask('evm_addAccount', ALICE, 'secret')).toBe(false)
    expect(await ask('eth_sendTransaction', { from: BOB, to: ALICE, value: '0x1' })).toMatch(/^0x/)
    expect(await ask('evm_removeAccount', BOB, 'secret')).toBe(true)
    expect(await ask('evm_removeAccount', BOB, 'secret')).toBe(false)
    expect(await refusal(send())).toMatchObject({ code: -32000 })
  })

  it('evm_setIntervalMining takes a range of milliseconds', async () => {
    const { ask, chain } = await testNode()
    await ask('evm_setIntervalMining', [3_000, 5_000])
    expect(chain.cadence).toMatchObject({ kind: 'preconf', blockTimeMs: 3_000 })
    for (const wrong of [[3_000], [5_000, 3_000], [1_000, 3_000], [0, 3_000], ['a', 'b'], [1_000, 1_500, 2_000]])
      expect(await refusal(ask('evm_setIntervalMining', wrong))).toMatchObject({ code: -32602 })
    expect(chain.cadence).toMatchObject({ blockTimeMs: 3_000 })
  })
})

describe('sending', () => {
  it('eth_sendTransactionSync returns the receipt, and code 4 with the hash without one in time', async () => {
    const { ask, clock } = await testNode({ cadence: PRECONF })
    const sent = ask('eth_sendTransactionSync', { from: ALICE, to: BOB, value: '0x1' })
    await clock.advance(200)
    expect(await sent).toMatchObject({ status: '0x1', from: ALICE, to: BOB })
    const late = await refusal(ask('eth_sendTransactionSync', { from: ALICE, to: BOB, value: '0x1' }, 10))
    expect(late).toMatchObject({ code: 4, data: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect(await refusal(ask('eth_sendTransactionSync', { from: BOB, to: BOB }))).toMatchObject({ code: -32000 })
  })

  it('eth_sendTransactionSync gives concurrent transactions of one account consecutive nonces', async () => {
    const { ask } = await testNode({ cadence: INSTANT })
    const send = () => ask('eth_sendTransactionSync', { from: ALICE, to: BOB, value: '0x1' })
    const receipts = await Promise.all([send(), send(), send()])
    expect(receipts).toMatchObject([{ status: '0x1' }, { status: '0x1' }, { status: '0x1' }])
    expect(await ask('eth_getTransactionCount', ALICE, 'latest')).toBe('0x3')
  })

  it('eth_resend replaces a pooled transaction', async () => {
    const { ask } = await testNode({ cadence: MANUAL })
    const request = { from: ALICE, to: BOB, value: '0x1', nonce: '0x0' }
    const first = await ask('eth_sendTransaction', request)
    const { maxFeePerGas } = (await ask('eth_getTransactionByHash', first)) as { readonly maxFeePerGas: Hex }
    const raised = Hex.fromQuantity(BigInt(maxFeePerGas) * 2n)
    const second = await ask('eth_resend', request, raised, '0x7530')
    expect(await ask('eth_getTransactionByHash', first)).toBeNull()
    expect(await ask('eth_getTransactionByHash', second)).toMatchObject({ maxFeePerGas: raised, gas: '0x7530', value: '0x1', to: BOB })
    expect(await refusal(ask('eth_resend', { ...request, nonce: '0x7' }, raised))).toMatchObject({ code: -32000 })
    expect(await refusal(ask('eth_resend', { from: ALICE, to: BOB }, raised))).toMatchObject({ code: -32602 })
    expect(await refusal(ask('eth_resend', request, raised))).toMatchObject({ code: -32000 })
    expect(await ask('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
  })

  it('eth_sendRawTransactionConditional sends if all conditions hold, else nothing', async () => {
    const { ask, sign, chain } = await testNode({ cadence: MANUAL })
    await ask('anvil_setStorageAt', BOB, '0x1', Hash.fromBigint(7n))
    await ask('anvil_setCode', BOB, '0x00')
    const raw = Hex.fromBytes(sign({ to: BOB, gas: 30_000n }).raw)
    const slot = Hash.fromBigint(1n)
    const now = chain.head.view.byTag('pending').header.timestamp
    for (const [wrong, named] of [
      [{ blockNumberMin: '0x99' }, 'blockNumberMin'],
      [{ blockNumberMax: '0x0' }, 'blockNumberMax'],
      [{ timestampMin: Hex.fromQuantity(now + 100) }, 'timestampMin'],
      [{ timestampMax: Hex.fromQuantity(now - 100) }, 'timestampMax'],
      [{ knownAccounts: { [BOB]: { [slot]: Hash.fromBigint(8n) } } }, 'slot 0x1'],
    ] as const)
      expect(await refusal(ask('eth_sendRawTransactionConditional', raw, wrong))).toMatchObject({
        code: -32003,
        message: expect.stringContaining(named),
      })
    const root = await refusal(ask('eth_sendRawTransactionConditional', raw, { knownAccounts: { [BOB]: slot } }))
    expect(root).toMatchObject({ code: -32602, message: expect.stringContaining('storage root') })
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    const good = {
      blockNumberMin: '0x1',
      timestampMax: Hex.fromQuantity(now + 100),
      knownAccounts: { [BOB]: { [slot]: Hash.fromBigint(7n) } },
    }
    expect(await ask('eth_sendRawTransactionConditional', raw, good)).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await ask('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
  })
})

describe('eth_callMany', () => {
  it('refuses an answer that would be too large', async () => {
    const { ask } = await testNode()
    await ask('anvil_setCode', BOB, '0x63003d09006000f3') // returns 4,000,000 bytes
    const calls = (count: number) => ask('eth_callMany', [{ transactions: Array.from({ length: count }, () => ({ to: BOB })) }])
    expect(await refusal(calls(17))).toMatchObject({ code: -32003, message: expect.stringContaining('send fewer calls in one request') })
  })

  it('runs each call on the state that those before it leave, and reports a revert alone', async () => {
    const { ask } = await testNode()
    // Adds 1 to slot 0 and returns it; reverts with call data.
    const counter = '0x3615600957600080fd5b6000546001018060005560005260206000f3'
    await ask('anvil_setCode', BOB, counter)
    const call = { from: ALICE, to: BOB }
    const word = (value: bigint) => ({ value: Hash.fromBigint(value) })
    const reverting = { ...call, data: '0x01' }
    const result = (await ask('eth_callMany', [{ transactions: [call, reverting, call] }, { transactions: [call] }], {
      blockNumber: 'latest',
    })) as unknown[][]
    expect(result.flat().filter((each) => 'value' in (each as object))).toEqual([word(1n), word(2n), word(3n)])
    expect(result[0]?.[1]).toMatchObject({ error: expect.stringMatching(/^execution reverted/) })
    expect(await ask('eth_getStorageAt', BOB, '0x0', 'latest')).toBe(Hash.fromBigint(0n))
    const overrides = { [BOB]: { stateDiff: { [Hash.fromBigint(0n)]: Hash.fromBigint(40n) } } }
    expect(await ask('eth_callMany', [{ transactions: [call, call] }], { blockNumber: 'latest' }, overrides)).toEqual([
      [word(41n), word(42n)],
    ])
    expect(await ask('eth_callMany', [{ transactions: [call] }])).toEqual([[word(1n)]])
    expect(await refusal(ask('eth_callMany', [], { blockNumber: '0x99' }))).toMatchObject({ code: -32001 })
  })

  it('overrides the state for all calls: replaced storage stays empty, and precompiles stay moved', async () => {
    const { ask } = await testNode()
    await ask('anvil_setStorageAt', BOB, '0x0', Hash.fromBigint(5n))
    const after = { blockNumber: 'latest' }
    const values = async (calls: readonly object[], overrides: object) =>
      ((await ask('eth_callMany', [{ transactions: calls }, { transactions: calls }], after, overrides)) as { value: Hex }[][])
        .flat()
        .map(({ value }) => value)
    const readsSlot0 = '0x60005460005260206000f3'
    const read = { to: BOB }
    const zero = Hash.fromBigint(0n)
    expect(await values([read], { [BOB]: { code: readsSlot0 } })).toEqual([Hash.fromBigint(5n), Hash.fromBigint(5n)])
    expect(await values([read], { [BOB]: { code: readsSlot0, state: {} } })).toEqual([zero, zero])
    expect(await values([read], { [BOB]: { code: readsSlot0, state: { [zero]: zero } } })).toEqual([zero, zero])
    // With call data writes 7 to slot 0, otherwise returns it.
    const writesOrReads = '0x36600f5760005460005260206000f35b6007600055'
    const write = { to: BOB, data: '0x01' }
    expect(await values([read, write, read], { [BOB]: { code: writesOrReads, state: {} } })).toEqual([
      ...[zero, '0x', Hash.fromBigint(7n)],
      ...[Hash.fromBigint(7n), '0x', Hash.fromBigint(7n)],
    ])
    const identity = '0x0000000000000000000000000000000000000004'
    const elsewhere = '0x00000000000000000000000000000000c0ffee00'
    const copy = { to: elsewhere, data: '0x1234' }
    const original = { to: identity, data: '0x1234' }
    const moved = { [identity]: { movePrecompileToAddress: elsewhere } }
    expect(await values([copy, original], moved)).toEqual(['0x1234', '0x', '0x1234', '0x'])
  })
})

describe('debug methods', () => {
  it('have codes by hash, raw transactions, blocks by their RLP, and ranges of storage', async () => {
    const { ask, send } = await testNode({ cadence: INSTANT })
    const hash = await send({ data: LOGGER_INIT_CODE, to: null, gas: 200_000n })
    const { contractAddress } = (await ask('eth_getTransactionReceipt', hash)) as { readonly contractAddress: Address }
    const code = (await ask('eth_getCode', contractAddress, 'latest')) as Hex
    expect(await ask('debug_codeByHash', Hash.keccak(Hex.toBytes(code)))).toBe(code)
    expect(await ask('debug_codeByHash', Hash.keccak(Hex.toBytes(code)), null)).toBe(code)
    expect(await ask('debug_codeByHash', Hash.fromBigint(1n))).toBeNull()
    const raws = (await ask('debug_getRawTransactions', 'latest')) as readonly Hex[]
    expect(raws.at(-1)).toBe(await ask('eth_getRawTransactionByHash', hash))
    const rlp = await ask('debug_getRawBlock', 'latest')
    const options = { tracer: 'callTracer' }
    expect(await ask('debug_traceBlock', rlp, options)).toEqual(await ask('debug_traceBlockByNumber', 'latest', options))
    for (const wrong of ['0x', '0x01', '0xc0']) expect(await refusal(ask('debug_traceBlock', wrong))).toMatchObject({ code: -32602 })

    for (const slot of [1n, 2n, 3n]) await ask('anvil_setStorageAt', contractAddress, Hex.fromQuantity(slot), Hash.fromBigint(slot * 10n))
    await ask('evm_mine')
    const zero = Hash.fromBigint(0n)
    const whole = (await ask('debug_storageRangeAt', 'latest', 99, contractAddress, zero, 10)) as Range
    expect(new Set(Object.values(whole.storage).map(({ value }) => BigInt(value)))).toEqual(new Set([10n, 20n, 30n]))
    expect(Object.keys(whole.storage)).toEqual(Object.values(whole.storage).map(({ key }) => Hash.keccak(Hash.toBytes(key))))
    expect(Object.keys(whole.storage)).toEqual(Object.keys(whole.storage).toSorted())
    expect(whole.nextKey).toBeNull()
    const part = (await ask('debug_storageRangeAt', 'latest', '0x63', contractAddress, zero, 2)) as Range
    const rest = (await ask('debug_storageRangeAt', 'latest', 99, contractAddress, part.nextKey, 2)) as Range
    for (const start of ['0x', '0x00', zero.slice(0, 40)]) {
      expect(await ask('debug_storageRangeAt', 'latest', 99, contractAddress, start, 10)).toEqual(whole)
    }
    const prefix = part.nextKey?.slice(0, 10)
    expect(await ask('debug_storageRangeAt', 'latest', 99, contractAddress, prefix, 2)).toEqual(rest)
    expect({ ...part.storage, ...rest.storage }).toEqual(whole.storage)
    expect(await refusal(ask('debug_storageRangeAt', 'latest', 99, contractAddress, `${zero}00`, 2))).toMatchObject({ code: -32602 })
    expect(await refusal(ask('debug_storageRangeAt', '0x99', 0, contractAddress, zero, 2))).toMatchObject({ code: -32001 })
  })
})

describe('trace methods', () => {
  it('have state differences in the form of OpenEthereum', async () => {
    const { ask } = await testNode()
    const code = '0x600160005500'
    await ask('anvil_setCode', BOB, code)
    const fresh = '0x00000000000000000000000000000000000f5e50'
    const calls = [
      [{ from: ALICE, to: BOB, value: '0x5' }, ['stateDiff']],
      [{ from: ALICE, to: fresh, value: '0x7' }, ['stateDiff', 'trace']],
    ]
    const [first, second] = (await ask('trace_callMany', calls)) as readonly {
      stateDiff: Record<string, unknown>
      trace: unknown[]
      output: string
    }[]
    const slot = Hash.fromBigint(0n)
    expect(first?.stateDiff[BOB]).toEqual({
      balance: { '*': { from: '0x0', to: '0x5' } },
      code: '=',
      nonce: '=',
      storage: { [slot]: { '*': { from: Hash.fromBigint(0n), to: Hash.fromBigint(1n) } } },
    })
    expect(first?.trace).toEqual([])
    expect(second?.stateDiff[fresh]).toEqual({ balance: { '+': '0x7' }, code: { '+': '0x' }, nonce: { '+': '0x0' }, storage: {} })
    expect(second?.trace).toMatchObject([{ type: 'call', action: { to: fresh, value: '0x7' }, traceAddress: [] }])
    const alone = await ask('trace_call', { from: ALICE, to: fresh, value: '0x7' }, ['trace'])
    expect(alone).toMatchObject({ stateDiff: null, vmTrace: null, output: '0x' })
  })

  it('have all changes of a transaction, so also the fees that the vaults of an OP chain receive', async () => {
    const { ask, chain, send } = await testNode({ cadence: MANUAL })
    await send({ to: BOB, value: 3n })
    const hash = await send({ to: BOB, value: 3n })
    await ask('evm_mine')
    const { stateDiff } = (await ask('trace_replayTransaction', hash, ['stateDiff'])) as {
      readonly stateDiff: Readonly<Record<string, Diff>>
    }
    const { effectiveGasPrice, l1Fee } = (await ask('eth_getTransactionReceipt', hash)) as Readonly<Record<string, Hex>>
    const baseFee = chain.head.view.head.header.baseFeePerGas ?? 0n
    const received = (address: Address) => {
      const { '*': { from, to } = { from: '0x0', to: '0x0' } } = stateDiff[address]?.balance ?? {}
      return BigInt(to) - BigInt(from)
    }
    expect(received(BASE_FEE_VAULT)).toBe(21_000n * baseFee)
    expect(received(L1_FEE_VAULT)).toBe(BigInt(l1Fee ?? 0))
    expect(received(chain.head.view.head.header.coinbase)).toBe(21_000n * (BigInt(effectiveGasPrice ?? 0) - baseFee))
    // An OP chain burns nothing.
    expect(Object.keys(stateDiff).reduce((sum, address) => sum + received(address as Address), 0n)).toBe(0n)
    const prestate = await ask('debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } })
    expect(Object.keys((prestate as { readonly post: object }).post)).not.toContain(BASE_FEE_VAULT)
  })

  it('leave out a contract that destroys itself while it is created, and an account that is as it was', async () => {
    const { ask } = await testNode({ cadence: MANUAL })
    // Stores 1 in slot 0, and destroys itself while it is created.
    const created = (await ask('trace_call', { from: ALICE, data: '0x600160005530ff' }, ['stateDiff'])) as { readonly stateDiff: object }
    expect(Object.keys(created.stateDiff)).toEqual([ALICE])
    // Stores the value that is there.
    const code = '0x600054600055'
    await ask('anvil_setCode', BOB, code)
    const same = (await ask('trace_call', { from: ALICE, to: BOB }, ['stateDiff'])) as { readonly stateDiff: object }
    expect(Object.keys(same.stateDiff)).toEqual([ALICE])
  })

  it.each(['0x1fffffffffffff', '0x20000000000001', '0xfffffffffffffffd'] as const)(
    'have a nonce of %s with all its digits',
    async (nonce) => {
      const { ask, rpc, bugs } = await testNode({ cadence: MANUAL })
      await ask('anvil_setNonce', BOB, nonce)
      const call = { from: BOB, to: ALICE }
      const { stateDiff } = (await ask('trace_call', call, ['stateDiff'])) as { readonly stateDiff: Readonly<Record<string, object>> }
      expect(stateDiff[BOB]).toMatchObject({ nonce: { '*': { from: nonce, to: Hex.fromQuantity(BigInt(nonce) + 1n) } } })
      for (const diffMode of [false, true]) {
        const params = [call, 'latest', { tracer: 'prestateTracer', tracerConfig: { diffMode } }]
        const { body } = await rpc.handle(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params }), DEDICATED)
        expect(textOf(body!)).toContain(`"nonce":${BigInt(nonce)}`)
        if (diffMode) expect(textOf(body!)).toContain(`"nonce":${BigInt(nonce) + 1n}`)
      }
      expect(bugs).toEqual([])
    },
  )

  it('trace_rawTransaction runs a signed transaction and sends nothing', async () => {
    const { ask, sign } = await testNode({ cadence: MANUAL })
    const raw = Hex.fromBytes(sign({ to: BOB, value: 3n, gas: 21_000n }).raw)
    expect(await ask('trace_rawTransaction', raw, ['trace'])).toMatchObject({ trace: [{ action: { from: ALICE, to: BOB, value: '0x3' } }] })
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  })

  it('trace_rawTransaction executes the transaction with all of its fields', async () => {
    const { ask, chain, sign } = await testNode({ cadence: MANUAL })
    const outputOf = async (tx: Transaction) =>
      ((await ask('trace_rawTransaction', Hex.fromBytes(tx.raw), ['trace'])) as { readonly output: Hex }).output
    const [gasPriceCode, addressCode] = ['0x3a60005260206000f3', '0x3060005260206000f3']
    await ask('anvil_setCode', BOB, gasPriceCode)
    const baseFee = chain.head.view.head.header.baseFeePerGas ?? 0n
    expect(await outputOf(sign({ to: BOB, nonce: 0n, maxPriorityFeePerGas: 7n }))).toBe(Hash.fromBigint(baseFee + 7n))
    await ask('anvil_setCode', BOB, addressCode)
    const { chainId } = chain.config
    const authorization = Authorization.sign({ chainId: BigInt(chainId), address: BOB, nonce: 0n }, Hex.toBytes(KEY))
    const delegated = sign({ type: 4, to: authorization.authority, nonce: 0n, authorizationList: [authorization] })
    expect(await outputOf(delegated)).toBe(Hash.fromBigint(BigInt(OWNER.address)))
    const early = Hex.fromBytes(sign({ to: BOB, nonce: 5n }).raw)
    expect(await refusal(ask('trace_rawTransaction', early, ['trace']))).toMatchObject({
      code: -32000,
      message: expect.stringContaining('nonce too high'),
    })
  })

  it('trace_filter includes the pending block if the range does', async () => {
    const { ask, send } = await testNode({ cadence: MANUAL })
    await send({ to: BOB, gas: 30_000n })
    await ask('evm_mine')
    const hash = await send({ to: BOB, gas: 30_000n })
    const filtered = async (range: object) =>
      (await ask('trace_filter', { toAddress: [BOB], ...range })) as readonly { blockNumber: number; transactionHash: Hash }[]
    const places = (await filtered({ toBlock: 'pending' })).map(({ blockNumber }) => blockNumber)
    expect(places).toEqual([1, 2])
    expect(await filtered({ fromBlock: 'pending', toBlock: 'pending' })).toMatchObject([{ blockNumber: 2, transactionHash: hash }])
    expect(await filtered({})).toHaveLength(1)
    const ofBlock = (await ask('trace_block', 'pending')) as readonly unknown[]
    expect(await ask('trace_filter', { fromBlock: 'pending', toBlock: 'pending' })).toEqual(ofBlock)
  })

  it.each([
    ['trace_call', [{ to: BOB }, ['vmTrace']], 'vmTrace is not computed'],
    ['trace_call', [{ to: BOB }, ['nonsense']], 'one of trace, stateDiff, vmTrace'],
    ['trace_call', [{ to: BOB }], 'missing value for required argument 1'],
    ['trace_callMany', [[[{ to: BOB }]]], 'a call and a list of trace types'],
    ['trace_filter', [{ fromBlock: '0x1', toBlock: '0x0' }], 'not found'],
    ['trace_filter', [{ mode: 'xor' }], 'one of union, intersection'],
    ['trace_block', ['0x99'], 'not found'],
    ['trace_replayTransaction', [`0x${'12'.repeat(32)}`, ['trace']], 'transaction not found'],
    ['trace_transaction', ['0x12'], '32 bytes'],
  ])('%s refuses %j', async (method, params, sentence) => {
    const { ask } = await testNode()
    const error = await refusal(ask(method, ...params))
    expect(error.message).toContain(sentence)
    expect([-32602, -32000]).toContain(error.code)
  })

  it('trace_filter without a range has the calls of all blocks', async () => {
    const { ask, send } = await testNode()
    for (const to of [BOB, ALICE, BOB]) {
      await send({ to, gas: 30_000n })
      await ask('evm_mine')
    }
    const blocks = async (filter: object) =>
      ((await ask('trace_filter', { toAddress: [BOB], ...filter })) as readonly { blockNumber: number }[]).map((each) => each.blockNumber)
    expect(await blocks({})).toEqual([1, 3])
    expect(await blocks({ fromBlock: 'latest' })).toEqual([3])
    expect(await blocks({ toBlock: '0x2' })).toEqual([1])
  })

  it('trace_filter has a limit of blocks', async () => {
    const { ask } = await testNode()
    await ask('anvil_mine', '0x3e9')
    expect(await refusal(ask('trace_filter', { fromBlock: '0x1', toBlock: '0x3e9' }))).toMatchObject({
      code: -32602,
      message: expect.stringContaining('at most 1000'),
    })
    expect(await refusal(ask('trace_filter', { fromBlock: '0x5', toBlock: '0x4' }))).toMatchObject({ code: -32602 })
    expect(await ask('trace_filter', { fromBlock: '0x2', toBlock: '0x3e9', fromAddress: [BOB] })).toEqual([])
    expect(await ask('trace_block', '0x0')).toEqual([])
  })
})

interface Diff {
  readonly balance?: { readonly '*'?: { readonly from: Hex; readonly to: Hex } }
}

interface Range {
  readonly storage: Readonly<Record<Hash, { readonly key: Hash; readonly value: Hash }>>
  readonly nextKey: Hash | null
}

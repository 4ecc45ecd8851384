import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'

/** Reads slot 0, then loops until the gas is used. */
const SLOT_THEN_LOOP = '600054505b600456'
/** console.log(uint256) of slot 0. */
const LOGS_SLOT = '63f82c50f160e01b600052600054600452600060006024600073000000000000000000636f6e736f6c652e6c6f675afa00'

interface SearchPage {
  readonly txs: readonly { readonly hash: string; readonly blockNumber: string }[]
  readonly receipts: readonly { readonly transactionHash: string }[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

describe.each(['op', 'l1'] as const)('requests for blocks up to the fork block of an %s chain', (chainType) => {
  let chain: ForkedChain
  let fork: RunningNode
  let ledger: string
  let forkNumber: number
  /** Hash of a transaction before the fork block, in it, and upstream's first one after it. */
  let hashes: { readonly before: string; readonly at: string; readonly after: string }
  const add = (node: RunningNode, key: number, amount: number) => send(node, { to: ledger, data: `0x${word(key)}${word(amount)}` })
  /** The result of both, which must be equal. */
  const same = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const [ours, theirs] = await Promise.all([fork.ask(method, ...params), chain.upstream.ask(method, ...params)])
    expect(ours).toEqual(theirs)
    return ours
  }

  beforeAll(async () => {
    chain = await ForkedChain.start({ chainType })
    ledger = await deploy(chain.upstream, LEDGER)
    const before = await add(chain.upstream, 1, 10)
    const at = await add(chain.upstream, 2, 20)
    forkNumber = Number(at['blockNumber'])
    fork = await chain.fork()
    const after = await add(chain.upstream, 1, 100)
    hashes = { before: before['transactionHash'] as string, at: at['transactionHash'] as string, after: after['transactionHash'] as string }
  })

  afterAll(() => chain[Symbol.asyncDispose]())

  it('starts at the fork block, and answers with the JSON of upstream', async () => {
    expect(await fork.ask('eth_blockNumber')).toBe(quantity(forkNumber))
    expect(await fork.ask('eth_chainId')).toBe(await chain.upstream.ask('eth_chainId'))
    const block = await same('eth_getBlockByNumber', quantity(forkNumber), true)
    for (const tag of ['latest', 'safe', 'finalized']) expect(await fork.ask('eth_getBlockByNumber', tag, true)).toEqual(block)
    const { hash } = block as { hash: string }
    for (const number of [0, 1, forkNumber - 1, forkNumber]) {
      await same('eth_getBlockByNumber', quantity(number), false)
      await same('eth_getBlockTransactionCountByNumber', quantity(number))
      await same('eth_getBlockReceipts', quantity(number))
      await same('eth_getUncleCountByBlockNumber', quantity(number))
      await same('eth_getTransactionByBlockNumberAndIndex', quantity(number), '0x0')
      await same('eth_getRawTransactionByBlockNumberAndIndex', quantity(number), '0x0')
    }
    await same('eth_getBlockByNumber', 'earliest', true)
    await same('eth_getBlockByHash', hash, true)
    await same('eth_getBlockReceipts', hash)
    await same('eth_getBlockTransactionCountByHash', hash)
    await same('eth_getTransactionByBlockHashAndIndex', hash, '0x0')
    expect(await fork.ask('eth_getBlockTransactionCountByNumber', 'latest')).toBe(
      quantity((block as { transactions: unknown[] }).transactions.length),
    )
  })

  it('has the transactions and receipts of upstream up to the fork block only', async () => {
    for (const hash of [hashes.before, hashes.at]) {
      await same('eth_getTransactionByHash', hash)
      await same('eth_getTransactionReceipt', hash)
      await same('eth_getRawTransactionByHash', hash)
      await same('debug_traceTransaction', hash, { tracer: 'callTracer' })
    }
    for (const hash of [hashes.after, `0x${'ab'.repeat(32)}`]) {
      expect(await fork.ask('eth_getTransactionByHash', hash)).toBeNull()
      expect(await fork.ask('eth_getTransactionReceipt', hash)).toBeNull()
      expect(await fork.ask('eth_getRawTransactionByHash', hash)).toEqual(
        await fork.ask('eth_getRawTransactionByHash', `0x${'12'.repeat(32)}`),
      )
    }
    const above = (await chain.upstream.ask('eth_getBlockByNumber', 'latest', false)) as { hash: string; number: string }
    expect(await fork.ask('eth_getBlockByNumber', above.number, false)).toBeNull()
    expect(await fork.ask('eth_getBlockByHash', above.hash, false)).toBeNull()
    expect(await fork.ask('eth_getBlockReceipts', above.number)).toBeNull()
    expect(await fork.ask('eth_getBlockReceipts', above.hash)).toBeNull()
    expect(await fork.ask('eth_getBlockTransactionCountByHash', above.hash)).toBeNull()
    expect(await fork.ask('eth_getTransactionByBlockHashAndIndex', above.hash, '0x0')).toBeNull()
    expect(await fork.ask('eth_getRawTransactionByBlockHashAndIndex', above.hash, '0x0')).toBeNull()
    await expect(fork.ask('eth_getBalance', ALICE, { blockHash: above.hash })).rejects.toThrow(/^-32001 .*not found/)
    await expect(fork.ask('eth_call', { to: ledger }, above.hash)).rejects.toThrow(/^-32001 .*not found/)
    await expect(fork.ask('eth_getLogs', { blockHash: above.hash })).rejects.toThrow(/^-32001 .*not found/)
    await expect(fork.ask('debug_traceBlockByHash', above.hash)).rejects.toThrow(/not found/)
    await expect(fork.ask('debug_traceTransaction', hashes.after)).rejects.toThrow(/not found/)
  })

  it('reads the state of older blocks from upstream, by number and hash', async () => {
    const call = { to: ledger, data: `0x${word(1)}${word(0)}` }
    const parent = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber - 1), false)) as { hash: string }
    for (const block of ['earliest', quantity(0), quantity(forkNumber - 2), quantity(forkNumber - 1), { blockHash: parent.hash }]) {
      for (const method of ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode']) await same(method, ALICE, block)
      await same('eth_getStorageAt', ledger, quantity(0), block)
      await same('eth_getProof', ledger, [quantity(0)], block)
      await same('eth_call', call, block)
      await same('eth_call', call, block, { [ledger]: { code: '0x60015f5260205ff3' } })
      await same('eth_estimateGas', { from: ALICE, ...call }, block)
      await same('eth_createAccessList', { from: ALICE, ...call }, block)
    }
    await same('eth_getProof', ledger, [quantity(0)], quantity(forkNumber))
    for (const number of [forkNumber - 1, forkNumber]) {
      await same('debug_traceBlockByNumber', quantity(number), { tracer: 'callTracer' })
      await same('eth_feeHistory', quantity(3), quantity(number), [50])
    }
    // At the fork block the state comes from this chain.
    expect(await fork.ask('eth_call', call, quantity(forkNumber))).toBe(`0x${word(10)}`)
    expect(await fork.ask('eth_call', call)).toBe(`0x${word(10)}`)
  })

  it('joins logs of both sides of the border in one list, also by a filter', async () => {
    const filter = await fork.ask('eth_newFilter', { address: ledger, fromBlock: '0x0', toBlock: 'latest' })
    await add(fork, 1, 1)
    await add(fork, 3, 30)
    const rows = (await fork.ask('eth_getLogs', { address: ledger, fromBlock: '0x0', toBlock: 'latest' })) as Record<string, string>[]
    expect(rows.map(({ data }) => Number(data))).toEqual([10, 20, 11, 30])
    expect(rows.map(({ blockNumber }) => Number(blockNumber) - forkNumber)).toEqual([-1, 0, 1, 2])
    expect(await fork.ask('eth_getFilterLogs', filter)).toEqual(rows)
    const range = async (from: number, to: number | string): Promise<number[]> => {
      const params = {
        address: ledger,
        fromBlock: quantity(forkNumber + from),
        toBlock: typeof to === 'string' ? to : quantity(forkNumber + to),
      }
      return ((await fork.ask('eth_getLogs', params)) as { data: string }[]).map(({ data }) => Number(data))
    }
    expect(await range(-1, 0)).toEqual([10, 20])
    expect(await range(0, 0)).toEqual([20])
    expect(await range(0, 1)).toEqual([20, 11])
    expect(await range(1, 'pending')).toEqual([11, 30])
    expect(await range(-1, 'pending')).toEqual([10, 20, 11, 30])
    const { hash } = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber), false)) as { hash: string }
    await same('eth_getLogs', { blockHash: hash })
    const local = (await fork.ask('eth_getBlockByNumber', 'latest', false)) as { hash: string }
    expect(await fork.ask('eth_getLogs', { blockHash: local.hash })).toEqual(rows.slice(3))
  })

  it('begins a filter with the logs of both sides of the border under --compat anvil, once', async () => {
    const other = await chain.fork({ compat: 'anvil' }, { blockNumber: forkNumber })
    await add(other, 1, 1)
    const install = (fromBlock: string) => other.ask('eth_newFilter', { address: ledger, fromBlock })
    const filters = [await install('earliest'), await install(quantity(forkNumber)), await install(quantity(forkNumber + 1))]
    await add(other, 3, 30)
    const poll = async (id: unknown) =>
      ((await other.ask('eth_getFilterChanges', id)) as { data: string }[]).map(({ data }) => Number(data))
    // Of two polls at once one has them.
    const both = await Promise.all([poll(filters[0]), poll(filters[0])])
    expect(both.toSorted((a, b) => b.length - a.length)).toEqual([[10, 20, 11, 30], []])
    expect(await poll(filters[1])).toEqual([20, 11, 30])
    expect(await poll(filters[2])).toEqual([11, 30])
    const failing = await install('earliest')
    chain.proxy.refuse = ({ method }) => (method === 'eth_getLogs' ? { code: -32_000, message: 'busy' } : null)
    await expect(poll(failing)).rejects.toThrow('busy')
    chain.proxy.refuse = () => null
    expect(await poll(failing)).toEqual([10, 20, 11, 30])
  })

  it('joins traces of both sides of the border in one list, and has those of upstream by transaction', async () => {
    const own = await add(fork, 3, 30)
    const { before, at, after } = hashes
    const filtered = async (filter: Record<string, unknown>) =>
      ((await fork.ask('trace_filter', { toAddress: [ledger], ...filter })) as { transactionHash: string }[]).map(
        (each) => each.transactionHash,
      )
    const all = await filtered({ fromBlock: '0x0' })
    const old = await filtered({ fromBlock: '0x0', toBlock: quantity(forkNumber) })
    expect(old.slice(-2)).toEqual([before, at])
    expect(all.slice(0, old.length)).toEqual(old)
    expect([all.at(-1), all.includes(after)]).toEqual([own['transactionHash'], false])
    expect(await filtered({ fromBlock: '0x0', toBlock: 'latest', after: 1, count: '0x3' })).toEqual(all.slice(1, 4))
    expect(await filtered({ fromBlock: '0x0', after: old.length - 1, count: 2 })).toEqual(all.slice(old.length - 1, old.length + 1))
    expect(await filtered({ fromBlock: '0x0', count: 1 })).toEqual(all.slice(0, 1))
    expect(await filtered({ fromBlock: quantity(forkNumber + 1) })).toEqual(all.slice(old.length))
    for (const hash of [before, at]) expect(await same('trace_transaction', hash)).toHaveLength(1)
    expect(await fork.ask('trace_transaction', after)).toEqual([])
    expect(await fork.ask('trace_transaction', `0x${'12'.repeat(32)}`)).toEqual([])
  })

  it('searches the transactions of an account on both sides of the border', async () => {
    const young = await chain.fork({ cadence: 'instant' })
    const border = Number(await young.ask('eth_blockNumber'))
    const later = (await add(chain.upstream, 6, 1))['transactionHash'] as string
    const own: string[] = []
    for (const amount of [1, 2, 3]) own.unshift((await add(young, 5, amount))['transactionHash'] as string)
    const page = async (method: string, block: number, size: number) => {
      const { txs, receipts, firstPage, lastPage } = (await young.ask(method, ledger, block, size)) as SearchPage
      expect(receipts.map((each) => each.transactionHash)).toEqual(txs.map((each) => each.hash))
      return { hashes: txs.map(({ hash }) => hash), blocks: txs.map(({ blockNumber }) => Number(blockNumber)), firstPage, lastPage }
    }
    const whole = await page('ots_searchTransactionsBefore', 0, 25)
    expect(whole.hashes.slice(0, 6)).toEqual([...own, hashes.after, hashes.at, hashes.before])
    expect([whole.hashes.includes(later), whole.firstPage, whole.lastPage]).toEqual([false, true, true])
    expect(await page('ots_searchTransactionsAfter', 0, 25)).toEqual(whole)
    const walked: string[] = []
    for (let [block, isLast] = [0, false]; !isLast;) {
      const next = await page('ots_searchTransactionsBefore', block, 2)
      walked.push(...next.hashes)
      block = next.blocks.at(-1) ?? 1
      isLast = next.lastPage
    }
    expect(walked).toEqual(whole.hashes)
    expect((await page('ots_searchTransactionsAfter', border - 1, 2)).hashes).toEqual([own[2], hashes.after])
    expect(await page('ots_searchTransactionsAfter', border, 2)).toMatchObject({ hashes: own.slice(1), firstPage: false })
    expect((await page('ots_searchTransactionsBefore', forkNumber, 1)).hashes).toEqual([hashes.before])

    const sent = async (hash: string) => {
      const { from, nonce } = (await young.ask('eth_getTransactionByHash', hash)) as { from: string; nonce: string }
      return young.ask('ots_getTransactionBySenderAndNonce', from, Number(nonce))
    }
    for (const hash of [hashes.before, hashes.at, own[0]!]) expect(await sent(hash)).toBe(hash)
    for (const hash of [hashes.before, own[0]!]) {
      const tx = (await young.ask('eth_getTransactionByHash', hash)) as { from: string; nonce: string }
      expect(await young.ask('eth_getTransactionBySenderAndNonce', tx.from, tx.nonce)).toEqual(tx)
    }
    const { from, nonce } = (await chain.upstream.ask('eth_getTransactionByHash', hashes.after)) as { from: string; nonce: string }
    expect(await chain.upstream.ask('ots_getTransactionBySenderAndNonce', from, Number(nonce))).toBe(hashes.after)
    chain.proxy.refuse = ({ method }) => (method.startsWith('ots_') ? { code: -32_601, message: 'the method does not exist' } : null)
    expect(await page('ots_searchTransactionsBefore', 0, 25)).toMatchObject({ hashes: own, lastPage: true })
    expect(await page('ots_searchTransactionsAfter', 0, 25)).toMatchObject({ hashes: own, firstPage: true })
    chain.proxy.refuse = () => null
    // This fork begins before it, and has no transaction of its own with that nonce.
    const old = await chain.fork({ cadence: 'manual' }, { blockNumber: forkNumber })
    expect(await old.ask('ots_getTransactionBySenderAndNonce', from, Number(nonce))).toBeNull()
    expect(await old.ask('eth_getTransactionBySenderAndNonce', from, nonce)).toBeNull()
  })

  it('has no transaction that waits in the pool of upstream', async () => {
    await chain.upstream.ask('evm_setAutomine', false)
    const hash = await chain.upstream.ask('eth_sendTransaction', { from: BOB, to: ALICE, value: '0x1' })
    expect(await chain.upstream.ask('eth_getTransactionByHash', hash)).toMatchObject({ hash, blockNumber: null })
    expect(await fork.ask('eth_getTransactionByHash', hash)).toBeNull()
    expect(await fork.ask('eth_getRawTransactionByHash', hash)).toBeNull()
    await chain.upstream.ask('anvil_dropTransaction', hash)
    await chain.upstream.ask('evm_setAutomine', true)
  })

  it.each([{ kind: 'preconf', blockTimeMs: 60_000, flashblockMs: 200 }, 'manual'] as const)(
    'joins the traces of upstream and those of the pending block before it has a block of its own (%o)',
    async (cadence) => {
      const young = await chain.fork({ cadence })
      const request = { from: ALICE, to: ledger, data: `0x${word(4)}${word(40)}`, gas: '0x30d40' }
      const name = cadence === 'manual' ? 'eth_sendTransaction' : 'eth_sendTransactionSync' // until the pending block has it
      await young.ask(name, request)
      const head = await young.ask('eth_blockNumber')
      const range = { toAddress: [ledger], fromBlock: '0x0' }
      const traces = await chain.upstream.ask('trace_filter', { ...range, toBlock: head })
      expect(traces).not.toEqual([])
      expect(await young.ask('trace_filter', { ...range, toBlock: head })).toEqual(traces)
      const own = await young.ask('trace_filter', { ...range, fromBlock: 'pending', toBlock: 'pending' })
      expect(own).toMatchObject([{ action: { from: ALICE, to: ledger }, blockNumber: Number(head) + 1 }])
      expect(await young.ask('trace_filter', { ...range, toBlock: 'pending' })).toEqual([...(traces as unknown[]), ...(own as unknown[])])
    },
  )

  it('reads the border by tags as by numbers', async () => {
    const final = (await fork.ask('eth_getBlockByNumber', 'finalized', false)) as { number: string }
    const range = { address: ledger, fromBlock: quantity(forkNumber - 1) }
    const byNumber = await fork.ask('eth_getLogs', { ...range, toBlock: final.number })
    expect(byNumber).toMatchObject([{ blockNumber: quantity(forkNumber - 1) }, { blockNumber: quantity(forkNumber) }])
    expect(await fork.ask('eth_getLogs', { ...range, toBlock: 'finalized' })).toEqual(byNumber)
    expect(await fork.ask('eth_getLogs', { ...range, toBlock: 'finalized', blockHash: null })).toEqual(byNumber)
    expect(await fork.ask('eth_getLogs', { address: ledger, fromBlock: 'finalized', toBlock: final.number })).toHaveLength(1)
    expect(await fork.ask('ots_hasCode', ledger, forkNumber - 2)).toBe(await chain.upstream.ask('ots_hasCode', ledger, forkNumber - 2))
    const header = (await fork.ask('erigon_getHeaderByNumber', 1)) as { hash: string }
    expect(header).toMatchObject({ hash: ((await chain.upstream.ask('erigon_getHeaderByNumber', 1)) as { hash: string }).hash })
  })

  it('finds headers by hash and blocks by time before and after the fork block', async () => {
    const before = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber - 1), false)) as {
      hash: string
      timestamp: string
    }
    const border = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber), false)) as { hash: string; timestamp: string }
    expect(await fork.ask('erigon_getHeaderByHash', before.hash)).toMatchObject({ hash: before.hash, number: quantity(forkNumber - 1) })
    expect(await fork.ask('erigon_getBlockByTimestamp', before.timestamp)).toMatchObject({ hash: before.hash })
    expect(await fork.ask('erigon_getBlockByTimestamp', border.timestamp)).toMatchObject({ hash: border.hash })
    const head = (await fork.ask('eth_getBlockByNumber', 'latest', false)) as { hash: string; timestamp: string }
    expect(await fork.ask('erigon_getBlockByTimestamp', head.timestamp)).toMatchObject({ hash: head.hash })
    expect(await fork.ask('erigon_getHeaderByHash', `0x${'12'.repeat(32)}`)).toBeNull()
  })

  it('forgets the storage of a contract whose state is overridden, also slots that upstream has', async () => {
    const call = { to: ledger, data: `0x${word(2)}${word(0)}` }
    expect(await fork.ask('eth_call', call, 'latest', { [ledger]: { state: {} } })).toBe(`0x${word(0)}`)
    expect(await fork.ask('eth_call', call, 'latest')).not.toBe(`0x${word(0)}`)
    const simulate = async (stateOverrides: object) => {
      const [{ calls }] = (await fork.ask('eth_simulateV1', { blockStateCalls: [{ stateOverrides, calls: [call] }] }, 'latest')) as [
        { calls: { returnData: string }[] },
      ]
      return calls[0]?.returnData
    }
    expect(await simulate({ [ledger]: { state: {} } })).toBe(`0x${word(0)}`)
    expect(await simulate({})).not.toBe(`0x${word(0)}`)
  })

  it('pins tags and JSON numbers also where the profile accepts the latter', async () => {
    const other = await chain.fork({ compat: 'anvil' }, { blockNumber: forkNumber })
    const { number } = (await other.ask('eth_getBlockByNumber', 'latest', false)) as { number: string }
    expect(number).toBe(quantity(forkNumber))
    expect(await other.ask('eth_getBlockByNumber', forkNumber - 1, false)).toMatchObject({ number: quantity(forkNumber - 1) })
    expect(
      await other.ask('eth_getBlockByHash', ((await same('eth_getBlockByNumber', '0x1', false)) as { hash: string }).hash, false),
    ).toMatchObject({ number: '0x1' })
    expect(await other.ask('eth_feeHistory', 1, forkNumber - 1, [])).toMatchObject({ oldestBlock: quantity(forkNumber - 1) })
    expect(await other.ask('eth_capabilities')).toMatchObject({ blocks: { oldestBlock: '0x0' } })
    const older = quantity(forkNumber - 1)
    const inHex = await other.ask('eth_getTransactionByBlockNumberAndIndex', older, '0x0')
    for (const index of [0, '0']) expect(await other.ask('eth_getTransactionByBlockNumberAndIndex', older, index)).toEqual(inHex)
    // Returns the call's value; upstream reads decimal text as hex or not at all.
    const call = { data: '0x345f5260205ff3', from: BOB }
    for (const value of [0, '0']) expect(await other.ask('eth_call', { ...call, value }, older)).toBe(`0x${word(0)}`)
    for (const slot of [10, '10', '0xa'])
      expect(await other.ask('eth_getStorageAt', ledger, slot, older)).toBe(await other.ask('eth_getStorageAt', ledger, '0xa', older))
  })

  it('executes a call once, whatever it has to fetch: console lines and errors are those of that execution', async () => {
    const heavy = await deploy(chain.upstream, SLOT_THEN_LOOP)
    const logging = await deploy(chain.upstream, LOGS_SLOT)
    const printed: string[] = []
    const onConsole = (method: string) => void printed.push(method)
    const other = await chain.fork({ observer: { onConsole } })
    await other.ask('eth_call', { to: logging })
    expect(printed).toEqual(['eth_call'])
    // It takes longer than the main thread gives it: the first execution with the fetched slot ends in a worker thread, a guessed one nowhere.
    await expect(other.ask('eth_call', { to: heavy })).rejects.toThrow(/gas/)
  })

  it('continues after the fork block with its own blocks', async () => {
    const receipt = await send(fork, { to: BOB, value: '0x1' })
    const number = Number(receipt['blockNumber'])
    const parent = (await fork.ask('eth_getBlockByNumber', quantity(number - 1), false)) as Record<string, string>
    const block = (await fork.ask('eth_getBlockByNumber', quantity(number), false)) as Record<string, string>
    expect(block['parentHash']).toBe(parent['hash'])
    const first = (await fork.ask('eth_getBlockByNumber', quantity(forkNumber + 1), false)) as Record<string, string>
    const origin = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber), false)) as Record<string, string>
    const successor = (await chain.upstream.ask('eth_getBlockByNumber', quantity(forkNumber + 1), false)) as Record<string, string>
    expect(first).toMatchObject({ parentHash: origin['hash'], gasLimit: origin['gasLimit'], baseFeePerGas: successor['baseFeePerGas'] })
    expect(await fork.ask('eth_getTransactionReceipt', receipt['transactionHash'])).toEqual(receipt)
    await expect(fork.ask('eth_getProof', ALICE, [], 'latest')).rejects.toThrow(/^4444 .*fork/)
    expect(await fork.ask('debug_traceTransaction', receipt['transactionHash'], { tracer: 'callTracer' })).toMatchObject({ to: BOB })
    const history = (await fork.ask('eth_feeHistory', quantity(number - forkNumber + 3), 'latest', [])) as { oldestBlock: string }
    expect(history).toMatchObject({ oldestBlock: quantity(forkNumber - 2) })
  })

  it('returns errors of upstream unchanged', async () => {
    const failing = { to: ledger, from: BOB, value: quantity(10n ** 30n) }
    const failure = async (node: RunningNode, ...params: readonly unknown[]): Promise<unknown> =>
      node.node.request({ method: 'eth_call', params: [...params] }).catch(({ code, message, data }) => ({ code, message, data }))
    const expected = await failure(chain.upstream, failing, quantity(1))
    expect(expected).toMatchObject({ code: -32000 })
    expect(await failure(fork, failing, quantity(1))).toEqual(expected)
    chain.proxy.refuse = ({ method }) =>
      method === 'eth_getBlockByNumber' ? { code: -31_999, message: 'of the provider', data: [1] } : null
    try {
      await expect(fork.ask('eth_getBlockByNumber', quantity(1), false)).rejects.toThrow('-31999 of the provider')
    } finally {
      chain.proxy.refuse = () => null
    }
  })
})

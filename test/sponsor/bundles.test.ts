// The bundler's pool and its bundles.
import { createPocketchain } from 'pocketchain'
import { concatHex, getAddress, numberToHex, parseEther, size, toEventSelector, zeroHash } from 'viem'
import type { Hex } from 'viem'
import { entryPoint07Address, entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createBundler } from '../../src/bundler/index.ts'
import { RpcError } from '../../src/rpc/index.ts'
import type { RpcRequest } from '../../src/jsonrpc/index.ts'
import type { Rpc } from '../../src/rpc/index.ts'
import {
  account,
  answering,
  ask,
  branching,
  bundleOnRequest,
  depositTo,
  included,
  onNode,
  operation,
  PACKED,
  paymaster,
  plain,
  sharedNode,
  shareNode,
  sponsored,
  VERSIONS,
  withCode,
} from './bundler.fixture.ts'
import type { Fields } from './bundler.fixture.ts'

shareNode()

describe('the pool', () => {
  bundleOnRequest()

  it('accepts a replacement with both fees raised by 10 %', async () => {
    const sender = await account('0.8')
    const fees = (percent: bigint, tipPercent = percent) => ({
      maxFeePerGas: numberToHex((10_000_000_000n * percent) / 100n),
      maxPriorityFeePerGas: numberToHex((1_000_000_000n * tipPercent) / 100n),
    })
    const hash = await ask('eth_sendUserOperation', await operation(sender, fees(100n)), entryPoint08Address)
    await expect(ask('eth_sendUserOperation', await operation(sender, fees(100n)), entryPoint08Address)).rejects.toMatchObject({
      code: -32602,
    })
    for (const under of [fees(110n, 100n), fees(100n, 110n), fees(109n)])
      await expect(ask('eth_sendUserOperation', await operation(sender, under), entryPoint08Address)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('replacement underpriced'),
      })
    const better = await ask('eth_sendUserOperation', await operation(sender, fees(110n)), entryPoint08Address)
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({ status: 'rejected' })
    await ask('debug_bundler_sendBundleNow')
    expect(await included(better as Hex)).toMatchObject({ success: true })
  })

  it('sends one bundle for many accounts without failing operations', async () => {
    const hashes: Hex[] = []
    const turncoat = await account('0.7')
    for (const sender of [await account('0.7'), turncoat, await account('0.7')])
      hashes.push((await ask('eth_sendUserOperation', await operation(sender), entryPoint07Address)) as Hex)
    await depositTo('0.7', turncoat, 0n)
    const transaction = await ask('debug_bundler_sendBundleNow')
    const [first, , third] = hashes as [Hex, Hex, Hex]
    const receipts = (await Promise.all([first, third].map(included))) as { receipt: { transactionHash: Hex }; logs: unknown[] }[]
    for (const { receipt, logs } of receipts) {
      expect(receipt.transactionHash).toBe(transaction)
      expect(logs).toEqual([])
    }
    expect(await ask('eth_getUserOperationReceipt', hashes[1])).toBe(null)
    for (let i = 0; i < 3; i++) await ask('debug_bundler_sendBundleNow')
    expect(await ask('pimlico_getUserOperationStatus', hashes[1])).toMatchObject({
      status: 'rejected',
      reason: expect.stringContaining('AA21'),
    })
  })

  it('sends the authorizations of several accounts in one transaction', async () => {
    const delegate = await withCode(answering(0n))
    const hashes: Hex[] = []
    for (let i = 0; i < 2; i++) {
      const owner = privateKeyToAccount(generatePrivateKey())
      await depositTo('0.8', owner.address)
      const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 0 })
      const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
      const sent = await operation(owner.address, { factory: '0x7702', factoryData: '0x', eip7702Auth })
      await expect(
        ask('eth_sendUserOperation', { ...sent, eip7702Auth: { ...eip7702Auth, nonce: '0x1' } }, entryPoint08Address),
      ).rejects.toMatchObject({ code: -32602 })
      await expect(ask('eth_sendUserOperation', { ...sent, eip7702Auth: undefined }, entryPoint08Address)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('0x7702'),
      })
      hashes.push((await ask('eth_sendUserOperation', sent, entryPoint08Address)) as Hex)
    }
    const transaction = await ask('debug_bundler_sendBundleNow')
    const receipts = (await Promise.all(hashes.map(included))) as { success: boolean; receipt: { transactionHash: Hex; type: Hex } }[]
    for (const { success, receipt } of receipts) {
      expect({ success, type: receipt.type }).toEqual({ success: true, type: '0x4' })
      expect(receipt.transactionHash).toBe(transaction)
    }
    // The hash of each has the delegate, which is gone now.
    const senderOf = async (hash: Hex) =>
      ((await ask('eth_getUserOperationByHash', hash)) as { userOperation: { sender: Hex } }).userOperation.sender
    const senders = await Promise.all(hashes.map(senderOf))
    for (const sender of senders) await ask('anvil_setCode', sender, '0x')
    expect(await Promise.all(hashes.map(senderOf))).toEqual(senders)
    await ask('debug_bundler_clearState')
    expect(await Promise.all(hashes.map(senderOf))).toEqual(senders)
  })

  // EntryPoint 0.8 and 0.9 report operation 0 for each initialisation of a delegating account that fails (AA13).
  it.each(['0.8', '0.9'] as const)('of EntryPoint %s drops no other operation for an initialisation that fails', async (version) => {
    // Its initialisation succeeds once; the target of its jump is after the 15 bytes of the branch.
    const initialisation = '0x5f54156018575f5ffd5b60015f5500'
    const delegate = await withCode(branching(`validateUserOp(${PACKED},bytes32,uint256)`, answering(0n), initialisation))
    const owner = async () => {
      const { address, signAuthorization } = privateKeyToAccount(generatePrivateKey())
      await depositTo(version, address)
      const { r, s, yParity } = await signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 0 })
      const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
      const initialise = async (key: bigint) => {
        const fields = { nonce: numberToHex(key << 64n), factory: '0x7702', factoryData: '0x12345678', eip7702Auth }
        return (await ask('eth_sendUserOperation', await operation(address, fields), VERSIONS[version])) as Hex
      }
      return { address, initialise }
    }
    const { hash: other } = await plain(version)
    const [twice, late] = [await owner(), await owner()]
    const [first, second] = [await twice.initialise(0n), await twice.initialise(1n)]
    const invalid = await late.initialise(0n)
    await ask('anvil_setStorageAt', late.address, '0x0', numberToHex(1, { size: 32 }))
    const { hash: last } = await plain(version)
    const transactionHash = await ask('debug_bundler_sendBundleNow')
    for (const hash of [other, first, last]) expect(await included(hash)).toMatchObject({ success: true, receipt: { transactionHash } })
    await ask('debug_bundler_sendBundleNow')
    for (const hash of [second, invalid])
      expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({
        status: 'rejected',
        reason: expect.stringMatching(/^AA13 EIP7702/),
      })
    expect(await ask('debug_bundler_dumpReputation', VERSIONS[version])).toEqual([]) // the marker 0x7702 is no entity
  })

  it('reads the results and the logs of operations only from the events of the EntryPoint', async () => {
    const victim = (await ask('eth_sendUserOperation', await operation(await account('0.8')), entryPoint08Address)) as Hex
    const event = toEventSelector('UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)')
    // For call data of one word: an own log, BeforeExecution() and an event of the EntryPoint with that word as hash, which has failed.
    const calls = concatHex(['0x60015fa07f', toEventSelector('BeforeExecution()'), '0x5f5fa15f5f5f357f', event, '0x60805fa400'])
    const otherwise = answering(0n)
    const sender = await withCode(
      concatHex(['0x3660201461', numberToHex(8 + size(otherwise), { size: 2 }), '0x57', otherwise, '0x5b', calls]),
    )
    await depositTo('0.8', sender)
    const forger = (await ask('eth_sendUserOperation', await operation(sender, { callData: victim }), entryPoint08Address)) as Hex
    await ask('debug_bundler_sendBundleNow')
    expect(await included(forger)).toMatchObject({
      success: true,
      logs: [{ topics: [] }, { topics: [toEventSelector('BeforeExecution()')] }, { topics: [event, victim, zeroHash, zeroHash] }],
    })
    expect(await included(victim)).toMatchObject({ success: true, logs: [] })
    expect(await ask('pimlico_getUserOperationStatus', victim)).toMatchObject({ status: 'included' })
  })

  it('drops an authorization with a used nonce before the bundle', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 0 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = { factory: '0x7702', factoryData: '0x', eip7702Auth }
    const spoilt = await ask('eth_sendUserOperation', await operation(owner.address, upgrade), entryPoint08Address)
    const innocent = (await ask('eth_sendUserOperation', await operation(await account('0.8')), entryPoint08Address)) as Hex
    await ask('anvil_setNonce', owner.address, '0x1')
    const transaction = await ask('debug_bundler_sendBundleNow')
    expect(await included(innocent)).toMatchObject({ success: true, receipt: { transactionHash: transaction, status: '0x1' } })
    expect(await ask('pimlico_getUserOperationStatus', spoilt)).toMatchObject({
      status: 'rejected',
      reason: expect.stringMatching(/EIP-7702 authorization: .* has used nonce 0/),
    })
  })

  it('defers an authorization after a reorg of its account, and needs none for a delegating account', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    await ask('anvil_setNonce', owner.address, '0x3')
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 3 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x3', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = { factory: '0x7702', factoryData: '0x', eip7702Auth }
    const sent = (await ask('eth_sendUserOperation', await operation(owner.address, upgrade), entryPoint08Address)) as Hex
    const next = (await ask(
      'eth_sendUserOperation',
      await operation(owner.address, { ...upgrade, nonce: '0x1' }),
      entryPoint08Address,
    )) as Hex
    await ask('anvil_setNonce', owner.address, '0x2')
    for (let i = 0; i < 2; i++) expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', sent)).toMatchObject({ status: 'not_submitted' })
    await ask('anvil_setNonce', owner.address, '0x3')
    await ask('debug_bundler_sendBundleNow')
    expect(await included(sent)).toMatchObject({ success: true })
    await ask('debug_bundler_sendBundleNow')
    expect(await included(next)).toMatchObject({ success: true })
  })

  it('drops an authorization whose account does not reach its nonce', async () => {
    const delegate = await withCode(answering(0n))
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    await ask('anvil_setNonce', owner.address, '0x3')
    const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: delegate, nonce: 3 })
    const eip7702Auth = { chainId: '0x7a69', address: delegate, nonce: '0x3', r, s, yParity: numberToHex(yParity ?? 0) }
    const upgrade = await operation(owner.address, { factory: '0x7702', factoryData: '0x', eip7702Auth })
    const sent = await ask('eth_sendUserOperation', upgrade, entryPoint08Address)
    await ask('anvil_setNonce', owner.address, '0x2')
    for (let i = 0; i < 3; i++) expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', sent)).toMatchObject({
      status: 'rejected',
      reason: expect.stringMatching(/EIP-7702 authorization: its nonce is 3, and a reorg removed earlier transactions of/),
    })
  })

  it('sends every accepted operation, also one that fills a bundle', async () => {
    const longest = {
      callData: `0x${'00'.repeat(119_392)}`,
      callGasLimit: numberToHex(500_000),
      verificationGasLimit: numberToHex(500_000), // it hashes them
      preVerificationGas: numberToHex(6_000_000),
    }
    const sender = await account('0.8')
    const longer = await operation(sender, { ...longest, callData: `${longest.callData}00`.padEnd(longest.callData.length + 64, '0') })
    await expect(ask('eth_sendUserOperation', longer, entryPoint08Address)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('120004 bytes'),
    })
    const hash = (await ask('eth_sendUserOperation', await operation(sender, longest), entryPoint08Address)) as Hex
    expect(await ask('debug_bundler_sendBundleNow')).not.toBe('ok')
    expect(await included(hash)).toMatchObject({ success: true })
  })

  it('drops all operations behind a missing nonce at once', async () => {
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    let nowMs = 0
    const own = createBundler({ rpc: sharedNode(), key, testMode: true, now: () => nowMs })
    const request = (method: string, ...params: readonly unknown[]) => own.request({ method, params })
    await request('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const [second, third] = await Promise.all(
      ['0x1', '0x2'].map(async (nonce) => request('eth_sendUserOperation', await operation(sender, { nonce }), entryPoint08Address)),
    )
    for (const ms of [0, 29_999]) {
      nowMs = ms
      await request('debug_bundler_sendBundleNow')
      expect(await request('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(2)
    }
    nowMs = 30_000
    await request('debug_bundler_sendBundleNow')
    for (const hash of [second, third])
      expect(await request('pimlico_getUserOperationStatus', hash)).toMatchObject({
        status: 'rejected',
        reason: expect.stringContaining('an operation before it is missing'),
      })
    await own.close()
  })

  it('accepts nothing after close, not even without validation', async () => {
    const own = createBundler({ rpc: sharedNode(), key: generatePrivateKey(), testMode: true })
    const sent = await operation(await account('0.8'))
    await own.close()
    for (const [method, params] of [
      ['eth_sendUserOperation', [sent, entryPoint08Address]],
      ['debug_bundler_addUserOps', [[sent], entryPoint08Address]],
    ] as const) {
      await expect(own.request({ method, params })).rejects.toMatchObject({
        code: -32000,
        message: 'the bundler is closed; send the operation to another one',
      })
    }
    expect(await own.request({ method: 'debug_bundler_dumpMempool', params: [entryPoint08Address] })).toEqual([])
  })

  it('works with a node without subscriptions', async () => {
    const silent: Rpc = {
      request: (request) => sharedNode().request(request),
      subscribe: () => Promise.reject(new RpcError(-32601, 'no news')),
    }
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    const own = createBundler({ rpc: silent, key })
    const sent = await operation(await account('0.8'))
    const hash = (await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })) as Hex
    expect(await included(hash)).toMatchObject({ success: true })
    await expect(own.request({ method: 'debug_bundler_clearState' })).rejects.toMatchObject({ code: -32601 })
    await own.close()
  })

  /** Runs a test with a bundler of its own, whose bundles and clock it controls, on a node that mines on request. */
  async function withOwnBundler(
    run: (context: {
      own: ReturnType<typeof createBundler>
      bundler: Hex
      flush: () => Promise<Hex | 'ok'>
      setNowMs: (ms: number) => void
    }) => Promise<void>,
    /** called before each request of the bundler to the node */
    before: (request: RpcRequest) => void | Promise<void> = () => undefined,
  ): Promise<void> {
    await using still = await createPocketchain({ cadence: 'manual', wallet: false })
    const key = generatePrivateKey()
    let nowMs = 0
    const rpc: Rpc = { request: async (request) => (await before(request), still.request(request)), subscribe: still.subscribe }
    const own = createBundler({ rpc, key, testMode: true, now: () => nowMs })
    const bundler = privateKeyToAccount(key).address
    try {
      await onNode(still, async () => {
        await own.request({ method: 'debug_bundler_setBundlingMode', params: ['manual'] })
        await ask('anvil_setBalance', bundler, numberToHex(parseEther('1')))
        const flush = async () => (await own.request({ method: 'debug_bundler_sendBundleNow' })) as Hex | 'ok'
        await run({ own, bundler, flush, setNowMs: (ms) => (nowMs = ms) })
      })
    } finally {
      await own.close()
    }
  }

  it('sends lost bundles again', async () => {
    await withOwnBundler(async ({ own, flush, setNowMs }) => {
      const sent = await operation(await account('0.8'))
      const hash = (await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })) as Hex
      const status = () => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      const lost = await flush()
      await ask('anvil_dropTransaction', lost)
      setNowMs(2_000)
      const again = await flush()
      expect(await status()).toEqual({ status: 'submitted', transactionHash: again })
      await ask('anvil_mine')
      await flush()
      expect(await status()).toEqual({ status: 'included', transactionHash: again })
    })
  })

  it('raises the fees of a bundle once, after a block with room did not contain it, and then cancels it', async () => {
    await withOwnBundler(async ({ own, bundler, flush, setNowMs }) => {
      const sent = await operation(await account('0.8'))
      const hash = (await own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] })) as Hex
      const status = () => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      const first = await flush()
      for (const nowMs of [2_000, 20_000, 400_000]) {
        setNowMs(nowMs)
        await flush()
        expect(await status()).toEqual({ status: 'submitted', transactionHash: first }) // no block could include it
      }
      await ask('pocketchain_hold', first)
      await ask('anvil_mine')
      await flush()
      const { transactionHash: dearer } = (await status()) as { transactionHash: Hex }
      expect(dearer).not.toBe(first)
      expect(await ask('eth_getTransactionByHash', first)).toBe(null)
      const { maxFeePerGas } = (await ask('eth_getTransactionByHash', dearer)) as { maxFeePerGas: Hex }
      expect(BigInt(maxFeePerGas)).toBe((BigInt(sent['maxFeePerGas'] as Hex) * 5n) / 4n + 1n)
      await ask('pocketchain_hold', dearer)
      setNowMs(402_000)
      await flush()
      await ask('anvil_mine')
      setNowMs(420_000)
      const again = await flush() // with another nonce
      expect(await ask('eth_getTransactionByHash', dearer)).toBe(null)
      await ask('anvil_mine')
      await flush()
      expect(await status()).toEqual({ status: 'included', transactionHash: again })
      expect(await ask('eth_getTransactionCount', bundler, 'latest')).toBe('0x2')
    })
  })

  it('forgets operations that are cleared while their bundle is replaced', async () => {
    let onSend = async (): Promise<unknown> => undefined
    await withOwnBundler(
      async ({ own, flush, setNowMs }) => {
        const userOperation = await operation(await account('0.8'), sponsored(await paymaster('0.8'), '0.8'))
        await own.request({ method: 'eth_sendUserOperation', params: [userOperation, entryPoint08Address] })
        const sent = await flush()
        setNowMs(2_000)
        await flush()
        await ask('pocketchain_hold', sent)
        await ask('anvil_mine')
        onSend = () => own.request({ method: 'debug_bundler_clearState' })
        setNowMs(20_000)
        await flush()
        expect(await ask('eth_getTransactionByHash', sent)).toBe(null)
        await ask('anvil_mine')
        await flush()
        expect(await own.request({ method: 'debug_bundler_dumpReputation', params: [entryPoint08Address] })).toEqual([])
      },
      async ({ method }) => void (method === 'eth_sendRawTransaction' && (await onSend())),
    )
  })

  it('pimlico_sendUserOperationNow is not refused because the bundle of another EntryPoint is', async () => {
    await withOwnBundler(
      async ({ own }) => {
        const other = await operation(await account('0.7'))
        await own.request({ method: 'eth_sendUserOperation', params: [other, entryPoint07Address] })
        const sent = await operation(await account('0.8'))
        const answer = own.request({ method: 'pimlico_sendUserOperationNow', params: [sent, entryPoint08Address] })
        const isSent = async () => ((await ask('txpool_status')) as { pending: Hex }).pending === '0x1'
        await expect.poll(isSent).toBe(true)
        await ask('anvil_mine')
        expect(await answer).toMatchObject({ success: true, sender: getAddress(sent['sender'] as Hex) })
      },
      ({ method, params }) => {
        const isOther = method === 'eth_sendRawTransaction' && String(params?.[0]).includes(entryPoint07Address.slice(2).toLowerCase())
        if (isOther) throw new RpcError(-32000, 'refused by the test')
      },
    )
  })

  it('blames only the cheapest operation for the price of a bundle', async () => {
    await withOwnBundler(async ({ own, flush }) => {
      const send = async (wei: bigint) => {
        const price = { maxFeePerGas: numberToHex(wei), maxPriorityFeePerGas: '0x1' }
        const params = [await operation(await account('0.8'), price), entryPoint08Address]
        return (await own.request({ method: 'eth_sendUserOperation', params })) as Hex
      }
      const [cheap, dear] = [await send(2n * 10n ** 9n), await send(50n * 10n ** 9n)]
      await ask('anvil_setMinGasPrice', numberToHex(20n * 10n ** 9n))
      const status = (hash: Hex) => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      for (let i = 0; i < 3; i++) {
        await expect(flush()).rejects.toMatchObject({ message: expect.stringContaining('underpriced') })
        expect(await status(dear)).toMatchObject({ status: 'submitted' })
      }
      expect(await status(cheap)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('underpriced') })
      await ask('anvil_mine')
      await flush()
      expect(await status(dear)).toMatchObject({ status: 'included' })
    })
  })

  it('offers prices that the node accepts, above its minimum price', async () => {
    await withOwnBundler(async ({ own, flush }) => {
      await ask('anvil_setMinGasPrice', numberToHex(20n * 10n ** 9n))
      const send = async (price: Fields) =>
        own.request({ method: 'eth_sendUserOperation', params: [await operation(await account('0.8'), price), entryPoint08Address] })
      const prices = (await own.request({ method: 'pimlico_getUserOperationGasPrice' })) as Record<'slow' | 'standard' | 'fast', Fields>
      for (const price of Object.values(prices)) await send(price)
      const bundle = await flush()
      await ask('anvil_mine')
      expect(await ask('eth_getTransactionReceipt', bundle)).toMatchObject({ status: '0x1' })
    })
  })

  it('fills a missing nonce, without which later bundles are not executable', async () => {
    await withOwnBundler(async ({ own, flush, setNowMs, bundler }) => {
      const send = async () =>
        (await own.request({
          method: 'eth_sendUserOperation',
          params: [await operation(await account('0.8')), entryPoint08Address],
        })) as Hex
      await send()
      const dropped = await flush()
      await own.request({ method: 'debug_bundler_clearState' })
      const waiting = [await send()]
      const bundles = [await flush()]
      waiting.push(await send())
      bundles.push(await flush())
      expect(await ask('eth_getTransactionByHash', bundles[1])).toMatchObject({ nonce: '0x2' })
      await ask('anvil_dropTransaction', dropped)
      setNowMs(20_000)
      await flush()
      await ask('anvil_mine')
      await flush()
      for (const [i, hash] of waiting.entries())
        expect(await own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })).toEqual({
          status: 'included',
          transactionHash: bundles[i],
        })
      expect(await ask('eth_getTransactionCount', bundler, 'latest')).toBe('0x3')
    })
  })

  it.each(['waits', 'is forgotten by debug_bundler_clearState'])('cancels a bundle below the base fee, whose operation %s', async (end) => {
    await withOwnBundler(async ({ own, flush, setNowMs, bundler }) => {
      const [first, second] = [await account('0.8'), await account('0.8')]
      const price = (wei: bigint) => ({ maxFeePerGas: numberToHex(wei), maxPriorityFeePerGas: '0x1' })
      const send = (sent: Fields) => own.request({ method: 'eth_sendUserOperation', params: [sent, entryPoint08Address] }) as Promise<Hex>
      const cheap = await send(await operation(first, price(2n * 10n ** 9n)))
      const status = (hash: Hex) => own.request({ method: 'pimlico_getUserOperationStatus', params: [hash] })
      const underpriced = await flush()
      await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(20n * 10n ** 9n))
      await ask('anvil_mine')
      expect(await ask('eth_getTransactionReceipt', underpriced)).toBeNull()
      if (end !== 'waits') await own.request({ method: 'debug_bundler_clearState' })
      setNowMs(2_000)
      expect(await flush()).toBe('ok')
      expect(await ask('eth_getTransactionByHash', underpriced)).toBeNull()
      const dear = await send(await operation(second, price(100n * 10n ** 9n)))
      await flush()
      await ask('anvil_mine')
      await flush()
      expect(await status(dear)).toMatchObject({ status: 'included' })
      expect(await ask('eth_getTransactionCount', bundler, 'latest')).toBe('0x2')
      expect(await status(cheap)).toMatchObject({ status: end === 'waits' ? 'not_submitted' : 'not_found' })
      if (end !== 'waits') return
      await ask('anvil_setNextBlockBaseFeePerGas', numberToHex(10n ** 9n))
      await ask('anvil_mine')
      await flush()
      await ask('anvil_mine')
      await flush()
      expect(await status(cheap)).toMatchObject({ status: 'included' })
    })
  })

  it('sends operations of several nonce keys of one account in one bundle', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const hashes: Hex[] = []
    for (const key of [0n, 1n, 2n])
      hashes.push(
        (await ask('eth_sendUserOperation', await operation(sender, { nonce: numberToHex(key << 64n) }), entryPoint08Address)) as Hex,
      )
    const bundle = await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes) expect(await included(hash)).toMatchObject({ success: true, receipt: { transactionHash: bundle } })
  })

  it('accepts an operation again after a reorg of its block', async () => {
    await ask('debug_bundler_setBundlingMode', 'auto')
    const sender = await account('0.8')
    const snapshot = await ask('evm_snapshot')
    const sent = await operation(sender)
    const hash = (await ask('eth_sendUserOperation', sent, entryPoint08Address)) as Hex
    await included(hash)
    await ask('evm_revert', snapshot)
    expect(await ask('eth_getUserOperationReceipt', hash)).toBe(null)
    expect(await ask('eth_sendUserOperation', sent, entryPoint08Address)).toBe(hash)
    expect(await included(hash)).toMatchObject({ success: true })
  })
})

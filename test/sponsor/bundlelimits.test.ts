// What a node accepts in one transaction: the gas of a block, the cap of a transaction, the bundler's balance.
import { createPocketchain } from 'pocketchain'
import type { PocketchainOptions } from 'pocketchain'
import { numberToHex } from 'viem'
import type { Hex } from 'viem'
import { entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createBundler } from '../../src/bundler/index.ts'
import { RpcError } from '../../src/rpc/index.ts'
import type { RpcRequest } from '../../src/jsonrpc/index.ts'
import { VERSIONS, account, ask, included, onNode, operation } from './bundler.fixture.ts'
import type { Fields, Version } from './bundler.fixture.ts'

interface Context {
  readonly bundler: Hex
  readonly senders: ReadonlyMap<Hex, Hex>
  readonly send: (callGas: number, count?: number) => Promise<readonly Hex[]>
  readonly flush: () => Promise<unknown>
  readonly statuses: (hashes: readonly Hex[]) => Promise<readonly { status: string; transactionHash: Hex; reason?: string }[]>
}

/** Runs a test with a bundler of its own that sends on request, on a node that mines on request. */
async function withBundler(
  options: PocketchainOptions,
  run: (context: Context) => Promise<void>,
  /** called before each request of the bundler to the node */
  before: (request: RpcRequest) => void = () => undefined,
): Promise<void> {
  await using node = await createPocketchain({ cadence: 'manual', wallet: false, ...options })
  const key = generatePrivateKey()
  const bundler = privateKeyToAccount(key).address
  const rpc = { request: async (request: RpcRequest) => (before(request), node.request(request)), subscribe: node.subscribe }
  const own = createBundler({ rpc, key, testMode: true, rules: 'off' })
  const request = (method: string, ...params: readonly unknown[]) => own.request({ method, params })
  const senders = new Map<Hex, Hex>()
  try {
    await onNode(node, async () => {
      await request('debug_bundler_setBundlingMode', 'manual')
      await ask('anvil_setBalance', bundler, numberToHex(10n ** 18n))
      await run({
        bundler,
        senders,
        send: async (callGas, count = 1) => {
          const hashes: Hex[] = []
          for (let i = 0; i < count; i++) {
            const sender = await account('0.8')
            const sent = await operation(sender, { callGasLimit: numberToHex(callGas) })
            const hash = (await request('eth_sendUserOperation', sent, entryPoint08Address)) as Hex
            hashes.push(hash)
            senders.set(hash, sender)
          }
          return hashes
        },
        flush: () => request('debug_bundler_sendBundleNow'),
        statuses: async (hashes) =>
          Promise.all(hashes.map((hash) => request('pimlico_getUserOperationStatus', hash))) as ReturnType<Context['statuses']>,
      })
    })
  } finally {
    await own.close()
  }
}

/** Sends and mines `rounds` times. */
async function bundle({ flush }: Context, rounds: number): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await flush()
    await ask('anvil_mine')
  }
  await flush()
}

describe('a bundle', () => {
  it.each<[limit: string, options: PocketchainOptions, before: () => Promise<unknown>]>([
    ['block gas limit of 10,000,000', { gasLimit: 10_000_000n }, async () => undefined],
    ['block gas limit that a request lowers', {}, () => ask('evm_setBlockGasLimit', '0x989680')],
    ['transaction gas cap of 5,000,000', { transactionGasCap: 5_000_000n }, async () => undefined],
  ])('has at most the gas of a %s', async (_, options, before) => {
    await withBundler(options, async (context) => {
      await before()
      await ask('anvil_mine')
      const hashes = await context.send(1_500_000, 7)
      await bundle(context, 4)
      const statuses = await context.statuses(hashes)
      expect(statuses.map(({ status }) => status)).toEqual(hashes.map(() => 'included'))
      expect(new Set(statuses.map(({ transactionHash }) => transactionHash)).size).toBeLessThan(7)
      await expect(context.send(9_500_000)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringMatching(/a bundle needs \d+ gas, and this chain accepts at most \d+; lower them/),
      })
      expect(await context.flush()).toBe('ok')
    })
  })

  it('leaves out an operation that fits into no block any more', async () => {
    await withBundler({}, async (context) => {
      const [big] = await context.send(12_000_000)
      const [small] = await context.send(100_000)
      await ask('evm_setBlockGasLimit', '0x989680')
      await ask('anvil_mine')
      await bundle(context, 3)
      expect(await context.statuses([big!, small!])).toMatchObject([
        { status: 'rejected', reason: expect.stringContaining('this chain accepts at most') },
        { status: 'included' },
      ])
    })
  })

  it("costs at most the bundler's balance; operations beyond it wait", async () => {
    await withBundler({}, async (context) => {
      const [first] = await context.send(1_000_000)
      const { gas, maxFeePerGas } = (await ask('eth_getTransactionByHash', await context.flush())) as { gas: Hex; maxFeePerGas: Hex }
      await ask('anvil_mine')
      const cost = BigInt(gas) * BigInt(maxFeePerGas)
      await ask('anvil_setBalance', context.bundler, numberToHex(cost * 2n))
      const hashes = await context.send(1_000_000, 3)
      await bundle(context, 3)
      expect((await context.statuses([first!, ...hashes])).map(({ status }) => status)).toEqual(Array(4).fill('included'))
      const [poor] = await context.send(1_000_000)
      await ask('anvil_setBalance', context.bundler, '0x1')
      for (let i = 0; i < 4; i++) await expect(context.flush()).rejects.toMatchObject({ data: { reason: 'bundler-unfunded' } })
      expect(await context.statuses([poor!])).toMatchObject([{ status: 'not_submitted' }])
      await ask('anvil_setBalance', context.bundler, numberToHex(10n ** 18n))
      await bundle(context, 1)
      expect(await context.statuses([poor!])).toMatchObject([{ status: 'included' }])
    })
  })

  it('that the node refuses is split, so that only the operation at fault is lost', async () => {
    const refused = { account: '' }
    const before = ({ method, params }: RpcRequest) => {
      if (method === 'eth_sendRawTransaction' && refused.account !== '' && String(params?.[0]).includes(refused.account))
        throw new RpcError(-32000, 'refused by the test')
    }
    await withBundler(
      {},
      async (context) => {
        const hashes = await context.send(100_000, 6)
        refused.account = context.senders.get(hashes[2]!)!.slice(2).toLowerCase()
        for (let i = 0; i < 3; i++)
          await expect(context.flush()).rejects.toMatchObject({ message: expect.stringContaining('refused by the test') })
        await ask('anvil_mine')
        await context.flush()
        for (const [i, { status }] of (await context.statuses(hashes)).entries()) expect(status).toBe(i === 2 ? 'rejected' : 'included')
      },
      before,
    )
  })

  it('waits with all its operations while the pool of the node is full', async () => {
    let sends = 0
    let isFull = true
    const before = ({ method }: RpcRequest) => {
      if (method !== 'eth_sendRawTransaction' || !isFull) return
      sends++
      throw new RpcError(-32000, 'txpool is full: it holds its limit of 65536 transactions')
    }
    await withBundler(
      {},
      async (context) => {
        const hashes = await context.send(100_000, 3)
        for (let i = 0; i < 4; i++) await expect(context.flush()).rejects.toMatchObject({ data: { reason: 'node-full' } })
        expect(sends).toBe(4)
        expect((await context.statuses(hashes)).map(({ status }) => status)).toEqual(Array(3).fill('not_submitted'))
        isFull = false
        await bundle(context, 1)
        expect((await context.statuses(hashes)).map(({ status }) => status)).toEqual(Array(3).fill('included'))
      },
      before,
    )
  })
})

it('an operation with a tip above its price is refused at a base fee of 0 too', async () => {
  await using node = await createPocketchain({ chainType: 'l1', cadence: 'manual', wallet: false })
  await onNode(node, async () => {
    await ask('anvil_setNextBlockBaseFeePerGas', '0x0')
    const fees = { maxFeePerGas: '0x0', maxPriorityFeePerGas: '0x5' }
    const sent = await operation(await account('0.8'), fees)
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('5 wei is more than maxFeePerGas (0 wei)'),
    })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    expect(await ask('eth_estimateUserOperationGas', sent, entryPoint08Address)).toMatchObject({ callGasLimit: expect.any(String) })
  })
})

const EXECUTE_USER_OP = '0x8dd7712f'

it.each<[what: string, version: Version, fields: Fields]>([
  ['without call data', '0.8', {}],
  ['with a long signature', '0.6', { signature: `0x${'ab'.repeat(20_000)}`, verificationGasLimit: numberToHex(400_000) }],
  ['with call data and limits that it does not use', '0.6', { callData: `0x${'ff'.repeat(20_000)}`, callGasLimit: numberToHex(3_000_000) }],
  ['with call data and limits that it does not use', '0.8', { callData: `0x${'ff'.repeat(20_000)}`, callGasLimit: numberToHex(5_000_000) }],
  [
    'with validation gas that it does not use',
    '0.9',
    { callData: `0x${'ff'.repeat(20_000)}`, verificationGasLimit: numberToHex(3_000_000) },
  ],
  ['for executeUserOp', '0.8', { callData: `${EXECUTE_USER_OP}${'ab'.repeat(10_000)}`, callGasLimit: numberToHex(200_000) }],
])('the least accepted overhead of an operation %s (EntryPoint %s) covers the cost of its bundle', async (_, version, fields) => {
  await using node = await createPocketchain({ chainType: 'l1', cadence: 'instant', wallet: false, bundler: { rules: 'off' } })
  await onNode(node, async () => {
    const sent = await operation(await account(version), { ...fields, preVerificationGas: '0x1' })
    const refusal = ask('eth_sendUserOperation', sent, VERSIONS[version])
    const { data } = await refusal.then(
      () => expect.unreachable(),
      (error: RpcError) => error,
    )
    const required = BigInt((data as { required: Hex }).required)
    const least = { ...sent, preVerificationGas: numberToHex(required + 80n) } // its own bytes cost gas
    const hash = (await ask('eth_sendUserOperation', least, VERSIONS[version])) as Hex
    const { actualGasUsed, receipt } = (await included(hash)) as { actualGasUsed: Hex; receipt: { gasUsed: Hex } }
    expect(Number(actualGasUsed)).toBeGreaterThanOrEqual(Number(receipt.gasUsed))
  })
})

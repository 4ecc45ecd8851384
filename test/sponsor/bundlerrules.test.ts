// The bundler's rules of ERC-7562, and their modes.
import { createPocketchain } from 'pocketchain'
import { concatHex, getAddress, getCreate2Address, numberToHex, parseEther, zeroHash } from 'viem'
import type { Address, Hex } from 'viem'
import { entryPoint08Address, entryPoint09Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { createBundler } from '../../src/bundler/index.ts'
import { RpcError } from '../../src/rpc/index.ts'
import type { Rpc } from '../../src/rpc/index.ts'
import {
  account,
  accountDoing,
  answering,
  ask,
  bundleOnRequest,
  depositTo,
  doing,
  included,
  onNode,
  operation,
  paymaster,
  paymasterDoing,
  READ_OWN_SLOT,
  rulesOf,
  seenOf,
  sharedNode,
  shareNode,
  sponsored,
  stake,
  withCode,
} from './bundler.fixture.ts'

shareNode()

const WETH: Address = '0x4200000000000000000000000000000000000006'

/** Succeeds at the first call only. */
const CALLED_ONCE = '0x5f54156009575f5ffd5b60015f5500'

describe('the rules of ERC-7562', () => {
  /** code of a call with 1,000 gas */
  const call = (to: Address, value: '5f' | '6001' = '5f'): Hex => `0x5f5f5f5f${value}73${to.slice(2)}6103e8f150`

  it.each<[rule: string, code: Hex]>([
    ['OP-011', '0x4250'],
    ['OP-011', '0x3a50'],
    ['OP-011', '0x5f5f5ff050'],
    ['OP-012', '0x5a50'],
    ['OP-031', '0x5f5f5f5ff550'],
    ['OP-041', call('0x00000000000000000000000000000000000e3e3e')],
    ['OP-054', `0x73${entryPoint08Address.slice(2).toLowerCase()}3f50` as Hex],
    ['OP-054', `0x63b760faf95f5260205f6004601c5f73${entryPoint08Address.slice(2).toLowerCase()}5af150` as Hex],
    ['OP-061', call(WETH, '6001')],
    ['OP-062', call('0x0000000000000000000000000000000000000012')],
    ['OP-080', '0x4750'],
  ])('reject %s (%s)', async (rule, code) => {
    const sender = await accountDoing(code)
    await ask('anvil_setBalance', sender, '0x1')
    await expect(ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)).rejects.toMatchObject({
      code: -32502,
      message: expect.stringContaining(rule),
    })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
  })

  it('let an account read its own storage', async () => {
    const sender = await accountDoing(READ_OWN_SLOT)
    const hash = await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)
    expect(await included(hash as Hex)).toMatchObject({ success: true })
  })

  it('let a paymaster read its own storage when it has a stake that is large enough', async () => {
    const sponsor = await paymasterDoing(READ_OWN_SLOT)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await expect(send()).rejects.toMatchObject({ code: -32502, message: expect.stringContaining('STO-031') })
    await stake(sponsor, 1n, 86_400n)
    await expect(send()).rejects.toMatchObject({ code: -32505, data: { paymaster: sponsor } })
    await stake(sponsor, parseEther('1'), 60n)
    await expect(send()).rejects.toMatchObject({ code: -32505 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    await stake(sponsor, parseEther('1'), 86_400n)
    expect(await included((await send()) as Hex)).toMatchObject({ success: true })
  })

  it('drop operations after a change of validated code', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sender = await account('0.8')
    const hash = await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)
    await ask('anvil_setCode', sender, doing('0x5b', 0n))
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await ask('pimlico_getUserOperationStatus', hash)).toMatchObject({
      status: 'rejected',
      reason: expect.stringContaining('COD-010'),
    })
    await ask('debug_bundler_setBundlingMode', 'auto')
  })

  it('do not accept a paymaster of the pool as a sender', async () => {
    await ask('debug_bundler_setBundlingMode', 'manual')
    const sponsor = await paymaster('0.8')
    await ask('eth_sendUserOperation', await operation(await account('0.8'), sponsored(sponsor, '0.8')), entryPoint08Address)
    await ask('anvil_setCode', sponsor, answering(0n))
    await expect(ask('eth_sendUserOperation', await operation(sponsor), entryPoint08Address)).rejects.toMatchObject({
      code: -32502,
      message: expect.stringContaining('STO-040'),
    })
    await ask('debug_bundler_clearState')
    await ask('debug_bundler_setBundlingMode', 'auto')
  })

  it('are not skipped: the bundler does not start on a node without the tracer, unless they are switched off', async () => {
    const untracing: Rpc = {
      subscribe: (params, listener) => sharedNode().subscribe(params, listener),
      request: async (request) => {
        if (request.method === 'debug_traceCall') throw new RpcError(-32601, 'the method debug_traceCall does not exist')
        return sharedNode().request(request)
      },
    }
    const key = generatePrivateKey()
    await ask('anvil_setBalance', privateKeyToAccount(key).address, numberToHex(parseEther('1')))
    const strict = createBundler({ rpc: untracing, key })
    const lax = createBundler({ rpc: untracing, key, rules: false })
    const sender = await accountDoing('0x4250')
    const request = { method: 'eth_sendUserOperation', params: [await operation(sender), entryPoint08Address] }
    await expect(strict.request(request)).rejects.toMatchObject({ code: -32000, data: { reason: 'no-tracer' } })
    expect(await included((await lax.request(request)) as Hex)).toMatchObject({ success: true })
    await strict.close()
    await lax.close()
  })
})

describe('the modes of the rules', () => {
  it('relaxed accepts a violation with a warning, and a failing signature not', async () => {
    const notes: string[] = []
    await using relaxed = await createPocketchain({ wallet: false, onNote: (line) => notes.push(line) })
    await onNode(relaxed, async () => {
      expect(await rulesOf({})).toMatchObject({ rules: 'relaxed', minStake: numberToHex(parseEther('0.1')), minUnstakeDelay: '0x15180' })
      const sender = await accountDoing('0x4250')
      const hash = (await ask('eth_sendUserOperation', await operation(sender), entryPoint08Address)) as Hex
      expect(await included(hash)).toMatchObject({ success: true })
      const warning = { userOpHash: hash, rule: 'OP-011', role: 'account', entity: sender.toLowerCase(), code: -32_502 }
      expect(await ask('pocketchain_userOperationWarnings', hash)).toMatchObject([
        { ...warning, message: expect.stringMatching(/^account uses banned opcode: TIMESTAMP \(OP-011 of ERC-7562/) },
      ])
      expect(await ask('pocketchain_userOperationWarnings')).toHaveLength(1)
      expect(await ask('pocketchain_userOperationWarnings', zeroHash)).toEqual([])
      expect(notes.filter((line) => line.includes('--bundler-rules strict refuses it here too'))).toHaveLength(1)
      const wrong = await withCode(doing('0x4250', 1n))
      await depositTo('0.8', wrong)
      await expect(ask('eth_sendUserOperation', await operation(wrong), entryPoint08Address)).rejects.toMatchObject({ code: -32507 })
      // Reads five slots of the paymaster itself.
      const sponsor = await paymasterDoing('0x5f545060015450600254506003545060045450')
      const many = await ask('eth_sendUserOperation', await operation(await account('0.8'), sponsored(sponsor, '0.8')), entryPoint08Address)
      expect(await ask('pocketchain_userOperationWarnings', many)).toMatchObject([{ rule: 'STO-031', entity: sponsor.toLowerCase() }])
      await rulesOf({ rules: 'strict' })
      await expect(ask('eth_sendUserOperation', await operation(await accountDoing('0x4350')), entryPoint08Address)).rejects.toMatchObject({
        code: -32502,
        message: expect.stringMatching(/^account uses banned opcode: NUMBER .*--bundler-rules relaxed accepts it here with a warning$/),
      })
      await rulesOf({ rules: 'off' })
      const unseen = (await ask('eth_sendUserOperation', await operation(await accountDoing('0x4250')), entryPoint08Address)) as Hex
      expect(await included(unseen)).toMatchObject({ success: true })
      expect(await ask('pocketchain_userOperationWarnings', unseen)).toEqual([])
      expect(await ask('debug_bundler_clearState')).toBe('ok')
      expect(await ask('pocketchain_userOperationWarnings')).toEqual([])
    })
  })

  it('count an entity as staked by the configured stake and delay', async () => {
    const sponsor = await paymasterDoing(READ_OWN_SLOT)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await stake(sponsor, 1n, 2n)
    await expect(send()).rejects.toMatchObject({ code: -32505 })
    const status = () => ask('debug_bundler_getStakeStatus', sponsor, entryPoint08Address)
    const stakeInfo = { addr: getAddress(sponsor), stake: '1', unstakeDelaySec: '2' }
    expect(await status()).toEqual({ stakeInfo, isStaked: false })
    try {
      await rulesOf({ minStake: '0x1', minUnstakeDelay: '0x2' })
      expect(await included((await send()) as Hex)).toMatchObject({ success: true })
      expect(await status()).toEqual({ stakeInfo, isStaked: true })
    } finally {
      await rulesOf({ minStake: numberToHex(parseEther('0.1')), minUnstakeDelay: '0x15180' })
    }
  })

  it.each([
    [{ rules: 'lax' }, 'one of strict, relaxed, off'],
    [{ minStake: -1 }, 'minStake'],
    [{ stake: '0x1' }, 'is unknown; there are rules, minStake, minUnstakeDelay'],
  ])('refuse %j', async (change, message) => {
    await expect(rulesOf(change)).rejects.toMatchObject({ code: -32602, message: expect.stringContaining(message) })
    expect(await rulesOf({})).toMatchObject({ rules: 'strict' })
  })

  it('an unstaked paymaster returns no context (EREP-050)', async () => {
    // Returns (bytes of length 1, 0).
    const sponsor = await withCode(answering(0x40n, 0n, 1n, 0n))
    await depositTo('0.8', sponsor)
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const send = () => ask('eth_sendUserOperation', sent, entryPoint08Address)
    await expect(send()).rejects.toMatchObject({ code: -32502, message: expect.stringMatching(/^paymaster returns a context \(EREP-050/) })
    await stake(sponsor, parseEther('1'), 86_400n)
    expect(await included((await send()) as Hex)).toMatchObject({ success: true })
  })

  it('the precompiles of BLS12-381 may be called', async () => {
    const sender = await accountDoing(`0x5f5f5f5f5f73${'0b'.padStart(40, '0')}6103e8f150`)
    const sent = await operation(sender)
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).resolves.toMatch(/^0x/)
  })
})

describe('reputations', () => {
  bundleOnRequest()

  async function sendOf(sponsor: Address, count: number): Promise<readonly Hex[]> {
    const hashes: Hex[] = []
    for (let i = 0; i < count; i++) {
      const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
      hashes.push((await ask('eth_sendUserOperation', sent, entryPoint08Address)) as Hex)
    }
    return hashes
  }

  const statusesOf = async (hashes: readonly Hex[]) =>
    (await Promise.all(hashes.map((hash) => ask('pimlico_getUserOperationStatus', hash)))) as { status: string; reason?: string }[]

  const setReputation = (address: Address, opsSeen: number) =>
    ask('debug_bundler_setReputation', [{ address, opsSeen: numberToHex(opsSeen), opsIncluded: '0x0' }], entryPoint08Address)

  it('limit a bundle to four operations of a throttled entity (GREP-020)', async () => {
    const sponsor = await paymaster('0.8')
    const hashes = await sendOf(sponsor, 6)
    await setReputation(sponsor, 200)
    const transaction = await ask('debug_bundler_sendBundleNow')
    const first = (await statusesOf(hashes)).filter((each) => (each as { transactionHash?: unknown }).transactionHash === transaction)
    expect(first).toHaveLength(4)
    await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes) expect(await included(hash)).toMatchObject({ success: true })
  })

  it('drop an operation of a throttled entity that waits for ten blocks (GREP-020)', async () => {
    const sponsor = await paymaster('0.8')
    const waiting = (await sendOf(sponsor, 5)).slice(4)
    await setReputation(sponsor, 200)
    await ask('debug_bundler_sendBundleNow') // the other four
    expect(await statusesOf(waiting)).toMatchObject([{ status: 'not_submitted' }])
    await ask('anvil_mine', '0xa')
    await ask('debug_bundler_sendBundleNow')
    expect(await statusesOf(waiting)).toMatchObject([{ status: 'rejected', reason: expect.stringContaining('is throttled') }])
  })

  it('remove the operations of a banned entity (GREP-010)', async () => {
    const sponsor = await paymaster('0.8')
    const hashes = await sendOf(sponsor, 2)
    const [other] = await sendOf(await paymaster('0.8'), 1)
    await setReputation(sponsor, 10_000)
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
    for (const each of await statusesOf(hashes))
      expect(each).toMatchObject({ status: 'rejected', reason: expect.stringContaining('is banned') })
    await ask('debug_bundler_sendBundleNow')
    expect(await included(other!)).toMatchObject({ success: true })
  })

  it('are no reason to remove operations under relaxed rules', async () => {
    await rulesOf({ rules: 'relaxed' })
    const sponsor = await paymaster('0.8')
    const hashes = await sendOf(sponsor, 5)
    await setReputation(sponsor, 10_000)
    await ask('debug_bundler_sendBundleNow')
    for (const hash of hashes) expect(await included(hash)).toMatchObject({ success: true })
    await rulesOf({ rules: 'strict' })
  })

  it('bans the staked factory of an account that fails in its bundle only (EREP-020)', async () => {
    await rulesOf({ rules: 'relaxed' })
    try {
      const factory = await withCode(answering(0n))
      await stake(factory, parseEther('1'), 86_400n, '0.9')
      const once = await withCode(CALLED_ONCE)
      for (let i = 0; i < 2; i++) {
        const sender = await withCode(concatHex(['0x5f5f5f5f5f73', once, '0x5af16022575f5ffd5b60205ff3'])) // fails if `once` fails
        await depositTo('0.9', sender)
        // EntryPoint 0.9 does not call the factory of an account that exists.
        await ask('eth_sendUserOperation', await operation(sender, { factory, factoryData: '0x' }), entryPoint09Address)
      }
      expect(await ask('debug_bundler_sendBundleNow')).not.toBeNull()
      expect(await seenOf(factory)).toBe(10_000)
    } finally {
      await rulesOf({ rules: 'strict' })
    }
  })

  // The second operation conflicts only with the first one of its own sender: other users of factory and paymaster are not affected.
  describe('ban nobody for two operations of one sender', () => {
    const NONCES = ['0x0', numberToHex(1n << 64n)]

    it('that both create the account (AA10)', async () => {
      const initCode = '0x665f5f5260205ff35f5260076019f3' // of an account that accepts any signature
      const factory = await withCode(`0x6e${initCode.slice(2)}5f525f600f60115ff55f5260205ff3`)
      const sender = getCreate2Address({ from: factory, salt: zeroHash, bytecode: initCode })
      await depositTo('0.8', sender)
      const hashes: unknown[] = []
      for (const nonce of NONCES)
        hashes.push(await ask('eth_sendUserOperation', await operation(sender, { factory, factoryData: '0x', nonce }), entryPoint08Address))
      expect(await ask('debug_bundler_sendBundleNow')).not.toBe('ok')
      expect(await included(hashes[0] as Hex)).toMatchObject({ success: true })
      await ask('debug_bundler_sendBundleNow')
      expect(await statusesOf([hashes[1] as Hex])).toMatchObject([{ status: 'rejected', reason: expect.stringContaining('AA10') }])
      expect(await seenOf(factory)).toBe(2)
    })

    it('that the paymaster pays for once (AA33)', async () => {
      const sponsor = await paymasterDoing('0x5f54156009575f5ffd5b60015f55') // reverts from the second call on
      await stake(sponsor, parseEther('1'), 86_400n)
      const sender = await account('0.8')
      const hashes: unknown[] = []
      for (const nonce of NONCES)
        hashes.push(
          await ask('eth_sendUserOperation', await operation(sender, { ...sponsored(sponsor, '0.8'), nonce }), entryPoint08Address),
        )
      expect(await ask('debug_bundler_sendBundleNow')).not.toBe('ok')
      expect(await included(hashes[0] as Hex)).toMatchObject({ success: true })
      await ask('debug_bundler_sendBundleNow')
      expect(await statusesOf([hashes[1] as Hex])).toMatchObject([{ status: 'rejected', reason: expect.stringContaining('AA33') }])
      expect(await seenOf(sponsor)).toBe(2)
    })
  })
})

// Operations with a paymaster: their gas, their receipts, the reputation and the deposit of the paymaster.
import { concatHex, encodeAbiParameters, getAddress, numberToHex, parseEther, toFunctionSelector } from 'viem'
import type { Address, Hex } from 'viem'
import { entryPoint08Address, entryPoint09Address } from 'viem/account-abstraction'
import { describe, expect, it } from 'vitest'
import {
  VERSIONS,
  shareNode,
  bundleOnRequest,
  ask,
  answering,
  withCode,
  reverting,
  branching,
  POST_OP,
  UNPACKED,
  PACKED,
  account,
  paymaster,
  depositTo,
  operation,
  sponsored,
  included,
  seenOf,
  stake,
} from './bundler.fixture.ts'
import type { Fields } from './bundler.fixture.ts'

shareNode()

const PRICE = { maxFeePerGas: numberToHex(10n ** 10n), maxPriorityFeePerGas: '0x1' }
/** Returns the word of slot 0. */
const ANSWERING_OWN_SLOT = '0x5f545f5260205ff3'

describe('a paymaster of EntryPoint 0.9', () => {
  it('has a signature of the paymaster outside its hash', async () => {
    const sender = await account('0.9')
    const signed = { ...sponsored(await paymaster('0.9'), '0.9'), paymasterData: '0xaabb', paymasterSignature: '0x010203' }
    const sent = await operation(sender, signed)
    const hash = (await ask('eth_sendUserOperation', sent, entryPoint09Address)) as Hex
    const again = { ...sent, paymasterSignature: '0x04' }
    await expect(ask('eth_sendUserOperation', again, entryPoint09Address)).rejects.toMatchObject({ data: { userOpHash: hash } })
    expect(await included(hash)).toMatchObject({ success: true })
    expect(await ask('eth_getUserOperationByHash', hash)).toMatchObject({
      userOperation: { paymasterData: '0xaabb', paymasterSignature: '0x010203' },
    })
    await expect(
      ask('eth_sendUserOperation', { ...sent, ...sponsored(await paymaster('0.8'), '0.8') }, entryPoint08Address),
    ).rejects.toMatchObject({ code: -32602, message: expect.stringContaining('paymasterSignature') })
  })
})

describe.each(['0.6', '0.7', '0.8', '0.9'] as const)('a paymaster of EntryPoint %s', (version) => {
  it('succeeds with the estimated limits', async () => {
    const sender = await account(version)
    const sponsor = await paymaster(version)
    const whole = await operation(sender, sponsored(sponsor, version))
    const { callGasLimit: _, verificationGasLimit: __, preVerificationGas: ___, signature: ____, ...partial } = whole
    const limits = (await ask('eth_estimateUserOperationGas', partial, VERSIONS[version])) as Fields
    const hash = await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])
    expect(await included(hash as Hex)).toMatchObject({ success: true })
  })

  it('succeeds with the estimated limits, of which postOp needs the most', async () => {
    // Hashes 128 KB, then sets slot 0: 92,000 gas.
    const sponsor = await withCode(branching(POST_OP[version], '0x620200005f205060015f5500', answering(0x40n, 0n, 0x20n, 7n)))
    await depositTo(version, sponsor)
    await stake(sponsor, parseEther('1'), 86_400n, version) // EREP-050
    const whole = await operation(await account(version), sponsored(sponsor, version))
    const limits = (await ask('eth_estimateUserOperationGas', whole, VERSIONS[version])) as Fields
    expect(Number(limits[version === '0.6' ? 'verificationGasLimit' : 'paymasterPostOpGasLimit'])).toBeGreaterThan(92_000)
    const hash = (await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])) as Hex
    expect(await included(hash)).toMatchObject({ success: true })
    expect(await ask('eth_getStorageAt', sponsor, '0x0', 'pending')).toBe(numberToHex(1, { size: 32 }))
  })

  it('has the reason of a postOp that reverts', async () => {
    const error = concatHex(['0x08c379a0', encodeAbiParameters([{ type: 'string' }], ['no tokens'])])
    const sponsor = await withCode(branching(POST_OP[version], reverting(error), answering(0x40n, 0n, 0x20n, 7n)))
    await depositTo(version, sponsor)
    await stake(sponsor, parseEther('1'), 86_400n, version) // EREP-050
    const sending = operation(await account(version), sponsored(sponsor, version)).then((sent) =>
      ask('eth_sendUserOperation', sent, VERSIONS[version]),
    )
    const reason = 'AA50 postOp reverted: no tokens'
    // In 0.6 the EntryPoint refuses the bundle.
    if (version === '0.6') await expect(sending).rejects.toMatchObject({ code: -32501, message: reason })
    else {
      const wrapped = concatHex([toFunctionSelector('PostOpReverted(bytes)'), encodeAbiParameters([{ type: 'bytes' }], [error])])
      expect(await included((await sending) as Hex)).toMatchObject({ success: false, reason: wrapped })
    }
  })

  it('may have its account as its paymaster', async () => {
    const tuple = version === '0.6' ? UNPACKED : PACKED
    const validate = `validatePaymasterUserOp(${tuple},bytes32,uint256)`
    const sender = await withCode(branching(validate, answering(0x40n, 0n, 0n), answering(0n)))
    await depositTo(version, sender)
    const whole = await operation(sender, sponsored(sender, version))
    const limits = (await ask('eth_estimateUserOperationGas', whole, VERSIONS[version])) as Fields
    const hash = (await ask('eth_sendUserOperation', { ...whole, ...limits }, VERSIONS[version])) as Hex
    expect(await included(hash)).toMatchObject({ success: true, sender: getAddress(sender), paymaster: getAddress(sender) })
  })
})

describe('a paymaster in the pool', () => {
  bundleOnRequest()

  it('does not count an operation of a paymaster that its account invalidated (EREP-015)', async () => {
    const [sender, sponsor] = [await withCode(ANSWERING_OWN_SLOT), await paymaster('0.8')]
    await ask('eth_sendUserOperation', await operation(sender, sponsored(sponsor, '0.8')), entryPoint08Address)
    expect(await seenOf(sponsor)).toBe(1)
    await ask('anvil_setStorageAt', sender, '0x0', numberToHex(1, { size: 32 }))
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await seenOf(sponsor)).toBe(0)
  })

  it.each([
    ['unstaked', 0, 1],
    ['staked', 1, 0],
  ])('counts a failure of the paymaster of an account that is %s (EREP-030)', async (kind, ofSender, ofSponsor) => {
    const [sender, sponsor] = [await account('0.8'), await paymaster('0.8')]
    if (kind === 'staked') await stake(sender, parseEther('1'), 86_400n)
    await ask('eth_sendUserOperation', await operation(sender, sponsored(sponsor, '0.8')), entryPoint08Address)
    await depositTo('0.8', sponsor, 0n)
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect([await seenOf(sender), await seenOf(sponsor)]).toEqual([ofSender, ofSponsor])
  })

  it('bans a paymaster whose deposit covers an operation alone and not in its bundle (EREP-040)', async () => {
    const sponsor = await paymaster('0.8')
    for (let i = 0; i < 2; i++)
      await ask(
        'eth_sendUserOperation',
        await operation(await account('0.8'), { ...sponsored(sponsor, '0.8'), ...PRICE }),
        entryPoint08Address,
      )
    await depositTo('0.8', sponsor, 430_000n * 10n ** 10n) // one operation may cost as much
    expect(await ask('debug_bundler_sendBundleNow')).not.toBeNull()
    expect(await seenOf(sponsor)).toBe(10_000)
  })

  it('rejects operations of banned entities', async () => {
    const sponsor = await paymaster('0.8')
    const sent = await operation(await account('0.8'), sponsored(sponsor, '0.8'))
    const reputation = { address: sponsor, opsSeen: '0x3e8', opsIncluded: '0x0' }
    await ask('debug_bundler_setReputation', [reputation], entryPoint08Address)
    expect(await ask('debug_bundler_dumpReputation', entryPoint08Address)).toMatchObject([{ status: 'banned' }])
    await expect(ask('eth_sendUserOperation', sent, entryPoint08Address)).rejects.toMatchObject({ code: -32504 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
    expect(await ask('debug_bundler_clearMempool')).toBe('ok')
    expect(await ask('debug_bundler_dumpReputation', entryPoint08Address)).toMatchObject([{ status: 'banned' }])
    expect(await ask('debug_bundler_clearReputation')).toBe('ok')
    expect(await ask('debug_bundler_dumpReputation', entryPoint08Address)).toEqual([])
    await ask('eth_sendUserOperation', sent, entryPoint08Address)
    expect(await ask('debug_bundler_clearReputation')).toBe('ok')
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
  })

  it('accepts operations that arrive at once up to the deposit of their paymaster', async () => {
    const sponsor = await paymaster('0.8', 0n, 3n * 430_000n * 10n ** 10n)
    const answers = await sendAtOnce(sponsor, 8)
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    for (const answer of answers) if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: -32508 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(3)
    expect(await seenOf(sponsor)).toBe(3)
  })

  it('accepts four operations that arrive at once of a throttled paymaster', async () => {
    const sponsor = await paymaster('0.8')
    await ask('debug_bundler_setReputation', [{ address: sponsor, opsSeen: '0x190', opsIncluded: '0x10' }], entryPoint08Address)
    const answers = await sendAtOnce(sponsor, 8)
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    for (const answer of answers) if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: -32504 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(4)
  })

  it('is not blamed for operations that were added beyond its deposit', async () => {
    const sponsor = await paymaster('0.8', 0n, 430_000n * 10n ** 10n)
    const operations = [await ofSponsor(sponsor), await ofSponsor(sponsor)]
    await ask('debug_bundler_addUserOps', operations, entryPoint08Address)
    await ask('debug_bundler_sendBundleNow')
    expect(await seenOf(sponsor)).toBe(2)
  })

  async function ofSponsor(sponsor: Address): Promise<Fields> {
    return operation(await account('0.8'), { ...sponsored(sponsor, '0.8'), ...PRICE })
  }

  async function sendAtOnce(sponsor: Address, count: number) {
    const operations = await Promise.all(Array.from({ length: count }, () => ofSponsor(sponsor)))
    return Promise.allSettled(operations.map((each) => ask('eth_sendUserOperation', each, entryPoint08Address)))
  }

  it('accepts operations up to the deposit of their paymaster', async () => {
    const price = { maxFeePerGas: numberToHex(10n ** 10n), maxPriorityFeePerGas: '0x1' }
    // One operation may cost 430,000 gas.
    const sponsor = await paymaster('0.8', 0n, 430_000n * 10n ** 10n)
    const of = async () => operation(await account('0.8'), { ...sponsored(sponsor, '0.8'), ...price })
    await ask('eth_sendUserOperation', await of(), entryPoint08Address)
    await expect(ask('eth_sendUserOperation', await of(), entryPoint08Address)).rejects.toMatchObject({ code: -32508 })
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toHaveLength(1)
  })
})

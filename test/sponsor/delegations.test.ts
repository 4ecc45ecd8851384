// Operations of accounts that delegate (EIP-7702): each runs with the delegate with which it was validated.
import { concatHex, numberToHex } from 'viem'
import type { Address, Hex } from 'viem'
import { entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { PrivateKeyAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import {
  PACKED,
  VERSIONS,
  answering,
  ask,
  branching,
  bundleOnRequest,
  depositTo,
  included,
  operation,
  rulesOf,
  shareNode,
  withCode,
} from './bundler.fixture.ts'
import type { Fields, Version } from './bundler.fixture.ts'

shareNode()

/** Accepts any signature; a call emits a log with this number. */
function delegate(number: number): Promise<Address> {
  const log = concatHex(['0x60', numberToHex(number, { size: 1 }), '0x5f5260205fa000'])
  return withCode(branching(`validateUserOp(${PACKED},bytes32,uint256)`, answering(0n), log))
}

async function authorizationOf(owner: PrivateKeyAccount, to: Address): Promise<Fields> {
  const { r, s, yParity } = await owner.signAuthorization({ chainId: 31_337, contractAddress: to, nonce: 0 })
  return { chainId: '0x7a69', address: to, nonce: '0x0', r, s, yParity: numberToHex(yParity ?? 0) }
}

async function send(version: Version, sender: Address, key: bigint, more: Fields): Promise<Hex> {
  const sent = await operation(sender, { nonce: numberToHex(key << 64n), callData: '0x11223344', ...more })
  return (await ask('eth_sendUserOperation', sent, VERSIONS[version])) as Hex
}

/** The number that the account's call logged. */
async function numberOf(hash: Hex): Promise<number> {
  const { logs } = (await included(hash)) as { logs: { data: Hex }[] }
  return Number(logs[0]?.data)
}

const status = (hash: Hex) => ask('pimlico_getUserOperationStatus', hash)

describe('operations of one account with two delegates', () => {
  bundleOnRequest()
  afterEach(() => rulesOf({ rules: 'strict' }))

  it.each<Version>(['0.7', '0.8'])('are refused under strict rules (AUTH-040), %s', async (version) => {
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo(version, owner.address)
    const [first, second] = [await delegate(1), await delegate(2)]
    const hash = await send(version, owner.address, 0n, { eip7702Auth: await authorizationOf(owner, first) })
    await expect(send(version, owner.address, 1n, { eip7702Auth: await authorizationOf(owner, second) })).rejects.toMatchObject({
      code: -32502,
      data: { rule: 'AUTH-040' },
    })
    expect(await ask('debug_bundler_dumpMempool', VERSIONS[version])).toHaveLength(1)
    await ask('debug_bundler_sendBundleNow')
    expect(await numberOf(hash)).toBe(1)
  })

  it.each(['relaxed', 'off'])('do not share a bundle under rules %s: the second is rejected', async (rules) => {
    await rulesOf({ rules })
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.7', owner.address)
    const hashes: Hex[] = []
    for (const [i, to] of [await delegate(1), await delegate(2)].entries())
      hashes.push(await send('0.7', owner.address, BigInt(i), { eip7702Auth: await authorizationOf(owner, to) }))
    const [first, second] = hashes as [Hex, Hex]
    await ask('debug_bundler_sendBundleNow')
    expect(await status(second)).toMatchObject({ status: 'not_submitted' })
    expect(await numberOf(first)).toBe(1)
    await ask('debug_bundler_sendBundleNow')
    expect(await status(second)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('has used nonce 0 otherwise') })
  })

  it.each(['strict', 'off'])('run with the delegate of their validation, one after the other, under rules %s', async (rules) => {
    await rulesOf({ rules })
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    const [before, after] = [await delegate(1), await delegate(2)]
    await ask('anvil_setCode', owner.address, concatHex(['0xef0100', before]))
    const first = await send('0.8', owner.address, 0n, {})
    const second = await send('0.8', owner.address, 1n, { eip7702Auth: await authorizationOf(owner, after) })
    const late = await send('0.8', owner.address, 2n, {})
    await ask('debug_bundler_sendBundleNow')
    expect(await status(second)).toMatchObject({ status: 'not_submitted' })
    expect([await numberOf(first), await numberOf(late)]).toEqual([1, 1])
    await ask('debug_bundler_sendBundleNow')
    expect(await numberOf(second)).toBe(2)
    expect(await ask('debug_bundler_dumpMempool', entryPoint08Address)).toEqual([])
  })

  it.each(['strict', 'off'])('are rejected once the delegate has changed, under rules %s (COD-010)', async (rules) => {
    await rulesOf({ rules })
    const owner = privateKeyToAccount(generatePrivateKey())
    await depositTo('0.8', owner.address)
    await ask('anvil_setCode', owner.address, concatHex(['0xef0100', await delegate(1)]))
    const sent = await send('0.8', owner.address, 0n, {})
    await ask('anvil_setCode', owner.address, concatHex(['0xef0100', await delegate(2)]))
    expect(await ask('debug_bundler_sendBundleNow')).toBe('ok')
    expect(await status(sent)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('COD-010') })
  })
})

import { describe, expect, it } from 'vitest'
import { ALICE, testNode } from '../node.fixture.ts'

const STRANGER = '0x00000000000000000000000000000000000a11ce'

async function rich() {
  const node = await testNode({ cadence: { kind: 'instant' } })
  await node.ask('anvil_setBalance', STRANGER, '0xde0b6b3a7640000')
  const pay = () => node.ask('eth_sendTransaction', { from: STRANGER, to: ALICE, value: '0x1' })
  return { ...node, pay }
}

describe('impersonation', () => {
  it('returns the result of each method family', async () => {
    const { ask } = await rich()
    expect(await ask('anvil_impersonateAccount', STRANGER)).toBeNull()
    expect(await ask('hardhat_impersonateAccount', STRANGER)).toBe(true)
    expect(await ask('hardhat_stopImpersonatingAccount', STRANGER)).toBe(true)
    expect(await ask('hardhat_stopImpersonatingAccount', STRANGER)).toBe(false)
    expect(await ask('anvil_stopImpersonatingAccount', STRANGER)).toBeNull()
  })

  it('lists the account, which has no key to sign with', async () => {
    const { ask } = await rich()
    await ask('anvil_impersonateAccount', STRANGER)
    expect(await ask('eth_accounts')).toContain(STRANGER)
    await expect(ask('eth_sign', STRANGER, '0x00')).rejects.toThrow('unknown account')
  })

  it('applies to every address in automatic mode', async () => {
    const { ask, pay } = await rich()
    await expect(pay()).rejects.toThrow('unknown account')
    await ask('anvil_autoImpersonateAccount', true)
    expect(await ask('eth_getTransactionReceipt', await pay())).toMatchObject({ status: '0x1', from: STRANGER })
    await ask('anvil_autoImpersonateAccount', false)
    await expect(pay()).rejects.toThrow('unknown account')
  })

  it('gives equal transactions of two senders different hashes', async () => {
    const { ask } = await rich()
    const other = '0x00000000000000000000000000000000000b0b00'
    await ask('anvil_setBalance', other, '0xde0b6b3a7640000')
    await ask('anvil_autoImpersonateAccount', true)
    const fields = { to: ALICE, value: '0x1', gas: '0x186a0', gasPrice: '0x77359400' }
    const hashes = [
      await ask('eth_sendTransaction', { from: STRANGER, ...fields }),
      await ask('eth_sendTransaction', { from: other, ...fields }),
    ]
    expect(new Set(hashes).size).toBe(2)
  })
})

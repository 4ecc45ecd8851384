import { describe, expect, test } from 'vitest'
import { vitestFixtures } from './vitest.ts'
import type { VitestContext } from './vitest.ts'

const it = test.extend<VitestContext>(vitestFixtures({ wallet: { answerWithinMs: 200 } }))
const APP = 'http://localhost:3000'
const RECIPIENT = '0x00000000000000000000000000000000005eed01'

describe('the fixture of Vitest', () => {
  it('provides a chain that seals each transaction at once', async ({ chain }) => {
    const [from] = chain.accounts
    const hash = await chain.request({ method: 'eth_sendTransaction', params: [{ from: from?.address, to: RECIPIENT, value: '0x1' }] })
    expect(await chain.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1' })
  })

  it('restores the chain for the next test', async ({ chain }) => {
    expect(await chain.request({ method: 'eth_blockNumber', params: [] })).toBe('0x0')
    expect(await chain.request({ method: 'eth_getBalance', params: [RECIPIENT, 'latest'] })).toBe('0x0')
  })

  it('provides a wallet that a script approves', async ({ chain, wallet }) => {
    const provider = wallet.provider(APP)
    const connecting = provider.request({ method: 'eth_requestAccounts' })
    const connect = await wallet.approvals.next({ kind: 'connect', origin: APP })
    connect.approve()
    const [account] = (await connecting) as string[]
    const sending = provider.request({ method: 'eth_sendTransaction', params: [{ from: account, to: RECIPIENT, value: '0x5' }] })
    const prompt = await wallet.approvals.next()
    expect(prompt.question).toMatchObject({ kind: 'send', account: account?.toLowerCase() })
    prompt.approve()
    await sending
    expect(await chain.request({ method: 'eth_getBalance', params: [RECIPIENT, 'latest'] })).toBe('0x5')
    wallet.approvals.setPolicy('approve')
  })

  it('provides a wallet without sites to the next test', async ({ wallet }) => {
    expect(wallet.approvals.policy).toBe('ask')
    expect(wallet.sites.list()).toEqual([])
    expect(await wallet.provider(APP).request({ method: 'eth_accounts' })).toEqual([])
  })

  it('names the user operations of a test that a public bundler refuses', async ({ chain, expectNoRuleWarnings }) => {
    await expectNoRuleWarnings()
    const entryPoint = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
    const account = '0x00000000000000000000000000000000000acc01'
    // TIMESTAMP POP, and a valid signature.
    await chain.request({ method: 'anvil_setCode', params: [account, '0x42505f5f5260205ff3'] })
    await chain.request({ method: 'anvil_setBalance', params: [account, '0xde0b6b3a7640000'] })
    const deposit = { to: entryPoint, value: '0xde0b6b3a7640000', data: `0xb760faf9${account.slice(2).padStart(64, '0')}` }
    await chain.request({ method: 'eth_sendTransaction', params: [{ from: chain.accounts[0]?.address, ...deposit }] })
    const gas = { callGasLimit: '0x30d40', verificationGasLimit: '0x30d40', preVerificationGas: '0x30d40' }
    const operation = {
      sender: account,
      nonce: '0x0',
      callData: '0x',
      signature: '0x',
      ...gas,
      maxFeePerGas: '0x77359400',
      maxPriorityFeePerGas: '0x1',
    }
    await chain.request({ method: 'eth_sendUserOperation', params: [operation, entryPoint] })
    await expect(expectNoRuleWarnings()).rejects.toThrow(
      /a public bundler refuses: \n0x[0-9a-f]{64}: account uses banned opcode: TIMESTAMP/,
    )
  })

  it('forgets the warnings of the test before', ({ expectNoRuleWarnings }) => expectNoRuleWarnings())

  it('provides a sponsor with simulated faults', async ({ chain }) => {
    expect(await chain.request({ method: 'pocketchain_sponsorFault', params: [{ kind: 'refuse' }] })).toMatchObject({ kind: 'refuse' })
    const policies = [{ name: 'paused', total: '0' }]
    expect(await chain.request({ method: 'pocketchain_sponsorPolicies', params: [policies] })).toMatchObject([{ name: 'paused' }])
  })

  it('restores the sponsor for the next test', async ({ chain }) => {
    const status = await chain.request({ method: 'pocketchain_sponsorStatus', params: [] })
    expect(status).toMatchObject({ fault: null, policies: [{ name: 'everything' }] })
  })

  it('rejects an unanswered question with a message that contains the missing call', async ({ wallet }) => {
    const connecting = wallet.provider(APP).request({ method: 'eth_requestAccounts' })
    await expect(connecting).rejects.toMatchObject({
      code: 4001,
      message: expect.stringMatching(/no answer.*eth_requestAccounts.*http:\/\/localhost:3000.*\d+ ms.*wallet\.approvals\.next\(\)/su),
    })
    expect(() => wallet.approvals.assertAnswered()).toThrow(/no answer/)
  })

  it('fails a test that ends with an unanswered question', async ({ chain }) => {
    const forgetful = vitestFixtures().wallet({ chain }, async (wallet) => {
      const sent = new Promise((resolve) => wallet.approvals.subscribe(resolve))
      wallet
        .provider(APP)
        .request({ method: 'eth_requestAccounts' })
        .catch(() => {})
      await sent
    })
    const [outcome] = await Promise.allSettled([forgetful])
    expect(outcome).toMatchObject({
      reason: { message: expect.stringContaining('no answer: eth_requestAccounts of http://localhost:3000') },
    })
  })
})

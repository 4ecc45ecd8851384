import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { privateKeyToAccount } from 'viem/accounts'
import type { RunningNode } from '../node.fixture.ts'
import { ALICE, BOB, ForkedChain, LEDGER, deploy, quantity, send, word } from './upstream.fixture.ts'

const WHALE = '0x000000000000000000000000000000000000beef'
const ETHER = 10n ** 18n
const SIGNER = privateKeyToAccount(`0x${word(0xcafe)}`)

describe.each(['op', 'l1'] as const)('dev methods on a fork of an %s chain', (chainType) => {
  let chain: ForkedChain
  let fork: RunningNode
  let ledger: string
  const slotOf = async (node: RunningNode, key: number): Promise<string> => {
    const { logs } = (await send(node, { to: ledger, data: `0x${word(key)}${word(0)}` })) as { logs: { topics: string[] }[] }
    return logs[0]!.topics[0]!
  }
  const valueOf = async (key: number, block = 'latest'): Promise<number> =>
    Number(await fork.ask('eth_call', { to: ledger, data: `0x${word(key)}${word(0)}` }, block))

  beforeEach(async () => {
    chain = await ForkedChain.start({ chainType })
    ledger = await deploy(chain.upstream, LEDGER)
    await send(chain.upstream, { to: ledger, data: `0x${word(1)}${word(100)}` })
    await send(chain.upstream, { to: WHALE, value: quantity(5n * ETHER) })
    fork = await chain.fork()
  })

  afterEach(() => chain[Symbol.asyncDispose]())

  it('edits balance, nonce, code and slots of upstream accounts, visible at latest right after the start', async () => {
    const slot = await slotOf(chain.upstream, 1)
    await fork.ask('anvil_setBalance', WHALE, '0x7')
    await fork.ask('anvil_setNonce', WHALE, '0x9')
    await fork.ask('anvil_setStorageAt', ledger, slot, `0x${word(55)}`)
    expect(await fork.ask('eth_getBalance', WHALE, 'latest')).toBe('0x7')
    expect(await fork.ask('eth_getTransactionCount', WHALE, 'latest')).toBe('0x9')
    expect(await valueOf(1)).toBe(55)
    expect(await valueOf(1, 'pending')).toBe(55)
    await fork.ask('anvil_setCode', WHALE, '0x60015f5260205ff3')
    expect(await fork.ask('eth_getBalance', WHALE)).toBe('0x7')
    expect(Number(await fork.ask('eth_call', { to: WHALE }))).toBe(1)
    await send(fork, { to: ledger, data: `0x${word(1)}${word(1)}` })
    expect(await valueOf(1)).toBe(56)
    await fork.ask('anvil_setStorageAt', ledger, slot, `0x${word(0)}`)
    expect(await valueOf(1)).toBe(0)
    expect(await chain.upstream.ask('eth_getStorageAt', ledger, slot)).toBe(`0x${word(100)}`)
  })

  it('impersonates an account of upstream', async () => {
    await fork.ask('anvil_impersonateAccount', WHALE)
    const receipt = await send(fork, { from: WHALE, to: BOB, value: quantity(ETHER) })
    expect(receipt).toMatchObject({ status: '0x1', from: WHALE })
    expect(await fork.ask('eth_getTransactionCount', WHALE)).toBe('0x1')
    expect(await chain.upstream.ask('eth_getTransactionCount', WHALE)).toBe('0x0')
  })

  it('reverts to a snapshot, rolls back, reorganises and resets to the fork block', async () => {
    const origin = await fork.ask('eth_blockNumber')
    await send(fork, { to: ledger, data: `0x${word(1)}${word(1)}` })
    const snapshot = await fork.ask('evm_snapshot')
    await send(fork, { to: ledger, data: `0x${word(1)}${word(10)}` })
    await fork.ask('anvil_setBalance', WHALE, '0x1')
    expect(await valueOf(1)).toBe(111)
    expect(await fork.ask('evm_revert', snapshot)).toBe(true)
    expect(await valueOf(1)).toBe(101)
    expect(await fork.ask('eth_getBalance', WHALE)).toBe(quantity(5n * ETHER))
    await send(fork, { to: ledger, data: `0x${word(1)}${word(10)}` })
    await fork.ask('anvil_rollback', 1)
    expect(await valueOf(1)).toBe(101)
    await fork.ask('anvil_reorg', 1, [])
    expect(await valueOf(1)).toBe(100)
    await expect(fork.ask('anvil_rollback', 5)).rejects.toThrow(/cannot go back 5 blocks/)
    await send(fork, { to: ledger, data: `0x${word(1)}${word(3)}` })
    await fork.ask('anvil_reset')
    expect(await fork.ask('eth_blockNumber')).toBe(origin)
    expect(await valueOf(1)).toBe(100)
    expect(await fork.ask('eth_getBalance', BOB)).toBe(quantity(10_000n * ETHER))
    expect(await send(fork, { to: ledger, data: `0x${word(1)}${word(3)}` })).toMatchObject({ status: '0x1' })
    expect(await valueOf(1)).toBe(103)
  })

  it('reads the slots of a conditional transaction in one request', async () => {
    await fork.ask('anvil_setBalance', SIGNER.address, quantity(ETHER))
    const chainId = Number(await fork.ask('eth_chainId'))
    const raw = await SIGNER.signTransaction({ chainId, to: BOB, gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n })
    const slots = (value: number) =>
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`0x${word(i)}`, `0x${word(i < 99 ? 0 : value)}`]))
    const before = chain.proxy.methods.filter((method) => method === 'eth_getStorageValues').length
    await expect(fork.ask('eth_sendRawTransactionConditional', raw, { knownAccounts: { [ledger]: slots(1) } })).rejects.toThrow(
      'slot 0x63 of',
    )
    expect(chain.proxy.methods.filter((method) => method === 'eth_getStorageValues').length).toBe(before + 1)
    expect(await fork.ask('eth_sendRawTransactionConditional', raw, { knownAccounts: { [ledger]: slots(0) } })).toMatch(/^0x[0-9a-f]{64}$/)
  })

  it('mines blocks without a request to upstream', async () => {
    await fork.ask('anvil_mine', '0x1')
    const before = chain.proxy.requests.length
    await fork.ask('anvil_mine', '0x12c', '0x2')
    await fork.ask('evm_mine')
    expect(chain.proxy.requests.slice(before)).toEqual([])
  })

  it('gives equal blocks and state roots to equal forks', async () => {
    const options = { clock: 'manual' } as const
    const [a, b] = await Promise.all([chain.fork(options), chain.fork(options)])
    for (const node of [a, b]) {
      await send(node, { to: ledger, data: `0x${word(4)}${word(3)}` })
      await node.ask('anvil_mine', '0x3')
    }
    const head = await a.ask('eth_getBlockByNumber', 'latest', false)
    expect(await b.ask('eth_getBlockByNumber', 'latest', false)).toEqual(head)
  })

  it('removes delegations of the dev accounts and names them', async () => {
    const key = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d' // of BOB
    const authority = privateKeyToAccount(key)
    const { r, s, yParity } = await authority.signAuthorization({ address: ledger as `0x${string}`, chainId: 31_337, nonce: 0 })
    const authorization = { address: ledger, chainId: quantity(31_337), nonce: '0x0', yParity: quantity(yParity ?? 0), r, s }
    await send(chain.upstream, {
      to: ALICE,
      type: '0x4',
      authorizationList: [authorization],
    })
    expect(await chain.upstream.ask('eth_getCode', BOB)).toBe(`0xef0100${ledger.slice(2)}`)
    const notes: string[] = []
    const node = await chain.fork({ onNote: (line) => notes.push(line) })
    expect(await node.ask('eth_getCode', BOB)).toBe('0x')
    expect(await node.ask('eth_getTransactionCount', BOB)).toBe('0x1')
    expect(notes).toEqual([expect.stringContaining(`${BOB} delegates to ${ledger} upstream (EIP-7702)`)])
  })
})

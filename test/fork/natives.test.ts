import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { privateKeyToAccount } from 'viem/accounts'
import type { RunningNode } from '../node.fixture.ts'
import type { PocketchainOptions } from '../../src/index.ts'
import { ALICE, ForkedChain, deploy, send } from './upstream.fixture.ts'

const FACTORY = '0xB20f000000000000000000000000000000000000'
const POLICIES = '0x8453000000000000000000000000000000000002'
const TOKEN = '0xB200000000000000000001112233445566778899'
const ABSENT = '0x8453000000000000000000000000000000000001'
const GENESIS = JSON.stringify({
  config: { chainId: 8453, terminalTotalDifficulty: 0, terminalTotalDifficultyPassed: true, shanghaiTime: 0, cancunTime: 0 },
  gasLimit: '0x3938700',
  alloc: {
    [ALICE]: { balance: '0x21e19e0c9bab2400000' },
    ...Object.fromEntries([FACTORY, POLICIES, TOKEN].map((address) => [address, { balance: '0x7', code: '0xef' }])),
  },
})
/** Calls the address in the call data and ignores the result. */
const CALLER = '5f5f5f5f5f5f355af15000'
const sentence = (address: string, name: string) =>
  `-32000 ${address} is a native precompile of Base (${name}), which is not implemented here; anvil_setCode puts a contract in its place`

let chain: ForkedChain

beforeEach(async () => {
  chain = await ForkedChain.start({ genesis: GENESIS })
  // Upstream would run the call in this process, whose engine then has the code.
  chain.proxy.refuse = ({ method }) => (method === 'eth_createAccessList' ? { code: -32_601, message: 'not available' } : null)
})

afterEach(() => chain[Symbol.asyncDispose]())

async function forked(options: PocketchainOptions = {}): Promise<{ fork: RunningNode; caller: string }> {
  const fork = await chain.fork(options)
  return { fork, caller: options.cadence === 'preconf' ? '' : await deploy(fork, CALLER) }
}

const argument = (address: string) => `0x${address.slice(2).padStart(64, '0')}`

describe('a native precompile of Base on a fork', () => {
  it('ends a call that reaches it with a sentence', async () => {
    const { fork, caller } = await forked()
    for (const [address, name] of [
      [FACTORY, 'B20 factory'],
      [POLICIES, 'policy registry'],
      [TOKEN, 'B20 token'],
    ] as const) {
      const calls = [
        { to: address, data: '0x01020304' },
        { to: caller, data: argument(address) },
      ]
      for (const call of calls) {
        await expect(fork.ask('eth_call', call)).rejects.toThrow(sentence(address, name))
        await expect(fork.ask('eth_estimateGas', call)).rejects.toThrow(sentence(address, name))
      }
      await expect(fork.ask('debug_traceCall', calls[1], 'latest', { tracer: 'callTracer' })).rejects.toThrow(sentence(address, name))
    }
  })

  it('refuses a transaction that reaches it', async () => {
    const { fork, caller } = await forked()
    await expect(send(fork, { to: caller, data: argument(FACTORY), gas: '0x30d40' })).rejects.toThrow(sentence(FACTORY, 'B20 factory'))
    expect(await fork.ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await send(fork, { to: caller, data: argument(ABSENT) })).toMatchObject({ status: '0x1' })
  })

  it('drops a transaction that reaches it under preconf, and goes on', async () => {
    let report: ((error: unknown) => void) | null = null
    const reported = new Promise<unknown>((resolve) => (report = resolve))
    const { fork } = await forked({ cadence: 'preconf', onError: (error) => report?.(error) })
    const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
    const fields = { chainId: 8453, nonce: 0, gas: 100_000n, maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 0n } as const
    const hash = await fork.ask('eth_sendRawTransaction', await account.signTransaction({ ...fields, to: FACTORY, data: '0x01' }))
    expect(String(await reported)).toContain(`transaction ${String(hash)} is dropped`)
    expect(String(await reported)).toContain(`${FACTORY} is a native precompile of Base (B20 factory)`)
    const receipt = await fork.ask('eth_sendRawTransactionSync', await account.signTransaction({ ...fields, to: ABSENT }))
    expect(receipt).toMatchObject({ status: '0x1' })
    expect(await fork.ask('eth_getTransactionByHash', hash)).toBeNull()
  })

  it('shows its code and balance, and can be replaced by a contract', async () => {
    const { fork, caller } = await forked()
    expect(await fork.ask('eth_getCode', FACTORY)).toBe('0xef')
    expect(await fork.ask('eth_getBalance', FACTORY)).toBe('0x7')
    await fork.ask('anvil_setCode', FACTORY, '0x60015f5260205ff3')
    expect(Number(await fork.ask('eth_call', { to: FACTORY }))).toBe(1)
    expect(await send(fork, { to: caller, data: argument(FACTORY) })).toMatchObject({ status: '0x1' })
    await fork.ask('anvil_setBalance', TOKEN, '0x9')
    expect(await fork.ask('eth_getBalance', TOKEN)).toBe('0x9')
    await expect(fork.ask('eth_call', { to: TOKEN })).rejects.toThrow(sentence(TOKEN, 'B20 token'))
  })

  it('is an account without code where upstream has none', async () => {
    const { fork } = await forked()
    expect(await fork.ask('eth_call', { to: ABSENT, data: '0x01' })).toBe('0x')
  })
})

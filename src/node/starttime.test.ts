import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { createPocketchain } from './pocketchain.ts'
import type { PocketchainOptions } from './options.ts'

const START = 1_700_000_000
const GENESIS = JSON.stringify({
  config: { chainId: 1, terminalTotalDifficulty: 0, terminalTotalDifficultyPassed: true, londonBlock: 0, shanghaiTime: 0 },
  timestamp: `0x${START.toString(16)}`,
  gasLimit: '0x1c9c380',
  alloc: {},
})
const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

async function secondsOfNextBlock(options: PocketchainOptions, elapsedMs: number): Promise<number> {
  await using node = await createPocketchain({ clock: 'manual', ...options })
  await node.request({ method: 'pocketchain_tick', params: [elapsedMs] })
  if (options.cadence === 'instant' || options.cadence === 'manual') await node.request({ method: 'evm_mine' })
  const { timestamp } = (await node.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as {
    readonly timestamp: string
  }
  return Number(timestamp) - START
}

describe.each([
  ['--timestamp', { timestamp: START }],
  ['a genesis file', { genesis: GENESIS }],
] as const)('time continues from %s', (_, options) => {
  it.each([
    ['preconf', 2_000, 1], // opened at the start, when the time was the parent's
    ['native', 200, 0],
    ['instant', 2_000, 2],
    ['manual', 5_000, 5],
  ] as const)('under %s the first block is the elapsed time later', async (cadence, elapsedMs, seconds) => {
    expect(await secondsOfNextBlock({ cadence, ...options }, elapsedMs)).toBe(seconds)
  })

  it('a real clock adds the time that has passed', async () => {
    await using node = await createPocketchain({ cadence: 'instant', ...options })
    await node.request({ method: 'evm_mine' })
    const { timestamp } = (await node.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })) as {
      readonly timestamp: string
    }
    const elapsed = Number(timestamp) - START
    expect(elapsed).toBeGreaterThanOrEqual(1)
    expect(elapsed).toBeLessThan(600)
  })

  it('anvil_reset returns to that time', async () => {
    await using node = await createPocketchain({ cadence: 'instant', clock: 'manual', ...options })
    await node.request({ method: 'evm_increaseTime', params: [86_400] })
    await node.request({ method: 'evm_mine' })
    await node.request({ method: 'anvil_reset' })
    await node.request({ method: 'pocketchain_tick', params: [3_000] })
    await node.request({ method: 'evm_mine' })
    const block = await node.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
    expect(block).toMatchObject({ number: '0x1', timestamp: `0x${(START + 3).toString(16)}` })
  })
})

it('a state file continues from its newest block', async () => {
  await using first = await createPocketchain({ cadence: 'instant', clock: 'manual', timestamp: START })
  await first.request({ method: 'evm_increaseTime', params: [100] })
  await first.request({ method: 'evm_mine' })
  const dump = (await first.request({ method: 'anvil_dumpState' })) as string
  await using second = await createPocketchain({ cadence: 'instant', clock: 'manual', stateFile: Buffer.from(dump.slice(2), 'hex') })
  await second.request({ method: 'pocketchain_tick', params: [5_000] })
  await second.request({ method: 'evm_mine' })
  const block = await second.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
  expect(block).toMatchObject({ number: '0x2', timestamp: `0x${(START + 105).toString(16)}` })
})

it('a data directory continues from its newest block if the start names a time, else by the clock', async () => {
  const data = mkdtempSync(join(tmpdir(), 'pocketchain-time-'))
  folders.push(data)
  expect(await secondsOfNextBlock({ data, cadence: 'manual', timestamp: START }, 50_000)).toBe(50)
  expect(await secondsOfNextBlock({ data, cadence: 'manual', timestamp: START }, 7_000)).toBe(57)
  expect(await secondsOfNextBlock({ data, cadence: 'manual' }, 0)).toBeGreaterThan(80_000_000)
})

it('with --compat anvil a transaction has no gas cap, as in anvil without --enable-tx-gas-limit', async () => {
  // Reverts unless it has more than 20,000,000 gas.
  const call = { from: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', data: '0x5a6301312d0010600d575f5ffd5b00' }
  const estimate = async (options: PocketchainOptions) => {
    await using node = await createPocketchain({ cadence: 'instant', ...options })
    return Number(await node.request({ method: 'eth_estimateGas', params: [call] }))
  }
  await expect(estimate({})).rejects.toThrow('execution reverted')
  expect(await estimate({ compat: 'anvil' })).toBeGreaterThan(20_000_000)
})

describe('limits of the options replace those of a genesis file', () => {
  const CODE = 24_577
  const initCode = `0x61${CODE.toString(16).padStart(4, '0')}5ff3` // RETURN of CODE zero bytes
  const alice = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
  const funded = JSON.stringify({ ...(JSON.parse(GENESIS) as object), alloc: { [alice]: { balance: '0xffffffffffffffff' } } })

  it.each([
    ['without the option a contract above the limit fails', {}, '0x0'],
    ['--disable-code-size-limit lets it through', { codeSizeLimit: null }, '0x1'],
  ] as const)('%s', async (_, options, status) => {
    await using node = await createPocketchain({ cadence: 'instant', genesis: funded, ...options })
    const request = { from: alice, data: initCode, gas: '0x989680' }
    const hash = await node.request({ method: 'eth_sendTransaction', params: [request] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status })
  })

  it('--transaction-gas-cap', async () => {
    const osaka = JSON.parse(funded) as { config: object }
    const genesis = JSON.stringify({
      ...osaka,
      gasLimit: '0x3938700',
      config: { ...osaka.config, cancunTime: 0, pragueTime: 0, osakaTime: 0 },
    })
    const account = mnemonicToAccount('test test test test test test test test test test test junk')
    const raw = await account.signTransaction({ chainId: 1, type: 'eip1559', gas: 30_000_000n, maxFeePerGas: 10n ** 9n, to: alice })
    const send = async (options: PocketchainOptions) => {
      await using node = await createPocketchain({ cadence: 'instant', genesis, ...options })
      return await node.request({ method: 'eth_sendRawTransaction', params: [raw] })
    }
    await expect(send({})).rejects.toThrow('16777216')
    expect(await send({ transactionGasCap: null })).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await send({ compat: 'anvil' })).toMatch(/^0x[0-9a-f]{64}$/)
    await expect(send({ compat: 'anvil', transactionGasCap: 20_000_000n })).rejects.toThrow('exceeds maximum per-transaction gas limit')
  })
})

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createPocketchain } from 'pocketchain'
import type { Hex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Operations } from '../../bench/operations.mjs'
import * as eth from '../../src/eth/index.ts'
import * as rpc from '../../src/rpc/index.ts'
import { launch } from '../command.fixture.ts'
import type { Command } from '../command.fixture.ts'
import { Random } from '../evm/fuzz/random.ts'
import { ask, included, onNode, plain } from './bundler.fixture.ts'

// 200 operations wait while the base fee rises above their bundle's, blocks are removed and the process ends.

/** `OPERATION_RUNS=20 npx vitest run test/sponsor/operationfaults.test.ts` runs more seeds. */
const RUNS = Number(process.env['OPERATION_RUNS'] ?? 1)
const SEED = Number(process.env['OPERATION_SEED'] ?? 1)

const SENDERS = 20
const OPERATIONS_PER_SENDER = 10
const FAULTS = ['raise the base fee', 'reorg', 'kill', 'stop', 'drop the promises', 'reorg'] as const
const FLAGS = ['--block-time', '1', '--flashblock-time', '100']
const GWEI = 10n ** 9n
const HIGH = `0x${(500n * GWEI).toString(16)}`
const LOW = `0x${GWEI.toString(16)}`
const SETTLE_MS = 60_000
const EVENT = eth.Hash.ofText('UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)')

/** An account whose delegation was removed has no code for its later operations. */
const EXPECTED = /AA25 invalid account nonce|AA20 account not deployed|COD-|authorization/

interface Status {
  readonly status: string
  readonly reason?: string | null
}

let data: string
let command: Command | null = null

beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'pocketchain-operations-'))
})

afterEach(async () => {
  await command?.kill()
  command = null
  rmSync(data, { recursive: true, force: true })
})

describe('200 operations under faults', () => {
  it.each(Array.from({ length: RUNS }, (_, run) => SEED + run))(
    'each is included once, or refused with a reason (seed %i)',
    { timeout: 240_000 },
    async (seed) => {
      const random = new Random(seed, 0)
      const load = new Load()
      await load.restart()
      await load.fund()
      const sending = load.send(random)
      sending.catch(() => undefined) // awaited below
      for (const fault of shuffled(FAULTS, random)) {
        await delay(random.between(200, 1_500))
        await load.fault(fault, random)
      }
      await load.setBaseFee(LOW)
      await sending
      const outcomes = await load.settled()
      process.stdout.write(`seed ${seed}: ${JSON.stringify(outcomes)}\n`)
      expect(
        Object.keys(outcomes.refused).filter((reason) => !EXPECTED.test(reason)),
        `seed ${seed}`,
      ).toEqual([])
      expect(outcomes.included, `seed ${seed}`).toBeGreaterThan((SENDERS * OPERATIONS_PER_SENDER) / 2)
    },
  )
})

describe('the operations of a data directory', () => {
  it('keeps the reason of a refusal over a restart, and the operation that replaced it', async () => {
    const load = new Load()
    await load.restart()
    await load.fund()
    await load.setBundling('manual')
    const [first, second] = [await load.sendPriced(5n * GWEI), await load.sendPriced(6n * GWEI)]
    const refused = { status: 'rejected', transactionHash: null, reason: `replaced by ${second}` }
    expect(await load.status(first)).toEqual(refused)
    await command?.kill()
    await load.restart()
    expect(await load.status(first)).toEqual(refused)
    await until(async () => expect(await load.status(second)).toMatchObject({ status: 'included' }))
  })

  it('finds an included operation directly after a restart, before the first bundle', async () => {
    const start = () => createPocketchain({ data, wallet: false, cadence: 'instant' })
    let hash: Hex = '0x'
    let transactionHash: unknown
    {
      await using node = await start()
      await onNode(node, async () => {
        hash = (await plain('0.8')).hash
        transactionHash = ((await included(hash)) as { receipt: { transactionHash: Hex } }).receipt.transactionHash
      })
    }
    await using node = await start()
    await onNode(node, async () => {
      await ask('debug_bundler_setBundlingMode', 'manual') // none is sent
      expect(await ask('eth_getUserOperationReceipt', hash)).toMatchObject({ success: true, receipt: { transactionHash } })
      expect(await ask('eth_getUserOperationByHash', hash)).toMatchObject({ transactionHash })
      expect(await ask('pimlico_getUserOperationStatus', hash)).toEqual({ status: 'included', transactionHash })
      expect(await ask('pocketchain_userOperationPool', {})).toMatchObject({ operations: [] })
      await ask('debug_bundler_sendBundleNow')
      expect(await ask('pimlico_getUserOperationStatus', hash)).toEqual({ status: 'included', transactionHash })
    })
  })

  it('forgets what waits when the pool is cleared, over a restart too, and keeps the reasons of refusals', async () => {
    const load = new Load()
    await load.restart()
    await load.fund()
    await load.setBundling('manual')
    const [first, second] = [await load.sendPriced(5n * GWEI), await load.sendPriced(6n * GWEI)]
    expect(await command?.ask('debug_bundler_clearMempool')).toBe('ok')
    const expectCleared = async () => {
      expect(await load.status(first)).toMatchObject({ status: 'rejected', reason: `replaced by ${second}` })
      expect(await load.status(second)).toMatchObject({ status: 'not_found' })
    }
    await expectCleared()
    await command?.kill()
    await load.restart()
    await load.blocks(2)
    await expectCleared()
    expect(await load.eventsOf(second)).toBe(0)
    expect(await load.sendPriced(6n * GWEI)).toBe(second)
    await until(async () => expect(await load.status(second)).toMatchObject({ status: 'included' }))
  })

  it('does not send an operation again that evm_revert took back', async () => {
    const load = new Load()
    await load.restart()
    await load.fund()
    const id = await command?.ask('evm_snapshot')
    const hash = await load.sendPriced(5n * GWEI)
    await until(async () => expect(await load.status(hash)).toMatchObject({ status: 'included' }))
    expect(await command?.ask('evm_revert', id)).toBe(true)
    await until(async () =>
      expect(await load.status(hash)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('for good (revert)') }),
    )
    await command?.stop()
    await load.restart()
    await load.blocks(2)
    expect(await load.status(hash)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('for good (revert)') })
  })

  it('counts an operation once that its client sends again after its promise was retracted', async () => {
    const load = new Load()
    await load.restart()
    await load.fund()
    const hash = await load.sendPriced(5n * GWEI)
    await until(async () => expect(await load.status(hash)).toMatchObject({ status: 'included' }))
    await load.setBundling('manual')
    await command?.ask('pocketchain_retract', { fromFlashblock: 0 }, 'nowhere').catch(onlyRefused)
    if (((await load.status(hash)) as Status).status === 'not_found') expect(await load.sendPriced(5n * GWEI)).toBe(hash)
    await load.blocks(3)
    expect(await command?.ask('pocketchain_userOperationPool', { status: 'rejected' })).toMatchObject({ operations: [] })
    await command?.kill()
    await load.restart()
    await until(async () => expect(await load.status(hash)).toMatchObject({ status: 'included' }))
  })

  it('gives the reason of an operation whose bundle fails in the blocks of a reorg', async () => {
    const load = new Load()
    await load.restart('--cadence', 'manual')
    const [dev] = command?.ready.accounts ?? []
    const pay = async () =>
      command?.ask('eth_sendTransaction', { from: dev, to: load.accounts()[0], value: `0x${(10n ** 20n).toString(16)}` })
    await pay()
    await command?.ask('evm_mine')
    const hash = await load.sendPriced(5n * GWEI)
    await until(async () => expect(await load.status(hash)).toMatchObject({ status: 'submitted' }))
    await command?.ask('evm_mine')
    await until(async () => expect(await load.status(hash)).toMatchObject({ status: 'included' }))
    const { transactionHash } = (await load.status(hash)) as { readonly transactionHash: string }
    const raw = await command?.ask('eth_getRawTransactionByHash', transactionHash)
    // The account has no ether in the new blocks, and the bundle is among them.
    await command?.ask('anvil_reorg', 2, [[raw, 1]])
    expect(await command?.ask('eth_getTransactionReceipt', transactionHash)).toMatchObject({ status: '0x0' })
    await until(async () => {
      await command?.ask('evm_mine')
      expect(await load.status(hash)).toMatchObject({ status: 'rejected', reason: expect.stringContaining('AA21') })
    })
    expect(await load.eventsOf(hash)).toBe(0)
  })
})

type Prepared = Awaited<ReturnType<Operations['prepare']>>

class Load {
  /** operations that the bundler accepted, by hash */
  readonly #accepted = new Map<string, Prepared>()
  readonly #operations = new Operations(
    { eth, rpc },
    { ask: (method, ...params) => this.#ask(method, ...params), sponsor: () => Promise.reject(new Error('not used')) },
  )

  #ask(method: string, ...params: readonly unknown[]): Promise<unknown> {
    if (command === null) return Promise.reject(new TypeError('the process restarts'))
    return command.ask(method, ...params)
  }

  async restart(...flags: readonly string[]): Promise<void> {
    command = await launch('--data', data, ...(flags.length === 0 ? FLAGS : flags))
  }

  accounts(): readonly string[] {
    return this.#senders().map(({ address }) => address)
  }

  /** Waits for so many blocks. */
  async blocks(count: number): Promise<void> {
    const first = Number(await this.#ask('eth_blockNumber'))
    await until(async () => expect(Number(await this.#ask('eth_blockNumber'))).toBeGreaterThanOrEqual(first + count))
  }

  /** Returns how often the chain has the operation. */
  async eventsOf(hash: string): Promise<number> {
    const logs = await this.#ask('eth_getLogs', { topics: [EVENT, hash], fromBlock: '0x0', toBlock: 'latest' })
    return (logs as readonly unknown[]).length
  }

  async fund(): Promise<void> {
    for (const sender of this.#senders()) await this.#ask('anvil_setBalance', sender.address, `0x${(10n ** 20n).toString(16)}`)
  }

  #senders() {
    return Array.from({ length: SENDERS }, (_, i) => this.#operations.sender(`sender ${i}`))
  }

  /** Sends operation 0 of the first account. */
  async sendPriced(maxFeePerGas: bigint): Promise<string> {
    const sender = this.#operations.sender('sender 0')
    return this.#operations.send(await this.#prepared(sender, 0n, maxFeePerGas))
  }

  async status(hash: string): Promise<unknown> {
    return this.#ask('pimlico_getUserOperationStatus', hash)
  }

  async setBundling(mode: 'auto' | 'manual'): Promise<void> {
    await this.#ask('debug_bundler_setBundlingMode', mode)
  }

  async setBaseFee(fee: string): Promise<void> {
    await this.#ask('anvil_setNextBlockBaseFeePerGas', fee)
  }

  async fault(fault: (typeof FAULTS)[number], random: Random): Promise<void> {
    if (fault === 'raise the base fee') return this.setBaseFee(random.chance(0.5) ? HIGH : LOW)
    if (fault === 'reorg') return void (await this.#ask('anvil_reorg', random.between(1, 3), []).catch(onlyRefused))
    if (fault === 'drop the promises')
      return void (await this.#ask('pocketchain_retract', { fromFlashblock: 1 }, 'nowhere').catch(onlyRefused))
    const ending = command
    command = null
    if (fault === 'kill') await ending?.kill()
    else await ending?.stop()
    await this.restart()
  }

  /** Each account sends its operations in order, and again after an answer was lost with the process. */
  async send(random: Random): Promise<void> {
    await Promise.all(
      this.#senders().map(async (sender) => {
        for (let nonce = 0; nonce < OPERATIONS_PER_SENDER; nonce++) {
          const answer = await this.#sendOne(sender, BigInt(nonce))
          if (answer !== null) throw new Error(`${sender.address} ${nonce}: ${answer}`)
          await delay(random.between(0, 150))
        }
      }),
    )
  }

  /** Returns the refusal, `null` if the operation was accepted, or could not be because an operation before it was refused. */
  async #sendOne(sender: ReturnType<Operations['sender']>, nonce: bigint): Promise<string | null> {
    for (;;) {
      const prepared = await untilAnswered(() => this.#prepared(sender, nonce))
      const answer = await untilAnswered(() => this.#operations.send(prepared).catch(refusal))
      // The account's first transaction was included or removed meanwhile; the base fee is high; the process is stopping.
      if (/authorization|AA20|base fee|is closed/.test(answer)) {
        await delay(100)
        continue
      }
      if (answer !== prepared.hash && !/already known/i.test(answer)) return /AA25/.test(answer) ? null : answer
      this.#accepted.set(prepared.hash, prepared)
      return null
    }
  }

  async #prepared(sender: ReturnType<Operations['sender']>, nonce: bigint, maxFeePerGas = 5n * GWEI) {
    const begun = await this.#operations.begin(sender, this.#operations.callData([{ to: `0x${'5e'.repeat(20)}`, value: 1n }]))
    const limits = { callGasLimit: '0x186a0', verificationGasLimit: '0x249f0', preVerificationGas: '0x186a0' }
    const price = `0x${maxFeePerGas.toString(16)}`
    const fees = { maxFeePerGas: price, maxPriorityFeePerGas: price }
    return this.#operations.sign(sender, { ...begun, nonce: `0x${nonce.toString(16)}`, ...limits, ...fees })
  }

  /** Waits until each operation has ended. Throws an Error for one that was lost, or that the chain has twice. */
  async settled(): Promise<{ readonly included: number; readonly refused: Readonly<Record<string, number>> }> {
    const endMs = performance.now() + SETTLE_MS
    const refused: Record<string, number> = {}
    let open = [...this.#accepted.keys()]
    while (open.length > 0) {
      const still: string[] = []
      for (const hash of open) {
        const { status, reason } = (await this.#ask('pimlico_getUserOperationStatus', hash)) as Status
        if (status === 'rejected' && reason?.endsWith('send it again') === true) {
          const answer = await this.#operations.send(this.#accepted.get(hash)!).catch(refusal)
          if (answer === hash) still.push(`${hash} ${status} ${reason}`)
          else refused[answer.replaceAll(/0x[0-9a-f]+/g, '…')] = (refused[answer] ?? 0) + 1
        } else if (status === 'rejected' && typeof reason === 'string' && reason !== '') {
          const kind = reason.replaceAll(/0x[0-9a-f]+/g, '…')
          refused[kind] = (refused[kind] ?? 0) + 1
        } else if (status !== 'included') still.push(`${hash} ${status} ${reason ?? ''}`)
      }
      open = still.map((line) => line.split(' ', 1)[0] ?? '')
      if (open.length > 0 && performance.now() > endMs)
        throw new Error(`neither included nor refused: ${still.join(', ')}; the process wrote: ${command?.err()}`)
      await delay(250)
      for (const kind of open.length > 0 ? Object.keys(refused) : []) delete refused[kind]
      if (open.length > 0) open = [...this.#accepted.keys()]
    }
    const filter = { topics: [EVENT], fromBlock: '0x0', toBlock: 'pending' }
    const logs = (await this.#ask('eth_getLogs', filter)) as { readonly topics: readonly string[] }[]
    const hashes = logs.map(({ topics }) => topics[1])
    expect(new Set(hashes).size).toBe(hashes.length)
    return { included: hashes.length, refused }
  }
}

/** A dev method that has nothing to do at this moment refuses. */
function onlyRefused(error: unknown): void {
  if (!(error instanceof Error) || error instanceof TypeError) throw error
}

function refusal(error: unknown): string {
  if (error instanceof Error && !isGone(error)) return error.message
  throw error
}

function isGone(error: Error): boolean {
  return error instanceof TypeError || error instanceof SyntaxError || 'cause' in error
}

async function until(assert: () => Promise<void>): Promise<void> {
  for (const endMs = performance.now() + 20_000; ;) {
    try {
      return await assert()
    } catch (error) {
      if (performance.now() > endMs) throw error
      await delay(50)
    }
  }
}

async function untilAnswered<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Error) || !isGone(error)) throw error
      await delay(50)
    }
  }
}

function shuffled<T>(items: readonly T[], random: Random): readonly T[] {
  const rest = [...items]
  return items.map(() => rest.splice(random.below(rest.length), 1)[0]!)
}

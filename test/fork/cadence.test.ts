import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { mnemonicToAccount } from 'viem/accounts'
import type { HDAccount } from 'viem/accounts'
import { WORDS } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'
import { ForkedChain, LEDGER, POINTER, deploy, quantity, send, word } from './upstream.fixture.ts'

let chain: ForkedChain
let ledger: string
let pointer: string

const ACCOUNTS = Array.from({ length: 8 }, (_, addressIndex) => mnemonicToAccount(WORDS, { addressIndex }))

beforeEach(async () => {
  chain = await ForkedChain.start()
  ledger = await deploy(chain.upstream, LEDGER)
  pointer = await deploy(chain.upstream, POINTER)
  await send(chain.upstream, { to: pointer, data: `0x${word(7)}` })
})

afterEach(() => chain[Symbol.asyncDispose]())

interface Sent {
  readonly account: HDAccount
  readonly nonce: number
  readonly to: string
  readonly data?: string
}

async function signed({ account, nonce, to, data = '0x' }: Sent): Promise<string> {
  const [target, input] = [to, data] as `0x${string}`[]
  const fees = { gas: 200_000n, maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 0n }
  return account.signTransaction({ chainId: 31_337, nonce, to: target!, data: input!, ...fees })
}

async function nonceOf(node: RunningNode, { address }: HDAccount): Promise<number> {
  return Number(await node.ask('eth_getTransactionCount', address, 'pending'))
}

describe('a fork with pre-confirmations', () => {
  it('promises 64 transactions whose state is not local, in the order of their nonces', async () => {
    const fork = await chain.fork({ cadence: 'preconf' })
    const first = await Promise.all(ACCOUNTS.map((account) => nonceOf(fork, account)))
    const raws = await Promise.all(
      ACCOUNTS.flatMap((account, i) =>
        Array.from({ length: 8 }, (_, n) =>
          signed({ account, nonce: first[i]! + n, to: ledger, data: `0x${word(i * 8 + n)}${word(n + 1)}` }),
        ),
      ),
    )
    chain.proxy.delayMs = 50
    const receipts = await Promise.all(raws.map((raw) => fork.ask('eth_sendRawTransactionSync', raw)))
    expect(receipts.map((receipt) => (receipt as { status: string }).status)).toEqual(raws.map(() => '0x1'))
    const places = receipts.map((receipt) => {
      const { blockNumber, transactionIndex } = receipt as Record<'blockNumber' | 'transactionIndex', string>
      return Number(blockNumber) * 1_000 + Number(transactionIndex)
    })
    for (let i = 0; i < 8; i++) expect(places.slice(i * 8, i * 8 + 8)).toEqual(places.slice(i * 8, i * 8 + 8).toSorted((a, b) => a - b))
    expect(await Promise.all(ACCOUNTS.map((account) => nonceOf(fork, account)))).toEqual(first.map((nonce) => nonce + 8))
  })

  it('answers eth_sendRawTransaction and makes blocks while the state is fetched', async () => {
    const fork = await chain.fork({ cadence: 'preconf' })
    const [account] = ACCOUNTS
    const nonce = await nonceOf(fork, account!)
    const raw = await signed({ account: account!, nonce, to: ledger, data: `0x${word(1)}${word(2)}` })
    let openGate = (): void => undefined
    chain.proxy.gate = new Promise((resolve) => (openGate = resolve))
    const hash = await fork.ask('eth_sendRawTransaction', raw)
    const head = Number(await fork.ask('eth_blockNumber'))
    await new Promise<void>((resolve) => {
      const unsubscribe = fork.node.chain.head.subscribe(({ view }) => {
        if (view.head.header.number < head + 2) return
        unsubscribe()
        resolve()
      })
    })
    expect(await fork.ask('eth_getTransactionByHash', hash)).toMatchObject({ blockNumber: null, nonce: quantity(nonce) })
    const receipt = fork.ask('eth_sendRawTransactionSync', await signed({ account: account!, nonce: nonce + 1, to: account!.address }))
    openGate()
    expect(await receipt).toMatchObject({ status: '0x1' })
    expect(await fork.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', logs: [{}] })
  })

  it('fetches again what a transaction reads after an earlier one changed its path', async () => {
    const fork = await chain.fork({ cadence: 'preconf' })
    const [alice, bob] = ACCOUNTS
    const [a, b] = [await nonceOf(fork, alice!), await nonceOf(fork, bob!)]
    const raws = await Promise.all([
      signed({ account: alice!, nonce: a, to: pointer, data: `0x${word(99)}` }),
      signed({ account: alice!, nonce: a + 1, to: pointer }),
      signed({ account: bob!, nonce: b, to: pointer }),
    ])
    chain.proxy.delayMs = 50
    const receipts = await Promise.all(raws.map((raw) => fork.ask('eth_sendRawTransactionSync', raw)))
    expect(receipts).toMatchObject([{ status: '0x1' }, { status: '0x1' }, { status: '0x1' }])
    const slots = await Promise.all([7, 99].map((slot) => fork.ask('eth_getStorageAt', pointer, quantity(slot), 'pending')))
    expect(Number(slots[0]) + Number(slots[1])).toBe(2)
    expect(Number(slots[1])).toBeGreaterThan(0)
  })
})

describe('a fork under the manual cadence', () => {
  it('shows the transactions of the pool in the pending block, also those that read what an earlier one points to', async () => {
    const fork = await chain.fork({ cadence: 'manual' })
    const hashes = await pointAndFollow(fork)
    expect(await fork.ask('eth_getBlockByNumber', 'pending', false)).toMatchObject({ transactions: expect.arrayContaining(hashes) })
    expect(await fork.ask('eth_getStorageAt', pointer, quantity(99), 'pending')).toBe(`0x${word(1)}`)
    await fork.ask('evm_mine')
    expect(await fork.ask('eth_getStorageAt', pointer, quantity(99), 'latest')).toBe(`0x${word(1)}`)
  })

  it('has their traces up to the pending block', async () => {
    const fork = await chain.fork({ cadence: 'manual' })
    const hashes = await pointAndFollow(fork)
    const filter = { fromBlock: quantity(0), toBlock: 'pending', toAddress: [pointer] }
    const traces = (await fork.ask('trace_filter', filter)) as readonly { transactionHash: unknown }[]
    expect(traces.map(({ transactionHash }) => transactionHash)).toEqual(expect.arrayContaining([...hashes]))
  })

  it('puts such transactions into the blocks of a reorg', async () => {
    const fork = await chain.fork({ cadence: 'manual' })
    await fork.ask('anvil_mine', quantity(2))
    const [alice] = ACCOUNTS
    const nonce = await nonceOf(fork, alice!)
    const raws = [
      [await signed({ account: alice!, nonce, to: pointer, data: `0x${word(99)}` }), 0],
      [await signed({ account: alice!, nonce: nonce + 1, to: pointer }), 1],
    ]
    await fork.ask('anvil_reorg', 2, raws)
    expect(await fork.ask('eth_getStorageAt', pointer, quantity(99), 'latest')).toBe(`0x${word(1)}`)
    expect(await nonceOf(fork, alice!)).toBe(nonce + 2)
  })
})

/** Sends a transaction that points to slot 99, and one that increments the slot. */
async function pointAndFollow(fork: RunningNode): Promise<unknown[]> {
  const [alice] = ACCOUNTS
  const nonce = await nonceOf(fork, alice!)
  const raws = [
    await signed({ account: alice!, nonce, to: pointer, data: `0x${word(99)}` }),
    await signed({ account: alice!, nonce: nonce + 1, to: pointer }),
  ]
  const hashes: unknown[] = []
  for (const raw of raws) hashes.push(await fork.ask('eth_sendRawTransaction', raw))
  return hashes
}

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keccak256 } from 'viem'
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

/** Holds all requests to upstream until the returned function is called. */
function closeGate(): () => void {
  let open = (): void => undefined
  chain.proxy.gate = new Promise((resolve) => (open = resolve))
  return open
}

/** Resolves after this many flashblocks. */
function flashblocks(fork: RunningNode, count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count
    const unsubscribe = fork.node.chain.head.subscribe((event) => {
      if (event.kind !== 'block' || event.sealed || --left > 0) return
      unsubscribe()
      resolve()
    })
  })
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
    const openGate = closeGate()
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

describe('mining on a fork while upstream does not answer', () => {
  let fork: RunningNode
  let cold: unknown
  let openGate: () => void

  beforeEach(async () => {
    fork = await chain.fork({ cadence: 'preconf' })
    const [alice, bob] = ACCOUNTS
    await send(fork, { from: bob!.address, to: bob!.address })
    const raw = await signed({ account: alice!, nonce: await nonceOf(fork, alice!), to: ledger, data: `0x${word(1)}${word(2)}` })
    openGate = closeGate()
    cold = await fork.ask('eth_sendRawTransaction', raw)
  })

  afterEach(() => openGate())

  it('goes on with flashblocks and other transactions, and then seals what was sent before', async () => {
    const mined = fork.ask('evm_mine')
    const { address } = ACCOUNTS[1]!
    const warm = fork.ask('eth_sendTransactionSync', { from: address, to: address })
    await flashblocks(fork, 12)
    expect(await warm).toMatchObject({ status: '0x1' })
    openGate()
    await mined
    expect(await fork.ask('eth_getTransactionReceipt', cold)).toMatchObject({ status: '0x1' })
    expect(await fork.ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ transactions: expect.arrayContaining([cold]) })
  })

  it('does not wait for transactions that are sent later', async () => {
    expect(await fork.ask('anvil_dropTransaction', cold)).toBe(cold)
    const mined = fork.ask('evm_mine')
    const later = await fork.ask('eth_sendTransaction', { from: ACCOUNTS[2]!.address, to: ledger, gas: '0x30d40' })
    await mined
    expect(await fork.ask('eth_getTransactionByHash', later)).toMatchObject({ blockNumber: null })
  })

  it('does not wait for a transaction that is dropped', async () => {
    const mined = fork.ask('evm_mine')
    expect(await fork.ask('anvil_dropTransaction', cold)).toBe(cold)
    await mined
    expect(await fork.ask('pocketchain_promises', { hash: cold })).toMatchObject({ promises: [{ outcome: 'dropped' }] })
  })

  it('makes a block with a given timestamp before the schedule reaches it, also without what is not local', async () => {
    const { timestamp } = (await fork.ask('eth_getBlockByNumber', 'latest', false)) as { timestamp: string }
    const wanted = quantity(Number(timestamp) + 7)
    await fork.ask('evm_mine', wanted)
    expect(await fork.ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ timestamp: wanted })
    expect(await fork.ask('eth_getTransactionByHash', cold)).toMatchObject({ blockNumber: null })
    openGate()
    await fork.ask('evm_mine')
    expect(await fork.ask('eth_getTransactionReceipt', cold)).toMatchObject({ status: '0x1' })
  })

  it('gives the transactions of one sender nonces in the order of their submission, and others do not wait', async () => {
    const carol = ACCOUNTS[2]!.address
    const arrived = new Promise<void>((resolve) => (chain.proxy.onRequest = resolve))
    const first = fork.ask('eth_sendTransaction', { from: carol, to: ledger, data: `0x${word(5)}${word(2)}` })
    await arrived
    const second = fork.ask('eth_sendTransaction', { from: carol, to: carol, gas: '0x5208' })
    await fork.ask('eth_sendTransaction', { from: ACCOUNTS[1]!.address, to: ACCOUNTS[1]!.address })
    openGate()
    const [a, b] = await Promise.all((await Promise.all([first, second])).map((hash) => fork.ask('eth_getTransactionByHash', hash)))
    expect(Number((b as { nonce: string }).nonce) - Number((a as { nonce: string }).nonce)).toBe(1)
  })

  it('goes on with flashblocks while a reorg waits', async () => {
    openGate()
    await fork.ask('evm_mine')
    openGate = closeGate()
    const { address } = ACCOUNTS[1]!
    const reorg = fork.ask('anvil_reorg', 1, [[{ from: address, to: ledger, data: `0x${word(8)}${word(2)}`, gas: '0x30d40' }, 0]])
    await flashblocks(fork, 12)
    openGate()
    await reorg
  })
})

describe('a fork under the manual cadence', () => {
  it('mines transactions that read what an earlier one points to, in one block without an announcement before', async () => {
    const fork = await chain.fork({ cadence: 'manual' })
    const hashes = await pointAndFollow(fork)
    const head = Number(await fork.ask('eth_blockNumber'))
    const kinds: string[] = []
    fork.node.chain.head.subscribe(({ kind }) => kinds.push(kind))
    await fork.ask('anvil_mine', 2)
    expect(await fork.ask('eth_getBlockByNumber', quantity(head + 1), false)).toMatchObject({
      transactions: expect.arrayContaining(hashes),
    })
    expect(Number(await fork.ask('eth_blockNumber'))).toBe(head + 2)
    expect(kinds).not.toContain('rewind')
  })

  it('mines a transaction that reads a slot of its timestamp, whose fetch takes longer than a second', async () => {
    const clock = await deploy(chain.upstream, READS_SLOT_OF_TIME)
    const fork = await chain.fork({ cadence: 'manual' })
    const hash = await fork.ask('eth_sendTransaction', { from: ACCOUNTS[0]!.address, to: clock, gas: '0x30d40' })
    const { timestamp } = (await fork.ask('eth_getBlockByNumber', 'pending', false)) as { timestamp: string }
    while (Date.now() < (Number(timestamp) + 1) * 1_000) await new Promise((resolve) => setTimeout(resolve, 100))
    chain.proxy.delayMs = 1_100
    const before = chain.proxy.requests.length
    await fork.ask('evm_mine')
    expect(chain.proxy.requests.length - before).toBe(1)
    expect(await fork.ask('eth_getBlockByNumber', 'latest', false)).toMatchObject({ transactions: expect.arrayContaining([hash]) })
  })

  it('mines a transaction that was sent before, and answers others, while upstream does not answer', async () => {
    const fork = await chain.fork({ cadence: 'manual' })
    const [alice, bob] = ACCOUNTS
    const raws = await Promise.all(
      [alice!, bob!].map(async (account) =>
        signed({ account, nonce: await nonceOf(fork, account), to: ledger, data: `0x${word(1)}${word(2)}` }),
      ),
    )
    const openGate = closeGate()
    const sent = raws.map((raw) => fork.ask('eth_sendRawTransaction', raw))
    while (((await fork.ask('txpool_status')) as { pending: string }).pending !== '0x2');
    const [kept, dropped] = raws.map((raw) => keccak256(raw as `0x${string}`))
    const mined = fork.ask('evm_mine')
    expect(await fork.ask('hardhat_dropTransaction', dropped)).toBe(true)
    expect(await sent[1]).toBe(dropped)
    openGate()
    await mined
    const { transactions } = (await fork.ask('eth_getBlockByNumber', 'latest', false)) as { transactions: readonly unknown[] }
    expect(transactions).toContain(kept)
    expect(transactions).not.toContain(dropped)
  })

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

describe.each(['native', 'manual'] as const)('a fork under the %s cadence, while the state of a transaction is fetched', (cadence) => {
  it('answers reads of the pending block, estimates and submissions of others', async () => {
    const fork = await chain.fork({ cadence })
    const [alice, bob] = ACCOUNTS.map(({ address }) => address)
    await send(fork, { from: bob, to: bob, gas: '0x5208' })
    await fork.ask('evm_mine')
    const openGate = closeGate()
    const cold = fork.ask('eth_sendTransaction', { from: alice, to: ledger, data: `0x${word(1)}${word(2)}`, gas: '0x30d40' })
    try {
      while (((await fork.ask('txpool_status')) as { pending: string }).pending !== '0x1');
      await fork.ask('eth_getBalance', bob, 'pending')
      expect(await fork.ask('eth_estimateGas', { from: bob, to: bob })).toBe('0x5208')
      const other = await fork.ask('eth_sendTransaction', { from: bob, to: bob })
      // Until a native block has it.
      if (cadence === 'manual')
        expect(await fork.ask('eth_getBlockByNumber', 'pending', false)).toMatchObject({ transactions: expect.arrayContaining([other]) })
    } finally {
      openGate()
    }
    const hash = await cold
    await fork.ask('evm_mine')
    expect(await fork.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })
})

describe('a fork under the native cadence', () => {
  it('includes a transaction that reads a slot of its number, although a fetch takes several blocks', async () => {
    const counter = await deploy(chain.upstream, READS_SLOT_OF_NUMBER)
    const fork = await chain.fork({ cadence: 'native' })
    chain.proxy.delayMs = 500
    const receipt = await fork.ask('eth_sendTransactionSync', { from: ACCOUNTS[0]!.address, to: counter, gas: '0x30d40' }, 6_000)
    expect(receipt).toMatchObject({ status: '0x1' })
  })

  it('answers a call that reads a slot of its number, although a fetch takes several blocks', async () => {
    const reader = await deploy(chain.upstream, '435460005260206000f3')
    const fork = await chain.fork({ cadence: 'native' })
    chain.proxy.delayMs = 500
    for (const block of ['latest', 'pending']) expect(await fork.ask('eth_call', { to: reader }, block)).toBe(`0x${word(0)}`)
  })
})

describe('a reorg of a fork', () => {
  it.each(['43', '42', '44', '6001430340'])('has every transaction, also those that read a slot named by the block (%s)', async (key) => {
    const counter = await deploy(chain.upstream, `${key}5460010160005500`)
    const fork = await chain.fork({ cadence: 'manual' })
    await fork.ask('anvil_mine', quantity(3))
    const head = Number(await fork.ask('eth_blockNumber'))
    const transactions = [0, 1, 2].map((place) => [{ from: ACCOUNTS[place]!.address, to: counter, gas: '0x30d40' }, place])
    await fork.ask('anvil_reorg', 3, transactions)
    for (const place of [0, 1, 2]) {
      const block = await fork.ask('eth_getBlockByNumber', quantity(head - 2 + place), true)
      expect(block).toMatchObject({ transactions: expect.arrayContaining([expect.objectContaining({ to: counter })]) })
    }
  })
})

describe('a fork under the instant cadence', () => {
  it('answers with a hash only for transactions of a block, also if upstream fails after they have missed state there', async () => {
    const counter = await deploy(chain.upstream, READS_SLOT_OF_NUMBER)
    const fork = await chain.fork({ cadence: 'instant', onError: () => undefined }, { retries: 0 })
    // One block warms all, and in the next one the others miss another slot.
    fork.node.chain.head.subscribe(() => (chain.proxy.failure = { status: 500, body: 'out of order' }))
    const answers = await Promise.allSettled(
      ACCOUNTS.map(({ address }) => fork.ask('eth_sendTransaction', { from: address, to: counter, gas: '0x30d40' })),
    )
    const hashes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    expect(answers.length - hashes.length).toBeGreaterThan(0)
    for (const hash of hashes) expect(await fork.ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    expect(await fork.ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
  })
})

/** Loads the slot that the block's timestamp names. */
const READS_SLOT_OF_TIME = '42545000'
/** Loads the slot that the block's number names. */
const READS_SLOT_OF_NUMBER = '43545000'

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

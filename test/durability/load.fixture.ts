import { setTimeout as delay } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { Address, Hash, Hex, Transaction } from '../../src/eth/index.ts'
import type { Command } from '../command.fixture.ts'
import type { Random } from '../evm/fuzz/random.ts'
import type { Call, HeaderJson, ReceiptJson } from '../node.fixture.ts'

/** A receipt compared in every field. */
export type WholeReceipt = ReceiptJson & { readonly cumulativeGasUsed: string; readonly transactionIndex: string }

const CHAIN_ID = 31_337
const GWEI = 10n ** 9n

/** keccak256("Transfer(address,address,uint256)") */
export const TRANSFER_TOPIC = Hash.ofText('Transfer(address,address,uint256)')

/**
 * A token without owners: takes (to, amount), adds the amount to the storage slot `to`, and emits Transfer(caller, to, amount). The logs of
 * the whole chain therefore determine the value of every slot.
 */
const TOKEN_RUNTIME = `60203580600052600035805482018155337f${TRANSFER_TOPIC.slice(2)}60206000a300`
const TOKEN_INIT_CODE = Hex.toBytes(
  `0x60${(TOKEN_RUNTIME.length / 2).toString(16)}600c60003960${(TOKEN_RUNTIME.length / 2).toString(16)}6000f3${TOKEN_RUNTIME}`,
)

/** The account that deploys the token, and the token's address. */
export function tokenOf(accounts: readonly string[]): Address {
  return Address.create(Address.from(accounts[0]!), 0n)
}

/** Recipients of tokens and wei; few, so that the same slots change repeatedly. */
const RECEIVERS = 400

export function receiver(index: number): Address {
  return Address.from(`0x${(0xbeef0000 + index).toString(16).padStart(40, '0')}`)
}

/** An address whose balance changes only through edits. */
const EDITED = Address.from(`0x${'ed17'.padStart(40, '0')}`)

/** Everything acknowledged to a client, which must survive a kill of the process. */
export class Ledger {
  /** number → hash of sealed blocks, from notifications and polls */
  readonly heads = new Map<number, string>()
  /** transaction hash → pre-confirmed receipt */
  readonly promised = new Map<string, WholeReceipt>()
  /** the possible balances of EDITED */
  edits: readonly bigint[] | null = null
  #reorgs = 0
  #edit = 0n

  get height(): number {
    return Math.max(-1, ...this.heads.keys())
  }

  /** How many promises are in a block that no client has seen sealed. Its first is the deposit with the L1 attributes. */
  get openPromises(): number {
    const { height } = this
    return [...this.promised.values()].filter(({ blockNumber }) => Number(blockNumber) > height).length
  }

  sealed({ number, hash }: HeaderJson): void {
    if (this.#reorgs === 0) this.heads.set(Number(number), hash)
  }

  promise(receipt: WholeReceipt): void {
    if (this.#reorgs === 0) this.promised.set(receipt.transactionHash, receipt)
  }

  /** Discards all entries that a pending reorg of this many blocks may replace. */
  beginReorg(depth: number): void {
    this.#reorgs++
    this.forgetAbove(this.height - depth)
  }

  endReorg(): void {
    this.#reorgs--
  }

  /** Adds the value of an edit in flight, which may be applied at any time from now on. */
  nextEdit(): bigint {
    this.#edit++
    if (this.edits !== null) this.edits = [...this.edits, this.#edit]
    return this.#edit
  }

  edited(value: bigint): void {
    if (this.#reorgs === 0) this.edits = [value]
  }

  forgetAbove(number: number): void {
    for (const each of this.heads.keys()) if (each > number) this.heads.delete(each)
    for (const [hash, { blockNumber }] of this.promised) if (Number(blockNumber) > number) this.promised.delete(hash)
    this.edits = null
  }
}

/** Signs transfers of wei and of tokens in nonce order. The very first transaction deploys the token. */
export class Signer {
  readonly #command: Command
  readonly #random: Random
  #nonces: readonly bigint[] = []

  constructor(command: Command, random: Random) {
    this.#command = command
    this.#random = random
  }

  /** Reads the nonces: before the first transaction, and after an action that may have reverted transactions. */
  async findNonces(): Promise<void> {
    const { accounts } = this.#command.ready
    const counts = await this.#command.askAll(accounts.map((account) => ['eth_getTransactionCount', account, 'pending']))
    this.#nonces = counts.map((count) => BigInt(String(count)))
  }

  /** Returns the next signed transaction. */
  next(): Hex {
    const { accounts, privateKeys } = this.#command.ready
    const account = this.#nonces[0] === 0n ? 0 : this.#random.below(accounts.length)
    const nonce = this.#nonces[account]!
    this.#nonces = this.#nonces.with(account, nonce + 1n)
    const fields = { type: 2, chainId: CHAIN_ID, nonce, maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: 1n } as const
    const transaction = Transaction.sign({ ...fields, ...this.#purpose(account, nonce) }, Hex.toBytes(privateKeys[account]!))
    return Hex.fromBytes(transaction.raw)
  }

  #purpose(account: number, nonce: bigint) {
    if (account === 0 && nonce === 0n) return { to: null, value: 0n, gas: 300_000n, data: TOKEN_INIT_CODE }
    const to = receiver(this.#random.below(RECEIVERS))
    const amount = BigInt(1 + this.#random.below(1_000))
    if (this.#random.chance(0.3)) return { to, value: amount, gas: 21_000n }
    const data = Buffer.concat([to, amount].map((word) => Buffer.from(BigInt(word).toString(16).padStart(64, '0'), 'hex')))
    return { to: tokenOf(this.#command.ready.accounts), value: 0n, gas: 120_000n, data: new Uint8Array(data) }
  }
}

export interface Work {
  /** signed transactions per second */
  readonly rate: number
  /** actions other than transactions: edits, reorgs, bursts of empty blocks */
  readonly mischief: boolean
}

/** Sends signed transactions and other actions to a node until it is stopped or the node ends. */
export class Load {
  sent = 0
  /** the first error of a request: of a live node, unless the node was killed */
  failure: unknown = null
  readonly #command: Command
  readonly #ledger: Ledger
  readonly #random: Random
  readonly #work: Work
  readonly #signer: Signer
  readonly #running: Promise<unknown>[] = []
  readonly #socket: WebSocket
  #isStopped = false
  /** the action in flight */
  #action: string | null = null
  /** set while the nonces are read again */
  #isLost = true

  constructor(command: Command, ledger: Ledger, random: Random, work: Work) {
    this.#command = command
    this.#ledger = ledger
    this.#random = random
    this.#work = work
    this.#signer = new Signer(command, random)
    this.#socket = this.#listen()
    this.#running = [this.#send(), this.#look(), ...(work.mischief ? [this.#mischief()] : [])].map((task) => task.catch(this.#dead))
  }

  /** For the message of a failure: what was sent, and what has not ended. */
  doing(): object {
    const { promised } = this.#ledger
    return { sent: this.sent, readsNonces: this.#isLost, reorgs: this.#reorgs, action: this.#action, promised: promised.size }
  }

  /** Resolves when no request is in flight. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
    this.#socket.terminate()
  }

  /** Records errors of a live node only; connection errors of a killed node are expected. */
  readonly #dead = (error: unknown): void => {
    this.failure ??= error
    const isGone = error instanceof TypeError || error instanceof SyntaxError || (error instanceof Error && 'code' in error)
    if (!isGone) throw error
  }

  #listen(): WebSocket {
    const socket = new WebSocket(this.#command.wsUrl)
    socket.on('error', () => undefined)
    socket.on('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })))
    socket.on('message', (data: Buffer) => {
      const { params } = JSON.parse(data.toString()) as { params?: { result: HeaderJson } } // an answer or a notification
      if (params !== undefined) this.#ledger.sealed(params.result)
    })
    return socket
  }

  async #send(): Promise<void> {
    const { askAll } = this.#command
    const pauseMs = 50
    for (let dueMs = performance.now(); !this.#isStopped; dueMs = Math.max(dueMs + pauseMs, performance.now() - 500)) {
      if (this.#isLost) await this.#signer.findNonces()
      this.#isLost = false
      const count = Math.max(1, Math.round((this.#work.rate * pauseMs) / 1_000))
      const calls = Array.from({ length: count }, (): Call => ['eth_sendRawTransaction', this.#signer.next()])
      try {
        await askAll(calls)
        this.sent += count
      } catch (error) {
        // After a reorg some nonces are too high or too low.
        if (!(error instanceof Error) || !/nonce|already known|underpriced|replacement/.test(error.message)) throw error
        this.#isLost = true
      }
      await delay(Math.max(0, dueMs + pauseMs - performance.now()))
    }
  }

  /** Polls pre-confirmed receipts and the newest sealed block without a pause. */
  async #look(): Promise<void> {
    while (!this.#isStopped) {
      const before = this.#reorgs
      const answers = await this.#command.askAll([
        ['eth_getBlockReceipts', 'pending'],
        ['eth_getBlockByNumber', 'latest', false],
      ])
      const [receipts, latest] = answers as [WholeReceipt[] | null, HeaderJson] // the result types of these methods
      if (before === this.#reorgs) {
        for (const receipt of receipts ?? []) this.#ledger.promise(receipt)
        this.#ledger.sealed(latest)
      }
      await delay(20)
    }
  }

  /** number of reorgs: the response to a request sent before a reorg is ignored after it */
  #reorgs = 0

  async #mischief(): Promise<void> {
    const { ask } = this.#command
    for (;;) {
      await delay(this.#random.between(50, 400))
      if (this.#isStopped) return
      const [name, act] = this.#random.weighted<readonly [name: string, act: () => Promise<unknown>]>([
        [5, ['edit', () => this.#edit()]],
        [3, ['mine', () => ask('anvil_mine', this.#random.between(1, 60))]],
        [1, ['reorg', () => this.#reorg()]],
      ])
      this.#action = name
      await act()
      this.#action = null
    }
  }

  async #edit(): Promise<void> {
    const reorgs = this.#reorgs
    const value = this.#ledger.nextEdit()
    await this.#command.ask('anvil_setBalance', EDITED, `0x${value.toString(16)}`)
    if (reorgs === this.#reorgs) this.#ledger.edited(value)
  }

  async #reorg(): Promise<void> {
    const depth = this.#random.between(1, Math.min(20, this.#ledger.height))
    if (depth < 1) return
    this.#reorgs++
    this.#ledger.beginReorg(depth)
    try {
      await this.#command.ask('anvil_reorg', depth, [])
    } finally {
      // Also after a kill: the ledger outlives the process. A subscriber may still receive notifications of replaced blocks.
      await delay(100)
      this.#ledger.endReorg()
    }
    this.#reorgs++
    this.#isLost = true
  }
}

export function edited(): Address {
  return EDITED
}

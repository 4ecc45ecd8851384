// Deterministic synthetic blocks: 50 logs and 18 transactions each, contracts and accounts with a skewed distribution as on a busy chain,
// one contract with a fifth of all logs, 3.9 indexed values per log. A few planted logs are known.

const TRANSACTIONS = 18
export const LOGS = 50
const CONTRACTS = 60_000
const ACCOUNTS = 2_000_000
/** Accounts with cached topics: half of all draws. */
const KEPT_ACCOUNTS = 30_000
const BASE_SHARE = 0.2

/** [share of all logs, further topics (account, number or word), bytes of data] */
const KINDS = [
  ['transfer', 0.55, ['account', 'account'], 32],
  ['approval', 0.1, ['account', 'account'], 32],
  ['swap', 0.15, ['account', 'account'], 160],
  ['sync', 0.08, [], 64],
  ['nft', 0.05, ['account', 'account', 'word'], 0],
  ['userOperation', 0.03, ['word', 'account', 'account'], 128],
  ['misc', 0.04, ['word'], 96],
]

/** Planted logs and their number. */
export const PLANTED = { rare: 10, mine: 40, mineElsewhere: 100 }

/** Generates blocks in order. */
export class Synthetic {
  /** planted logs by block number @type {Map<number, string>} */
  #planted = new Map()
  #random
  #hex
  #accounts = []
  #contracts = []
  #topics
  #parent
  #bloom
  #count

  /**
   * @typedef {{ ofLogs: (logs: readonly any[]) => Uint8Array, or: (left: Uint8Array, right: Uint8Array) => Uint8Array, empty: Uint8Array }} Bloom
   * @param {{ Hex: { fromBytes: (bytes: Uint8Array) => string }, Bloom: Bloom }} eth of the build
   * @param {number} count blocks in all
   */
  constructor({ Hex, Bloom }, count) {
    this.#hex = Hex.fromBytes
    this.#bloom = Bloom
    this.#count = count
    this.#random = randomBytes(0x2f6e2b1)
    this.#topics = Object.fromEntries(KINDS.map(([name], i) => [name, this.#named(0x70_00 + i)]))
    this.#contracts = Array.from({ length: CONTRACTS }, () => this.#hex(this.#random.bytes(20)))
    this.#parent = this.#named(0)
    this.rareAddress = this.#hex(this.#random.bytes(20))
    this.me = this.#account(ACCOUNTS)
    this.base = this.#contracts[0]
    this.transfer = this.#topics.transfer
    this.middling = this.#contracts[400]
    for (const [name, times] of Object.entries(PLANTED)) for (let i = 0; i < times; i++) this.#plant(name, (i + 0.5) / times)
  }

  /** @returns {any} a sealed block with receipts */
  block(/** @type {number} */ number) {
    const hash = this.#named(number + 1)
    const transactions = Array.from({ length: TRANSACTIONS }, (_, i) => this.#transaction(i))
    const planted = this.#planted.get(number)
    let next = 0
    const receipts = transactions.map((_, i) => {
      const end = Math.round(((i + 1) * LOGS) / TRANSACTIONS)
      const receipt = this.#receipt(i, next, end, planted)
      next = end
      return receipt
    })
    const header = this.#header(number, receipts)
    this.#parent = hash
    return { header, hash, transactions, receipts, ommers: [], withdrawals: [], timestampMs: null, sizeBytes: 9_000 }
  }

  #plant(name, share) {
    let number = Math.floor(share * this.#count)
    while (this.#planted.has(number)) number++
    this.#planted.set(number, name)
  }

  #receipt(index, from, to, planted) {
    const logs = []
    for (let i = from; i < to; i++) logs.push(planted !== undefined && i === 0 ? this.#plantedLog(planted) : this.#log())
    const gasUsed = 90_000n
    return {
      type: 2,
      status: 1,
      root: null,
      cumulativeGasUsed: gasUsed * BigInt(index + 1),
      logsBloom: this.#bloom.ofLogs(logs),
      logs,
      gasUsed,
      effectiveGasPrice: 6_000_000n,
      contractAddress: null,
      firstLogIndex: from,
      blobGasUsed: null,
      blobGasPrice: null,
      depositNonce: null,
      depositReceiptVersion: null,
      l1: null,
    }
  }

  #log() {
    if (this.#random.share() < BASE_SHARE)
      return { address: this.base, topics: [this.transfer, this.#someAccount(), this.#someAccount()], data: this.#random.bytes(32) }
    let left = this.#random.share()
    const kind = KINDS.find(([, share]) => (left -= share) < 0) ?? KINDS[0]
    const [name, , values, size] = kind
    return {
      address: this.#contracts[1 + zipf(this.#random.share(), CONTRACTS - 1)],
      topics: [
        this.#topics[name],
        ...values.map((value) => (value === 'account' ? this.#someAccount() : this.#hex(this.#random.bytes(32)))),
      ],
      data: this.#random.bytes(size),
    }
  }

  #plantedLog(name) {
    const data = this.#random.bytes(32)
    if (name === 'rare') return { address: this.rareAddress, topics: [this.#named(0xbeef)], data }
    const address = name === 'mine' ? this.base : this.#contracts[1 + zipf(this.#random.share(), CONTRACTS - 1)]
    return { address, topics: [this.transfer, this.#someAccount(), this.me], data }
  }

  #transaction(index) {
    return {
      type: 2,
      hash: this.#hex(this.#random.bytes(32)),
      from: `0x${this.#someAccount().slice(26)}`,
      chainId: 31_337,
      nonce: BigInt(index),
      gas: 200_000n,
      to: this.#contracts[zipf(this.#random.share(), CONTRACTS)],
      value: 0n,
      data: this.#random.bytes(68),
      maxFeePerGas: 10_000_000n,
      maxPriorityFeePerGas: 1_000_000n,
      accessList: [],
      maxFeePerBlobGas: 0n,
      blobVersionedHashes: [],
      authorizationList: [],
      v: 0n,
      r: SIGNATURE,
      s: SIGNATURE >> 1n,
      deposit: null,
      raw: NOTHING,
    }
  }

  #header(number, receipts) {
    return {
      parentHash: this.#parent,
      ommersHash: ZERO,
      coinbase: this.#contracts[1],
      stateRoot: this.#hex(this.#random.bytes(32)),
      transactionsRoot: this.#hex(this.#random.bytes(32)),
      receiptsRoot: this.#hex(this.#random.bytes(32)),
      logsBloom: receipts.reduce((bloom, { logsBloom }) => this.#bloom.or(bloom, logsBloom), this.#bloom.empty),
      difficulty: 0n,
      number,
      gasLimit: 60_000_000n,
      gasUsed: 1_620_000n,
      timestamp: 1_700_000_000 + number * 2,
      extraData: NOTHING,
      mixHash: ZERO,
      nonce: new Uint8Array(8),
      baseFeePerGas: 5_000_000n,
      withdrawalsRoot: ZERO,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: ZERO,
      requestsHash: ZERO,
    }
  }

  #someAccount() {
    return this.#account(zipf(this.#random.share(), ACCOUNTS))
  }

  /** An address as a topic, derived from a number. */
  #account(id) {
    if (id >= KEPT_ACCOUNTS) return this.#accountTopic(id)
    return (this.#accounts[id] ??= this.#accountTopic(id))
  }

  #accountTopic(id) {
    return this.#hex(mixed(id, 12))
  }

  #named(id) {
    return this.#hex(mixed(id + 0x4000_0000, 0))
  }
}

const ZERO = `0x${'0'.repeat(64)}`
const NOTHING = new Uint8Array(0)
const SIGNATURE = 0x6b8d2c81b11b2d699528dde488dbdf2f94293d0d33c32e347f255fa4a6c1f0a9n

/** 32 bytes derived from a number, from `start` on; zeros before. */
function mixed(/** @type {number} */ id, /** @type {number} */ start) {
  const bytes = new Uint8Array(32)
  const view = new DataView(bytes.buffer)
  let word = (id * 0x9e3779b1 + 1) >>> 0
  for (let at = start; at < 32; at += 4) {
    word = Math.imul(word ^ (word >>> 16), 0x85ebca6b) ^ (id + at)
    word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35)
    view.setUint32(at, (word ^ (word >>> 16)) >>> 0)
  }
  return bytes
}

const SLAB_BYTES = 2 ** 20

/** A rank below `count`; each power of two of ranks is equally likely. */
function zipf(/** @type {number} */ share, /** @type {number} */ count) {
  return Math.floor((count + 1) ** share) - 1
}

/**
 * Slices of large buffers, as read from a file. With separate buffers the allocator scanned the 40,000 that a commit released as soon as
 * the store allocated.
 */
function slices() {
  let slab = new ArrayBuffer(0)
  let end = 0
  return (/** @type {number} */ size) => {
    if (end + size > slab.byteLength) [slab, end] = [new ArrayBuffer(SLAB_BYTES), 0]
    end += size
    return new Uint8Array(slab, end - size, size)
  }
}

/** Deterministic generator (xorshift128). */
function randomBytes(/** @type {number} */ seed) {
  let [x, y, z, w] = [seed, 362_436_069, 521_288_629, 88_675_123]
  const slice = slices()
  const next = () => {
    const t = x ^ (x << 11)
    x = y
    y = z
    z = w
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8)
    return w >>> 0
  }
  return {
    /** from 0 up to 1 */
    share: () => next() / 2 ** 32,
    bytes: (/** @type {number} */ size) => {
      const bytes = slice(size)
      for (let at = 0; at < size; at += 4) {
        const word = next()
        bytes[at] = word
        bytes[at + 1] = word >>> 8
        bytes[at + 2] = word >>> 16
        bytes[at + 3] = word >>> 24
      }
      return bytes
    },
  }
}

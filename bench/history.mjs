// The same chain on every node: blocks of one transaction and eleven logs, created through plain RPC while mining is held. Most logs are of
// the common kind; for each chain length ten of them, spread evenly, carry a mark.
import { encodeDeployData, toEventSelector, toFunctionSelector } from 'viem'
import { bodyOf } from './compare.mjs'
import { Line } from './load.mjs'

export const LOGS_PER_BLOCK = 11
export const COMMON = toEventSelector('event Common(address indexed from, address indexed to, uint256 value)')
export const MARK = toEventSelector('event Mark(uint256 indexed mark, uint256 value)')

const RUN = toFunctionSelector('function run(uint256,uint256,address)').slice(2)
const MARKS = 10
/** Indices of those from the second contract. */
const OF_TWIN = new Set([3, 7])
const DEPLOY_GAS = 1_000_000n
const RUN_GAS = 120_000n
/** Blocks per time check. Ours processes a batch in order and receives them in one request; the others process a batch concurrently. */
const BLOCKS_AT_ONCE = 50

/** The chain of one node. */
export class History {
  /** number of the first block with logs */
  firstBlock = 0
  /** number of blocks with logs */
  blocks = 0
  /** build time */
  builtMs = 0
  /** why it stopped growing @type {string | null} */
  stopped = null
  peer
  address = ''
  twin = ''
  #sign
  #marks

  /** Deploys the two contracts. @param {readonly number[]} lengths at which the chain will be searched */
  static async begin(participants, peer, lengths) {
    const history = new History(peer, participants.wallet.signer(), marksOf(lengths))
    const code = encodeDeployData(participants.contracts.Events)
    history.address = await history.#deploy(code)
    history.twin = await history.#deploy(code)
    history.firstBlock = Number(await peer.rpc('eth_blockNumber')) + 1
    return history
  }

  constructor(peer, sign, marks) {
    this.peer = peer
    this.#sign = sign
    this.#marks = marks
  }

  /** The topic of the ten marked logs for this chain length. */
  static mark(/** @type {readonly number[]} */ lengths, /** @type {number} */ length) {
    return `0x${word(lengths.indexOf(length) + 1)}`
  }

  /** Builds up to `length` blocks, or stops if that would take longer than `limitMs`. */
  async grow(participants, /** @type {number} */ length, /** @type {number} */ limitMs) {
    if (this.stopped !== null) return
    const startMs = performance.now()
    // A new connection: nodes close idle ones after some seconds.
    const line = await Line.open(this.peer)
    try {
      await this.#growTo(participants, line, length, limitMs)
    } finally {
      line.close()
    }
    this.builtMs += performance.now() - startMs
    if (this.stopped !== null) return
    const height = Number(await this.peer.rpc('eth_blockNumber')) - this.firstBlock + 1
    if (height !== length) throw new Error(`${this.peer.name} has ${height} blocks and not ${length}`)
  }

  async #growTo(participants, line, length, limitMs) {
    const startMs = performance.now()
    const from = this.blocks
    // Extrapolates from the time so far.
    let perBlockMs = from === 0 ? 0 : this.builtMs / from
    while (this.blocks < length) {
      if (perBlockMs * (length - from) > limitMs) {
        const seconds = Math.round((perBlockMs * (length - from)) / 1_000)
        this.stopped = `${length.toLocaleString('en-US')} blocks would take ${this.peer.name} about ${seconds} s (limit ${limitMs / 1_000} s)`
        return
      }
      participants.say(`building, ${this.peer.name}: ${this.blocks} of ${length} blocks`)
      await this.#add(line, Math.min(BLOCKS_AT_ONCE, length - this.blocks))
      if (this.blocks - from >= 200) perBlockMs = (performance.now() - startMs) / (this.blocks - from)
    }
  }

  async #add(line, /** @type {number} */ count) {
    const bodies = []
    for (let i = 0; i < count; i++) {
      const block = this.blocks + i
      const { mark, ofTwin } = this.#marks.get(block) ?? { mark: 0, ofTwin: false }
      const data = `0x${RUN}${word(block)}${word(mark)}${word(ofTwin ? this.twin : 0)}`
      const { raw } = this.#sign({ to: this.address, data, gas: RUN_GAS })
      bodies.push(bodyOf({ method: 'eth_sendRawTransaction', params: [raw] }), bodyOf({ method: 'evm_mine', params: [] }))
    }
    if (this.peer.name === 'ours') requireResult(await line.ask(`[${bodies.join(',')}]`), this.peer)
    else for (const body of bodies) requireResult(await line.ask(body), this.peer)
    this.blocks += count
  }

  async #deploy(/** @type {string} */ data) {
    const { raw, hash } = this.#sign({ data, gas: DEPLOY_GAS })
    await this.peer.rpc('eth_sendRawTransaction', [raw])
    await this.peer.rpc('evm_mine')
    return (await this.peer.rpc('eth_getTransactionReceipt', [hash])).contractAddress.toLowerCase()
  }
}

/** @returns {Map<number, { mark: number, ofTwin: boolean }>} by block, counted from the first with logs */
function marksOf(/** @type {readonly number[]} */ lengths) {
  const marks = new Map()
  for (const [i, length] of lengths.entries()) {
    for (let k = 0; k < MARKS; k++) {
      let block = Math.floor(((k + 0.5) * length) / MARKS)
      while (marks.has(block)) block++
      marks.set(block, { mark: i + 1, ofTwin: OF_TWIN.has(k) })
    }
  }
  return marks
}

function requireResult(/** @type {Buffer} */ answer, peer) {
  const text = answer.latin1Slice()
  if (text.includes('"error"')) throw new Error(`${peer.name}: ${/"error".{0,300}/.exec(text)?.[0]}`)
}

/** @returns {string} 64 digits */
export function word(/** @type {number | string} */ value) {
  return (typeof value === 'number' ? value.toString(16) : value.replace('0x', '')).padStart(64, '0')
}

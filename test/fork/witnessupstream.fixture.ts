import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Address, EMPTY_CODE_HASH, Hash, Header, Hex } from '../../src/eth/index.ts'
import type { Account } from '../../src/evm/index.ts'
import { Witness } from '../conformance/witness.fixture.ts'
import { headerOf } from '../conformance/op-blocks.fixture.ts'
import type { Recorded } from '../conformance/op-blocks.fixture.ts'

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/**
 * Answers JSON-RPC for the parent of a recorded block from its witness. Values that the witness lacks are empty: nothing in the recorded block reads them.
 */
export class WitnessUpstream implements AsyncDisposable {
  readonly url: string
  /** Number of HTTP requests. */
  requests = 0
  readonly #server: Server
  readonly #recorded: Recorded
  readonly #witness: Witness
  readonly #headers = new Map<number, Hash>()

  private constructor(recorded: Recorded, server: Server, witness: Witness) {
    this.#recorded = recorded
    this.#server = server
    this.#witness = witness
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const parent = headerOf(recorded.parent_header)
    this.#headers.set(parent.number, Header.hash(parent))
    this.#headers.set(parent.number - 1, parent.parentHash)
  }

  static async start(recorded: Recorded): Promise<WitnessUpstream> {
    const preimages = new Map(Object.entries(recorded.preimages).map(([hash, bytes]) => [Hash.from(hash as Hex), Hex.toBytes(bytes)]))
    const witness = new Witness(preimages, headerOf(recorded.parent_header).stateRoot)
    const server = createServer((request, response) => {
      const pieces: Buffer[] = []
      request.on('data', (piece: Buffer) => pieces.push(piece))
      request.on('end', () => {
        upstream.requests++
        const body = JSON.parse(Buffer.concat(pieces).toString()) as Call | Call[]
        const answer = Array.isArray(body) ? body.map((call) => upstream.#answer(call)) : upstream.#answer(body)
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const upstream = new WitnessUpstream(recorded, server, witness)
    return upstream
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #answer({ id, method, params }: Call): object {
    try {
      return { jsonrpc: '2.0', id, result: this.#result(method, params) }
    } catch (error) {
      return { jsonrpc: '2.0', id, error: { code: -32_601, message: (error as Error).message } }
    }
  }

  #result(method: string, [first, second]: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return Hex.fromQuantity(this.#recorded.rollup_config.l2_chain_id)
      case 'eth_blockNumber':
        return this.#recorded.parent_header['number']
      case 'eth_getTransactionByBlockNumberAndIndex':
        return { type: '0x7e' }
      case 'eth_getBlockByNumber':
        return this.#block(first)
      case 'eth_getAccountInfo': {
        const { balance, nonce, codeHash } = this.#account(first) ?? EMPTY
        return { balance: Hex.fromQuantity(balance), nonce: Hex.fromQuantity(nonce), code: this.#code(codeHash) }
      }
      case 'eth_getStorageValues':
        return Object.fromEntries(
          Object.entries(first as Record<string, Hex[]>).map(([address, slots]) => [
            address,
            slots.map((slot) => this.#slot(address, slot)),
          ]),
        )
      case 'eth_getCode':
        return this.#code((this.#account(first) ?? EMPTY).codeHash)
      case 'eth_getStorageAt':
        return this.#slot(String(first), String(second) as Hex)
      default:
        throw new Error(`the method ${method} does not exist/is not available`)
    }
  }

  #block(number: unknown): unknown {
    const { parent_header: parent } = this.#recorded
    const height = number === 'latest' ? Number(parent['number']) : Number(number)
    const hash = this.#headers.get(height)
    if (height === Number(parent['number'])) return { ...parent, hash, transactions: [], uncles: [], withdrawals: [], size: '0x0' }
    return hash === undefined ? null : { number: Hex.fromQuantity(height), hash }
  }

  #account(address: unknown): Account | null {
    return this.#known(() => this.#witness.account(Address.from(String(address) as Hex))) ?? null
  }

  #slot(address: string, slot: Hex): Hex {
    const value = this.#known(() => this.#witness.storage(Address.from(address as Hex), Hash.from(slot))) ?? 0n
    return `0x${value.toString(16).padStart(64, '0')}`
  }

  #code(codeHash: Hash): Hex {
    return Hex.fromBytes(this.#known(() => this.#witness.code(codeHash)) ?? new Uint8Array())
  }

  #known<T>(read: () => T): T | null {
    try {
      return read()
    } catch {
      return null // the witness lacks a trie node on the path
    }
  }
}

const EMPTY = { balance: 0n, nonce: 0n, codeHash: EMPTY_CODE_HASH } as const

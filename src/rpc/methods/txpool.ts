import { POOL_BYTES } from '../../chain/index.ts'
import type { Chain } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import { Address, Hex } from '../../eth/index.ts'
import type { Transaction } from '../../eth/index.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { transactionJson } from '../json.ts'
import type { Json } from '../json.ts'
import { method, required } from '../method.ts'
import type { Method } from '../method.ts'
import { QUANTITY, STRING, record } from '../../jsonrpc/jsonschema.ts'
import { TRANSACTION } from '../results.ts'
import { address } from '../../jsonrpc/schema.ts'

const ACCOUNT = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const BY_NONCE = { type: 'object', additionalProperties: TRANSACTION }
const BY_SENDER = { type: 'object', additionalProperties: BY_NONCE }
const TRANSACTION_EXAMPLE = { from: ACCOUNT.toLowerCase(), nonce: '0x5', type: '0x2', blockNumber: null }

export const POOL_TOO_LARGE = { [CODE.responseTooLarge]: `the pool holds more than ${POOL_BYTES} bytes of transactions` }

/** The pool, in geth's form: senders with their checksum, nonces in decimal. */
export const TXPOOL_METHODS: readonly Method[] = [
  method({
    name: 'txpool_status',
    doc: 'The numbers of pooled transactions that can be executed, and of those that wait for an earlier nonce.',
    params: [],
    result: record('pool status', { pending: QUANTITY, queued: QUANTITY }),
    example: { params: [], result: { pending: '0x1', queued: '0x0' } },
    handler: ({ chain }) => {
      const { pending, queued } = chain.pool.status()
      return { pending: Hex.fromQuantity(pending), queued: Hex.fromQuantity(queued) }
    },
  }),
  method({
    name: 'txpool_content',
    doc: 'Every pooled transaction by sender and nonce.',
    params: [],
    result: record('pool content', { pending: BY_SENDER, queued: BY_SENDER }),
    errors: POOL_TOO_LARGE,
    example: { params: [], result: { pending: { [ACCOUNT]: { 5: TRANSACTION_EXAMPLE } }, queued: {} } },
    handler: ({ chain, compat }) => bySender(wholePool(chain), pooled, compat),
  }),
  method({
    name: 'txpool_contentFrom',
    doc: 'The pooled transactions of one sender by nonce.',
    params: [required('address', address)],
    result: record('pool content of a sender', { pending: BY_NONCE, queued: BY_NONCE }),
    errors: POOL_TOO_LARGE,
    example: { params: [ACCOUNT], result: { pending: { 5: TRANSACTION_EXAMPLE }, queued: {} } },
    handler: ({ chain }, [address]) => {
      const { pending, queued } = wholePool(chain)
      return { pending: byNonce(pending.get(address) ?? [], pooled), queued: byNonce(queued.get(address) ?? [], pooled) }
    },
  }),
  method({
    name: 'txpool_inspect',
    doc: 'Every pooled transaction in a line of text.',
    params: [],
    result: record('pool summary', { pending: lines(), queued: lines() }),
    example: {
      params: [],
      result: { pending: { [ACCOUNT]: { 5: `${ACCOUNT}: 1 wei + 21000 gas × 1000000000 wei` } }, queued: {} },
    },
    handler: ({ chain, compat }) => bySender(chain.pool.content(), (tx) => summary(tx, compat), compat),
  }),
]

function lines() {
  return { type: 'object', additionalProperties: { type: 'object', additionalProperties: STRING } }
}

/** Returns the pool for an answer with its transactions. Throws RpcError -32003 if that would be too large for a response. */
export function wholePool({ pool }: Chain): ReturnType<Chain['pool']['content']> {
  if (pool.sizeBytes <= POOL_BYTES) return pool.content()
  const reason = `the pool has ${pool.sizeBytes} bytes of transactions, and one response has room for ${POOL_BYTES}; use txpool_inspect, or mine or drop some`
  throw new RpcError(CODE.responseTooLarge, reason)
}

type Content = Readonly<Record<'pending' | 'queued', ReadonlyMap<Address, readonly Transaction[]>>>

function bySender({ pending, queued }: Content, as: (tx: Transaction) => unknown, compat: Compat): Json {
  return { pending: senders(pending, as, compat), queued: senders(queued, as, compat) }
}

function senders(content: ReadonlyMap<Address, readonly Transaction[]>, as: (tx: Transaction) => unknown, compat: Compat): Json {
  return Object.fromEntries(Array.from(content, ([address, txs]) => [shownAddress(address, compat), byNonce(txs, as)]))
}

function shownAddress(address: Address, { poolAddresses }: Compat): string {
  return poolAddresses === 'checksum' ? Address.checksum(address) : address
}

function byNonce(txs: readonly Transaction[], as: (tx: Transaction) => unknown): Json {
  return Object.fromEntries(txs.map((tx) => [tx.nonce.toString(), as(tx)]))
}

function pooled(tx: Transaction): Json {
  return transactionJson(tx, null)
}

function summary(tx: Transaction, compat: Compat): string {
  const to = tx.to === null ? 'contract creation' : shownAddress(tx.to, compat)
  return `${to}: ${tx.value} wei + ${tx.gas} gas × ${tx.maxFeePerGas} wei`
}

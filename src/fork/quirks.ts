/**
 * The meaning of a provider's error. `rate-limit`: wait and repeat. `retry`: a temporary fault. `pruned`: the block's state or header is absent.
 * `unsupported`: the method is absent. `batch-size`: fewer calls per request. `batch`: one call per request. `block-hash`: the block parameter must
 * be a number. `refused`: anything else, an answer about the call itself.
 */
export type Verdict = 'rate-limit' | 'retry' | 'pruned' | 'unsupported' | 'batch-size' | 'batch' | 'block-hash' | 'refused'

/** An error of a JSON-RPC response, or a reply without one (code and message null). */
export interface Fault {
  /** HTTP */
  readonly status: number
  readonly code: number | null
  readonly message: string | null
  /** the error is the only answer to a batch */
  readonly isForBatch: boolean
}

interface Quirk {
  readonly verdict: Verdict
  readonly status?: (status: number) => boolean
  readonly codes?: readonly number[]
  readonly message?: RegExp
  readonly onlyForBatch?: true
  /** which upstream answers so */
  readonly source: string
}

/** The first row whose conditions all hold decides. Rows with a message come before rows that match by the same code only. */
export const QUIRKS: readonly Quirk[] = [
  { verdict: 'refused', codes: [3], source: 'geth: a revert, whose reason may contain any words' },
  { verdict: 'refused', message: /^(execution reverted|VM Exception|revert)/i, source: 'nodes that answer -32000 for a revert' },
  { verdict: 'refused', message: /execution (aborted|timeout)/i, source: 'geth and Erigon: a call that runs too long would do so again' },
  {
    verdict: 'refused',
    message: /query returned more than|block range|log response size/i,
    source: 'Infura (-32005) and Alchemy: eth_getLogs of too many blocks',
  },
  { verdict: 'rate-limit', status: (status) => status === 429, source: 'all providers' },
  { verdict: 'batch-size', status: (status) => status === 413, onlyForBatch: true, source: 'nginx, Cloudflare' },
  {
    verdict: 'batch-size',
    message:
      /batch.*(too (large|big|many|long)|limit|exceed|maximum|up to)|(too many|maximum|limit of|up to).*(batch|in one request|calls)/i,
    source: 'geth and reth ("batch too large"), Alchemy, QuickNode, dRPC',
  },
  { verdict: 'batch-size', codes: [-32003], message: /response too large/i, source: 'geth, the bytes of one batch' },
  { verdict: 'batch', message: /batch/i, onlyForBatch: true, source: 'nodes and gateways with batches switched off' },
  {
    verdict: 'pruned',
    message:
      /missing trie node|header not found|header for hash not found|old data not available|historical state|state (is )?(not available|unavailable)|no state available|pruned|state histor|state already discarded|archive|block not found|unknown block|hash is not currently canonical|distance to target block exceeds/i,
    source: 'geth, op-geth, Nethermind, Erigon, Besu, Infura, Alchemy, reth ("distance to target block exceeds maximum proof window")',
  },
  { verdict: 'pruned', codes: [4444], source: 'EIP-4444: pruned history' },
  {
    verdict: 'rate-limit',
    message: /rate.?limit|too many requests|compute units|capacity exceeded|throughput|request limit|requests per second|exceeded.*quota/i,
    source: 'providers with their own codes (Alchemy: 429 in a 200; Infura: "project ID request rate exceeded")',
  },
  { verdict: 'rate-limit', codes: [429, -32005, -32016, -32007, -32029, -32090, -32097], source: 'Infura, Base, QuickNode, Ankr, 1RPC' },
  {
    verdict: 'unsupported',
    codes: [-32601, -32004],
    source: 'JSON-RPC: method not found; EIP-1474: method not supported',
  },
  {
    verdict: 'unsupported',
    message:
      /method.*(not (found|supported|available|exist|allowed|enabled|whitelisted)|does not exist|unsupported|disabled)|unsupported method/i,
    source: 'providers that answer -32000, -32600 or -32603 for a method of another plan',
  },
  {
    verdict: 'block-hash',
    codes: [-32602],
    source: 'Rootstock, Somnia and older nodes, which parse the block parameter as a string',
  },
  {
    verdict: 'block-hash',
    message: /cannot unmarshal|invalid (argument|params|block|type)|blockHash|EIP-1898|expected.*(string|number)|could not (parse|decode)/i,
    source: 'nodes that answer -32000 or -32603 for the object {blockHash}',
  },
  {
    verdict: 'batch',
    status: (status) => [400, 405, 406, 415, 422, 501].includes(status),
    onlyForBatch: true,
    source: 'gateways that refuse an array',
  },
  { verdict: 'retry', status: (status) => status >= 500 || status === 408, source: 'gateways and restarting nodes' },
  {
    verdict: 'retry',
    message:
      /time(d)? ?out|temporarily|try again|internal server error|service unavailable|bad gateway|upstream (error|connect)|no healthy/i,
    source: 'load balancers that put the error of their backend into a 200',
  },
  { verdict: 'batch', codes: [-32600, -32700], onlyForBatch: true, source: 'nodes that parse the body as an object' },
]

/** Returns what the fault means. */
export function verdictOf(fault: Fault): Verdict {
  return QUIRKS.find((quirk) => holds(quirk, fault))?.verdict ?? 'refused'
}

function holds({ status, codes, message, onlyForBatch }: Quirk, fault: Fault): boolean {
  if (onlyForBatch === true && !fault.isForBatch) return false
  if (status !== undefined && !status(fault.status)) return false
  if (codes !== undefined && (fault.code === null || !codes.includes(fault.code))) return false
  return message === undefined || (fault.message !== null && message.test(fault.message))
}

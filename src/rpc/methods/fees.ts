import type { View } from '../../chain/index.ts'
import { Hex } from '../../eth/index.ts'
import type { Header } from '../../eth/index.ts'
import { GAS_PER_BLOB, rulesAt } from '../../evm/index.ts'
import type { ChainConfig } from '../../evm/index.ts'
import { invalidParams } from '../../jsonrpc/index.ts'
import { baseFeeAfter, blobFeeAfter, blobFeeIn, nextBlockBaseFee, offeredGasPrice, suggestedTip, tipsOf } from '../execution/gasprice.ts'
import { FEE_HISTORY_BLOCKS, FEE_HISTORY_PERCENTILES, FEE_HISTORY_TRANSACTIONS } from '../limits.ts'
import { method, optional, required } from '../method.ts'
import type { Method, Schema } from '../method.ts'
import { QUANTITY, listOf, record } from '../../jsonrpc/jsonschema.ts'
import { blockNumber, integer, mismatch, refused } from '../../jsonrpc/schema.ts'
import type { Infer } from '../../jsonrpc/schema.ts'

const percentiles: Schema<readonly number[]> = {
  json: { type: 'array', items: { type: 'number', minimum: 0, maximum: 100 }, maxItems: FEE_HISTORY_PERCENTILES },
  parse: (value, path) => {
    if (!Array.isArray(value)) throw refused(path, 'expected an array of numbers from 0 to 100')
    if (value.length > FEE_HISTORY_PERCENTILES) throw refused(path, `over the query limit ${FEE_HISTORY_PERCENTILES}`)
    return value.map((entry: unknown, i) => percentile(entry, value[i - 1], `${path}[${i}]`))
  },
}

const RATIOS = listOf({ type: 'number' })

const FEE_HISTORY = record(
  'fee history',
  { oldestBlock: QUANTITY, baseFeePerGas: listOf(QUANTITY), gasUsedRatio: RATIOS },
  { baseFeePerBlobGas: listOf(QUANTITY), blobGasUsedRatio: RATIOS, reward: listOf(listOf(QUANTITY)) },
)

export const FEE_METHODS: readonly Method[] = [
  method({
    name: 'eth_gasPrice',
    doc: 'Suggests a gas price for legacy transactions, in wei: the suggested tip above the base fees of the last and the next block.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x3baa0c40' },
    handler: ({ chain }) => Hex.fromQuantity(offeredGasPrice(chain.head.view, chain)),
  }),
  method({
    name: 'eth_maxPriorityFeePerGas',
    doc: 'Suggests a tip for EIP-1559 transactions, in wei; at least 1,000,000 on an OP chain.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0xf4240' },
    handler: ({ chain }) => Hex.fromQuantity(suggestedTip(chain.head.view)),
  }),
  method({
    name: 'eth_baseFee',
    doc: 'Returns the base fee of the next block, in wei.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x3b20b800' },
    handler: ({ chain }) => Hex.fromQuantity(nextBlockBaseFee(chain.head.view)),
  }),
  method({
    name: 'eth_blobBaseFee',
    doc: 'Returns the fee per blob gas at the head, in wei; 1 on an OP chain, which has no blobs.',
    params: [],
    result: QUANTITY,
    example: { params: [], result: '0x1' },
    handler: ({ chain }) => {
      const { head, config } = chain.head.view
      return Hex.fromQuantity(blobFeeIn(head.header, config))
    },
  }),
  method({
    name: 'eth_feeHistory',
    doc: 'Returns base fees, gas used and tips (as percentiles weighted by gas) of the blocks up to `newestBlock`; `pending` counts the block under construction.',
    params: [required('blockCount', integer), required('newestBlock', blockNumber), optional('rewardPercentiles', percentiles)],
    result: FEE_HISTORY,
    example: {
      params: ['0x1', 'latest', [50]],
      result: {
        oldestBlock: '0x1',
        baseFeePerGas: ['0x3b20b800', '0x3aa9d4d7'],
        baseFeePerBlobGas: ['0x1', '0x1'],
        gasUsedRatio: [0.0030367666666666665],
        blobGasUsedRatio: [0],
        reward: [['0xf4240']],
      },
    },
    handler: ({ chain }, [count, newest, rewardPercentiles]) => history(chain.head.view, count, newest, rewardPercentiles ?? []),
  }),
]

function history(view: View, count: number, newest: Infer<typeof blockNumber>, rewardPercentiles: readonly number[]) {
  const headers = lastHeaders(view, Math.min(count, FEE_HISTORY_BLOCKS), newest)
  const reward = rewardPercentiles.length === 0 ? null : lastRewards(view, headers, rewardPercentiles)
  // The specification allows fewer blocks than requested.
  if (reward !== null) headers.splice(0, headers.length - reward.length)
  const first = headers[0]
  const last = headers[headers.length - 1]
  if (first === undefined || last === undefined) return { oldestBlock: '0x0', baseFeePerGas: [], gasUsedRatio: [] }
  const { config } = view
  const baseFees = [...headers.map(({ baseFeePerGas }) => baseFeePerGas ?? 0n), followingBaseFee(view, last)]
  const blobFees = [...headers.map((header) => blobFeeIn(header, config)), blobFeeAfter(last, config)]
  return {
    oldestBlock: Hex.fromQuantity(first.number),
    baseFeePerGas: baseFees.map(Hex.fromQuantity),
    baseFeePerBlobGas: blobFees.map(Hex.fromQuantity),
    gasUsedRatio: headers.map(({ gasUsed, gasLimit }) => Number(gasUsed) / Number(gasLimit)),
    blobGasUsedRatio: headers.map((header) => blobRatio(header, config)),
    ...(reward === null ? undefined : { reward }),
  }
}

/** Reads the next block, because a test may have set another base fee than the one that follows from this block. */
function followingBaseFee(view: View, header: Header): bigint {
  if (header.number === view.head.header.number) return nextBlockBaseFee(view)
  return view.headerOf(header.number + 1)?.baseFeePerGas ?? baseFeeAfter(header, view.config)
}

/** Oldest first, at most as many as the chain has. */
function lastHeaders(view: View, count: number, newest: Infer<typeof blockNumber>): Header[] {
  const last = newest.kind === 'tag' ? view.byTag(newest.tag).header : view.headerOf(newest.number)
  if (last === null) {
    const requested = newest.kind === 'number' ? newest.number : newest.tag
    throw invalidParams(`request beyond head block: requested ${requested}, head ${view.head.header.number}`)
  }
  const headers: Header[] = count === 0 ? [] : [last]
  for (let number = last.number - 1; number >= view.firstNumber && headers.length < count; number--) {
    const header = view.headerOf(number)
    if (header !== null) headers.push(header)
  }
  return headers.reverse()
}

/** Covers the last blocks that have FEE_HISTORY_TRANSACTIONS in sum, at least one block. */
function lastRewards(view: View, headers: readonly Header[], rewardPercentiles: readonly number[]): (readonly Hex[])[] {
  const all: (readonly Hex[])[] = []
  let transactions = 0
  for (let i = headers.length - 1; i >= 0 && transactions < FEE_HISTORY_TRANSACTIONS; i--) {
    const header = headers[i]!
    const { pending } = view
    const payments = pending?.header.number === header.number ? pending.receipts : view.gasPaymentsOf(header.number)
    all.push(rewards(tipsOf(header, payments), rewardPercentiles))
    transactions += payments.length
  }
  return all.reverse()
}

/** Returns the tip at each percentile of the block's gas. */
function rewards(tips: ReturnType<typeof tipsOf>, rewardPercentiles: readonly number[]): readonly Hex[] {
  const total = tips.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0)
  let index = 0
  let seen = Number(tips[0]?.gasUsed ?? 0n)
  return rewardPercentiles.map((share) => {
    const threshold = (total * share) / 100
    while (seen < threshold && index < tips.length - 1) seen += Number(tips[++index]?.gasUsed ?? 0n)
    return Hex.fromQuantity(tips[index]?.tip ?? 0n)
  })
}

function blobRatio(header: Header, config: ChainConfig): number {
  const { blob } = rulesAt(config, header.number, header.timestamp)
  return blob === null || header.blobGasUsed === null ? 0 : Number(header.blobGasUsed) / (blob.max * Number(GAS_PER_BLOB))
}

function percentile(value: unknown, before: unknown, path: string): number {
  if (typeof value !== 'number' || !(value >= 0 && value <= 100)) {
    throw mismatch(path, 'a reward percentile, a number from 0 to 100', value)
  }
  if (typeof before === 'number' && value < before) {
    throw refused(path, `invalid reward percentile: ${value} follows ${before}, and percentiles must not fall`)
  }
  return value
}

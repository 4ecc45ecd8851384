import { nextBaseFee, nextBlobBaseFee } from '../../chain/index.ts'
import type { Chain, GasPayment, View } from '../../chain/index.ts'
import { OP_BLOB_BASE_FEE } from '../../compat.ts'
import type { Block, Hash, Header } from '../../eth/index.ts'
import { blobBaseFee, nextExcessBlobGas, rulesAt } from '../../evm/index.ts'
import type { ChainConfig, Rules } from '../../evm/index.ts'

/** The floor of op-geth and op-reth. */
const OP_LEAST_TIP = 1_000_000n
/** geth's tip on an L1 without samples. */
const L1_LEAST_TIP = 1_000_000_000n
/** geth's oracle: the lowest tips of the last blocks, and a percentile of them. */
const SAMPLED_BLOCKS = 20
const SAMPLES_PER_BLOCK = 3
const SAMPLE_PERCENTILE = 60
/** geth ignores tips below this: they come from the block's builder */
const IGNORED_TIP = 2n

/** Wei per gas of the pending block, or of the block after the head. 0n before London. */
export function nextBlockBaseFee(view: View): bigint {
  if (view.pending !== null) return view.pending.header.baseFeePerGas ?? 0n
  return view.nextBaseFee ?? baseFeeAfter(view.head.header, view.config)
}

/** Wei per blob gas of the pending block, or of the block after the head. 0n before Cancun. */
export function nextBlockBlobFee({ pending, head, config }: View): bigint {
  return pending === null ? nextBlobBaseFee(head.header, rulesAfter(head.header, config)) : blobFeeIn(pending.header, config)
}

/** A price for a legacy transaction, in wei per gas: enough for the coming block and for a call "in" the last one. */
export function suggestedGasPrice(view: View, last = view.head, coming = nextBlockBaseFee(view)): bigint {
  const baseFee = last.header.baseFeePerGas ?? 0n
  return (coming > baseFee ? coming : baseFee) + suggestedTip(view)
}

/** The same, at least the pool's minimum (`--gas-price`, `anvil_setMinGasPrice`). */
export function offeredGasPrice(view: View, { minGasPrice }: Chain): bigint {
  const suggested = suggestedGasPrice(view)
  return suggested > minGasPrice ? suggested : minGasPrice
}

/** The base fee of the block after this one; 0n before London. */
export function baseFeeAfter(header: Header, config: ChainConfig): bigint {
  return nextBaseFee(header, config, rulesAfter(header, config)) ?? 0n
}

/** Wei per blob gas in the block; 0n before Cancun. */
export function blobFeeIn(header: Header, config: ChainConfig): bigint {
  const rules = rulesAt(config, header.number, header.timestamp)
  return header.excessBlobGas === null ? 0n : blobFee(header.excessBlobGas, rules)
}

/** Wei per blob gas in the block after this one, computed by the rules of that block, as in geth; 0n before Cancun. */
export function blobFeeAfter(header: Header, config: ChainConfig): bigint {
  const rules = rulesAt(config, header.number, header.timestamp)
  return header.excessBlobGas === null ? 0n : blobFee(nextExcessBlobGas(header, rules), rules)
}

/** A tip for prompt inclusion, in wei per gas. */
export function suggestedTip(view: View): bigint {
  return view.config.op === null ? sampledTip(view) : rollupTip(view.head)
}

/** The tips of a block in ascending order, with the gas of their transactions. Deposits pay nothing and do not count. */
export function tipsOf(
  { baseFeePerGas }: Header,
  payments: readonly GasPayment[],
): readonly { readonly tip: bigint; readonly gasUsed: bigint }[] {
  const baseFee = baseFeePerGas ?? 0n
  return payments
    .filter(({ type }) => type !== 0x7e)
    .map(({ effectiveGasPrice, gasUsed }) => ({ tip: effectiveGasPrice - baseFee, gasUsed }))
    .sort((a, b) => (a.tip < b.tip ? -1 : a.tip > b.tip ? 1 : 0))
}

/** op-geth: the floor, unless the last block was full; then 10 % above its median. */
function rollupTip(head: Block): bigint {
  const largest = head.receipts.reduce((most, { gasUsed }) => (gasUsed > most ? gasUsed : most), 0n)
  if (head.header.gasUsed + largest <= head.header.gasLimit) return OP_LEAST_TIP
  const tips = tipsOf(head.header, head.receipts)
  const median = tips[tips.length >> 1]?.tip ?? 0n
  const tip = (median * 11n) / 10n
  return tip > OP_LEAST_TIP ? tip : OP_LEAST_TIP
}

function sampledTip(view: View): bigint {
  const samples: bigint[] = []
  const newest = view.head.header.number
  let hash = view.head.hash
  for (let number = newest; number > view.firstNumber && number > newest - SAMPLED_BLOCKS; number--) {
    const sample = sampleOf(view, number, hash)
    if (sample === null) break
    samples.push(...sample.tips)
    hash = sample.parentHash
  }
  samples.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return samples[Math.floor(((samples.length - 1) * SAMPLE_PERCENTILE) / 100)] ?? L1_LEAST_TIP
}

/** The lowest tips of a sealed block. */
interface BlockSample {
  readonly hash: Hash
  readonly parentHash: Hash
  readonly tips: readonly bigint[]
}

/** The samples of each chain, at the block number modulo SAMPLED_BLOCKS. Each signed transaction needs the tip, and decoding 20 blocks takes 50 us. */
const samplesOf = new WeakMap<ChainConfig, BlockSample[]>()

/** Returns `null` for a block that is not in the chain or no longer stored. */
function sampleOf(view: View, number: number, hash: Hash): BlockSample | null {
  const { config } = view
  let samples = samplesOf.get(config)
  if (samples === undefined) samplesOf.set(config, (samples = []))
  const known = samples[number % SAMPLED_BLOCKS]
  if (known?.hash === hash) return known
  const { head } = view
  const isHead = hash === head.hash
  const header = isHead ? head.header : view.blockHash(number) === hash ? view.headerOf(number) : null
  if (header === null) return null
  const tips = tipsOf(header, isHead ? head.receipts : view.gasPaymentsOf(number)).map(({ tip }) => tip)
  const sample = { hash, parentHash: header.parentHash, tips: tips.filter((tip) => tip >= IGNORED_TIP).slice(0, SAMPLES_PER_BLOCK) }
  samples[number % SAMPLED_BLOCKS] = sample
  return sample
}

function rulesAfter(header: Header, config: ChainConfig): Rules {
  return rulesAt(config, header.number + 1, header.timestamp + 1)
}

function blobFee(excess: bigint, rules: Rules): bigint {
  if (rules.op !== null) return OP_BLOB_BASE_FEE
  return rules.blob === null ? 0n : blobBaseFee(excess, rules.blob)
}

import { useState } from 'preact/hooks'
import { grouped } from '../wallet/format.ts'
import { useHead, useNow } from './head.ts'
import type { FlashblockCell, HeadState, ShownBlock } from './head.ts'

/** Rates are averages of this time, or of the time since the page was opened. */
const RATE_MS = 10_000

/** The newest blocks with their flashblocks; the open one grows at each flashblock. */
export function Strip() {
  const live = useHead()
  const [held, setHeld] = useState<HeadState | null>(null)
  const state = held ?? live
  return (
    <section class="panel strip" aria-label="Newest blocks" data-testid="strip" data-paused={held !== null}>
      <header class="line">
        <h2>
          Blocks <span class="note">{describe(state)}</span>
        </h2>
        <Rates state={state} />
        <button
          type="button"
          class="small"
          data-testid="pause"
          aria-pressed={held !== null}
          onClick={() => setHeld(held === null ? live : null)}
        >
          {held === null ? 'Pause' : 'Continue'}
        </button>
      </header>
      <ol class="blocks" tabIndex={0} aria-label="Blocks, newest first">
        {state.blocks.map((block) => (
          <Block key={block.number} block={block} state={state} />
        ))}
      </ol>
    </section>
  )
}

function describe({ cadence, feed, connection }: HeadState): string {
  if (cadence?.kind === 'preconf' && cadence.flashblockMs !== undefined && cadence.blockTimeMs !== undefined) {
    return `a flashblock every ${cadence.flashblockMs} ms, a block every ${cadence.blockTimeMs / 1_000} s`
  }
  if (cadence !== null) return `cadence ${cadence.kind}`
  return connection === 'open' && feed !== 'flashblocks' ? 'this node announces no flashblocks' : ''
}

function Rates({ state }: { state: HeadState }) {
  const now = useNow(1_000)
  const seen = state.blocks.flatMap(({ cells }) => cells)
  const firstMs = seen.reduce((least, { seenMs }) => Math.min(least, seenMs), now)
  const periodMs = Math.min(RATE_MS, Math.max(1_000, now - firstMs))
  const cells = seen.filter(({ seenMs }) => seenMs >= now - periodMs)
  const transactions = cells.reduce((sum, { hashes }) => sum + hashes.length, 0)
  if (state.feed !== 'flashblocks') return <BlockRates blocks={state.blocks} />
  return (
    <p class="rates soft" data-testid="rates">
      <strong>{perSecond(cells.length, periodMs)}</strong> flashblocks/s, <strong>{perSecond(transactions, periodMs)}</strong>{' '}
      transactions/s
    </p>
  )
}

function BlockRates({ blocks }: { blocks: readonly ShownBlock[] }) {
  const [first, last] = [blocks.at(-1), blocks[0]]
  if (first === undefined || last === undefined || last.timestamp <= first.timestamp) return null
  const transactions = blocks.slice(0, -1).reduce((sum, { hashes }) => sum + hashes.length, 0)
  const seconds = last.timestamp - first.timestamp
  return (
    <p class="rates soft" data-testid="rates">
      <strong>{((blocks.length - 1) / seconds).toFixed(1)}</strong> blocks/s, <strong>{(transactions / seconds).toFixed(1)}</strong>{' '}
      transactions/s
    </p>
  )
}

function perSecond(count: number, periodMs: number): string {
  return ((count * 1_000) / periodMs).toFixed(1)
}

function Block({ block, state }: { block: ShownBlock; state: HeadState }) {
  const { number, isOpen, hashes, cells } = block
  const slots = isOpen ? Math.max(cells.length, slotsOf(state)) : cells.length
  return (
    <li class={isOpen ? 'block open' : 'block'} data-testid="strip-block" data-number={number} data-open={isOpen} data-cells={cells.length}>
      <a class="number" href={`/block/${number}`}>
        {grouped(String(number))}
      </a>
      <svg class="cells" viewBox={`0 0 ${Math.max(1, slots) * CELL_WIDTH} ${CELL_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {cells.map((cell, place) => (
          <CellBar key={cell.index} cell={cell} place={place} number={number} />
        ))}
        {Array.from({ length: slots - cells.length }, (_, i) => (
          <rect
            key={`empty ${i}`}
            class="slot"
            x={(cells.length + i) * CELL_WIDTH + 1}
            y={CELL_HEIGHT - 3}
            width={CELL_WIDTH - 2}
            height={3}
            rx={1}
          />
        ))}
        {slots === 0 && (
          <rect class="tx" x={1} y={CELL_HEIGHT - heightOf(hashes.length)} width={CELL_WIDTH - 2} height={heightOf(hashes.length)} rx={1} />
        )}
      </svg>
      <span class="soft">
        {isOpen ? 'open, ' : ''}
        {grouped(String(hashes.length))} tx
      </span>
    </li>
  )
}

function CellBar({ cell, place, number }: { cell: FlashblockCell; place: number; number: number }) {
  const { index, hashes, retracted } = cell
  const height = heightOf(hashes.length)
  const gone = hashes.length === 0 ? 0 : (height * retracted) / hashes.length
  const x = place * CELL_WIDTH + 1
  // Attributes of SVG elements are case-sensitive: tabIndex would have no effect.
  return (
    <a href={`/flashblock/${number}/${index}`} tabindex={-1} data-testid="cell" data-index={index}>
      <title>{`flashblock ${index} of block ${number}: ${hashes.length} transactions${retracted > 0 ? `, ${retracted} retracted` : ''}`}</title>
      <rect class="hit" x={x - 1} y={0} width={CELL_WIDTH} height={CELL_HEIGHT} />
      <rect class="tx" x={x} y={CELL_HEIGHT - height} width={CELL_WIDTH - 2} height={height} rx={1} />
      {gone > 0 && <rect class="tx gone" x={x} y={CELL_HEIGHT - height} width={CELL_WIDTH - 2} height={gone} rx={1} />}
    </a>
  )
}

const CELL_WIDTH = 10
const CELL_HEIGHT = 48

/** 0 transactions are a line; each further doubling adds as much. */
function heightOf(transactions: number): number {
  return Math.min(CELL_HEIGHT, 3 + Math.log2(1 + transactions) * 5)
}

function slotsOf({ cadence }: HeadState): number {
  return cadence?.blockTimeMs !== undefined && cadence.flashblockMs !== undefined
    ? Math.round(cadence.blockTimeMs / cadence.flashblockMs)
    : 0
}

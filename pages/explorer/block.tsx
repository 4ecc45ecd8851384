import { useState } from 'preact/hooks'
import { decimal, grouped, sizeOf, visible } from '../wallet/format.ts'
import { Copy, Row } from '../wallet/parts.tsx'
import { useHead, useLoaded } from './head.ts'
import { Pager, TransactionRows } from './list.tsx'
import { ask } from './node.ts'
import { AddressLink, Content, Failure, Notice, Panel, StageChip, clock, stageOf } from './parts.tsx'
import { replaceSearch } from './route.ts'
import { PAGE_ROWS, itemsOfPage, readTransactions } from './transactions.ts'
import type { BlockJson, PromiseRecordJson, PromisePageJson } from './wire.ts'

const TAGS = new Set(['latest', 'pending', 'safe', 'finalized', 'earliest'])

/** `id`: a number in decimal or hex, a hash, or a tag. */
export function BlockPage({ id }: { id: string }) {
  const latest = useHead(({ latest }) => latest)
  const isSealed = latest !== null && /^\d+$/.test(id) && Number(id) <= latest
  // A sealed block changes only in a reorg; the open one at each flashblock.
  const version = useHead(({ blocks, retracted }) =>
    isSealed ? 'sealed' : `${blocks[0]?.number} ${blocks[0]?.cells.length} ${retracted.length}`,
  )
  const loaded = useLoaded((signal) => readBlock(id, signal), [id, version, isSealed])
  if (!isBlockId(id)) {
    return (
      <Notice title="Not a block" id="bad-input">
        <p>
          <code>{visible(id.slice(0, 100))}</code> is neither a block number, a block hash nor one of {[...TAGS].join(', ')}.
        </p>
      </Notice>
    )
  }
  if (loaded.state === 'failed') return <Failure error={loaded.error} />
  if (loaded.value === null) return <p class="soft">Loading …</p>
  if (loaded.value.block === null) return <Unknown id={id} latest={latest} />
  return <Block block={loaded.value.block} latest={latest} />
}

function isBlockId(id: string): boolean {
  return TAGS.has(id) || /^\d{1,15}$/.test(id) || /^0x([0-9a-fA-F]{1,13}|[0-9a-fA-F]{64})$/.test(id)
}

interface Found {
  readonly block: BlockJson | null
}

async function readBlock(id: string, signal: AbortSignal): Promise<Found> {
  if (!isBlockId(id)) return { block: null }
  if (id.length === 66) return { block: await ask<BlockJson | null>(['eth_getBlockByHash', id, false], { signal }) }
  const place = TAGS.has(id) ? id : `0x${BigInt(id).toString(16)}`
  const block = await ask<BlockJson | null>(['eth_getBlockByNumber', place, false], { signal })
  if (block !== null || TAGS.has(id)) return { block }
  const open = await ask<BlockJson | null>(['eth_getBlockByNumber', 'pending', false], { signal })
  return { block: open !== null && BigInt(open.number) === BigInt(id) ? open : null }
}

function Unknown({ id, latest }: { id: string; latest: number | null }) {
  return (
    <Notice title="No such block" id="unknown">
      <p>
        This chain has no block <code>{id}</code>
        {latest === null ? '.' : <>; its newest one is </>}
        {latest !== null && <a href={`/block/${latest}`}>{grouped(String(latest))}</a>}
      </p>
    </Notice>
  )
}

function Block({ block, latest }: { block: BlockJson; latest: number | null }) {
  const safe = useHead(({ safe }) => safe)
  const finalized = useHead(({ finalized }) => finalized)
  const number = Number(block.number)
  const isOpen = latest === null ? block.hash === null || BigInt(block.hash) === 0n : number > latest
  const hashes = block.transactions.map((each) => (typeof each === 'string' ? each : each.hash))
  return (
    <>
      <header class="title">
        <h1 data-testid="block-number">Block {grouped(String(number))}</h1>
        <StageChip stage={stageOf(number, { latest, safe, finalized })} />
        <nav class="steps" aria-label="Neighbouring blocks">
          {number > 0 && (
            <a href={`/block/${number - 1}`} data-testid="parent">
              ← {grouped(String(number - 1))}
            </a>
          )}
          {!isOpen && (
            <a href={`/block/${number + 1}`} data-testid="child">
              {grouped(String(number + 1))} →
            </a>
          )}
        </nav>
      </header>
      <Panel title="Header" id="header">
        <Header block={block} isOpen={isOpen} />
      </Panel>
      <Flashblocks number={number} count={hashes.length} isOpen={isOpen} />
      <Transactions hashes={hashes} />
    </>
  )
}

function Header({ block, isOpen }: { block: BlockJson; isOpen: boolean }) {
  const { hash, parentHash, timestamp, gasUsed, gasLimit, baseFeePerGas, miner, size, extraData } = block
  const roots = [
    ['State root', block.stateRoot],
    ['Transactions root', block.transactionsRoot],
    ['Receipts root', block.receiptsRoot],
  ] as const
  return (
    <dl class="rows">
      <Row name="Hash" id="hash">
        {isOpen || hash === null ? <span class="soft">open until it is sealed</span> : <Copy text={hash} what="block hash" shown={hash} />}
      </Row>
      <Row name="Parent">
        <a href={`/block/${parentHash}`}>
          <code>{parentHash}</code>
        </a>
      </Row>
      <Row name="Time" id="time">
        <time dateTime={new Date(timeOf(block)).toISOString()}>{clock(timeOf(block))} UTC</time>{' '}
        <span class="soft">{decimal(timestamp)}</span>
      </Row>
      <Row name="Gas" id="gas">
        {grouped(decimal(gasUsed))} of {grouped(decimal(gasLimit))} <GasBar used={Number(gasUsed)} limit={Number(gasLimit)} />
      </Row>
      {baseFeePerGas !== undefined && (
        <Row name="Base fee" id="base-fee">
          {grouped(decimal(baseFeePerGas))} wei
        </Row>
      )}
      {miner !== undefined && (
        <Row name="Fee recipient">
          <AddressLink address={miner} />
        </Row>
      )}
      {size !== undefined && <Row name="Size">{grouped(decimal(size))} bytes</Row>}
      {!isOpen &&
        roots.map(
          ([name, root]) =>
            root !== undefined && (
              <Row key={name} name={name}>
                <Copy text={root} what={name} />
              </Row>
            ),
        )}
      {extraData !== undefined && sizeOf(extraData) > 0 && (
        <Row name="Extra data">
          <Copy text={extraData} what="extra data" />
        </Row>
      )}
    </dl>
  )
}

/** Milliseconds of the timestamp, on chains that have them. */
export function timeOf({ timestamp, milliTimestamp }: BlockJson): number {
  return milliTimestamp === undefined ? Number(timestamp) * 1_000 : Number(milliTimestamp)
}

export function GasBar({ used, limit }: { used: number; limit: number }) {
  return (
    <svg class="bar gas" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="used" x={0} y={0} width={limit === 0 ? 0 : (used / limit) * 100} height={10} />
    </svg>
  )
}

/** Highest number of records that are read for a block; a block with more shows only its first flashblocks. */
const READ_RECORDS = 1_000

/** The flashblocks of a block with their promises, from the ledger. */
function Flashblocks({ number, count, isOpen }: { number: number; count: number; isOpen: boolean }) {
  const loaded = useLoaded((signal) => readRecords(number, signal), [number, isOpen, isOpen ? count : 0])
  return (
    <Panel title="Flashblocks" note="from the promise ledger" id="flashblocks">
      <Content of={loaded}>{(records) => <FlashblockList number={number} records={records} />}</Content>
    </Panel>
  )
}

/** Returns the promises of one block, oldest first, at most READ_RECORDS. Throws the error of the node. */
export async function readRecords(number: number, signal: AbortSignal): Promise<readonly PromiseRecordJson[]> {
  const records: PromiseRecordJson[] = []
  for (let before: number | null | undefined; before !== null && records.length < READ_RECORDS;) {
    const page: PromisePageJson = await ask(
      ['pocketchain_promises', { blockNumber: number, ...(before === undefined ? {} : { before }) }],
      {
        signal,
      },
    )
    records.push(...page.promises)
    before = page.next
  }
  return records.toReversed()
}

function FlashblockList({ number, records }: { number: number; records: readonly PromiseRecordJson[] }) {
  const byIndex = new Map<number, PromiseRecordJson[]>()
  for (const record of records) {
    if (record.flashblockIndex === null) continue
    const known = byIndex.get(record.flashblockIndex)
    if (known === undefined) byIndex.set(record.flashblockIndex, [record])
    else known.push(record)
  }
  if (byIndex.size === 0) return <p class="soft">No transaction of this block was promised in a flashblock.</p>
  return (
    <ol class="flashblocks">
      {[...byIndex]
        .toSorted(([a], [b]) => a - b)
        .map(([index, each]) => {
          const broken = each.filter(({ outcome }) => outcome === 'retracted' || outcome === 'changed').length
          return (
            <li key={index}>
              <a class="pill" href={`/flashblock/${number}/${index}`} data-testid="flashblock" data-index={index}>
                {index} <span class="soft">{grouped(String(each.length))} tx</span>
                {broken > 0 && <span class="wrong"> {broken} broken</span>}
              </a>
            </li>
          )
        })}
    </ol>
  )
}

function Transactions({ hashes }: { hashes: readonly string[] }) {
  const [page, setPage] = useState(() => Math.max(0, Number(new URLSearchParams(location.search).get('page') ?? 1) - 1) || 0)
  const pages = Math.max(1, Math.ceil(hashes.length / PAGE_ROWS))
  const shown = Math.min(page, pages - 1)
  const head = useHead()
  const part = itemsOfPage(hashes, shown)
  const loaded = useLoaded((signal) => readTransactions(part, signal), [part.join()])
  const turn = (to: number) => {
    setPage(to)
    replaceSearch(to === 0 ? '' : `?page=${to + 1}`)
  }
  return (
    <Panel title="Transactions" note={grouped(String(hashes.length))} id="transactions-panel">
      {hashes.length === 0 ? (
        <p class="soft">This block has no transactions.</p>
      ) : (
        <Content of={loaded}>
          {(rows) => <TransactionRows rows={rows} tags={head} hasBlock={false} caption="Transactions of the block" />}
        </Content>
      )}
      <Pager page={shown} pages={pages} turn={turn} name="transactions" />
    </Panel>
  )
}

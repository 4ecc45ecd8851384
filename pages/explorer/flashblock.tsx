import { grouped } from '../wallet/format.ts'
import { readRecords } from './block.tsx'
import { useHead, useLoaded } from './head.ts'
import { Content, Notice, Panel } from './parts.tsx'
import { PromiseRows } from './promiserows.tsx'

/** The transactions that one flashblock promised, and what became of them. */
export function FlashblockPage({ number, index }: { number: string; index: string }) {
  const isValid = /^\d{1,15}$/.test(number) && /^\d{1,9}$/.test(index)
  const version = useHead(({ blocks, latest, retracted }) => {
    const block = blocks.find((each) => each.number === Number(number))
    return block?.isOpen === true ? `${block.cells.length} ${retracted.length}` : `${latest !== null && latest >= Number(number)}`
  })
  const loaded = useLoaded(async (signal) => (isValid ? readRecords(Number(number), signal) : []), [number, index, version])
  if (!isValid) {
    return (
      <Notice title="Not a flashblock" id="bad-input">
        <p>A flashblock has the number of its block and its index in it, such as /flashblock/12/3.</p>
      </Notice>
    )
  }
  const place = Number(index)
  return (
    <>
      <header class="title">
        <h1 data-testid="flashblock-title">
          Flashblock {place} <span class="soft">of block</span> <a href={`/block/${number}`}>{grouped(number)}</a>
        </h1>
        <nav class="steps" aria-label="Neighbouring flashblocks">
          {place > 0 && <a href={`/flashblock/${number}/${place - 1}`}>← {place - 1}</a>}
          <a href={`/flashblock/${number}/${place + 1}`}>{place + 1} →</a>
        </nav>
      </header>
      <Panel title="Promises" note="from the promise ledger" id="flashblock-promises">
        <Content of={loaded}>
          {(records) => {
            const own = records.filter(({ flashblockIndex }) => flashblockIndex === place)
            return own.length === 0 ? (
              <p class="soft" data-testid="no-promises">
                The ledger has no promise of this flashblock.
              </p>
            ) : (
              <PromiseRows records={own} hasPlace={false} />
            )
          }}
        </Content>
      </Panel>
    </>
  )
}

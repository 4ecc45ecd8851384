import { useState } from 'preact/hooks'
import { grouped } from '../wallet/format.ts'
import { Pages } from '../wallet/parts.tsx'
import type { PageSecret } from '../wallet/secret.ts'
import { Controls } from './controls.tsx'
import { useHead, useLoaded } from './head.ts'
import { ask } from './node.ts'
import { Content, Panel } from './parts.tsx'
import { OUTCOMES, PromiseRows } from './promiserows.tsx'
import { replaceSearch } from './route.ts'
import type { PromiseOutcome, PromisePageJson } from './wire.ts'

const ROWS = 50
const NAMES = Object.keys(OUTCOMES) as readonly PromiseOutcome[] // its keys by definition

/** The promise ledger with its filters, and the controls that change promises. */
export function PromisesPage({ secret }: { secret: PageSecret }) {
  const [outcome, setOutcome] = useState<PromiseOutcome | null>(
    () => NAMES.find((name) => name === new URLSearchParams(location.search).get('outcome')) ?? null,
  )
  /** the `before` of each page after the newest one */
  const [turned, setTurned] = useState<readonly number[]>([])
  const before = turned.at(-1)
  const version = useHead(({ latest, blocks, retracted }) => `${latest} ${blocks[0]?.cells.length} ${retracted.length}`)
  const loaded = useLoaded(
    (signal) =>
      ask<PromisePageJson>(
        ['pocketchain_promises', { limit: ROWS, ...(outcome === null ? {} : { outcome }), ...(before === undefined ? {} : { before }) }],
        { signal },
      ),
    [version, outcome, before],
  )
  const choose = (wanted: PromiseOutcome | null) => {
    setOutcome(wanted)
    setTurned([])
    replaceSearch(wanted === null ? '' : `?outcome=${wanted}`)
  }
  return (
    <>
      <header class="title">
        <div>
          <h1>Promises</h1>
          <p class="soft">what this node pre-confirmed, and what became of it</p>
        </div>
        {loaded.value !== null && <Totals totals={loaded.value.totals} />}
      </header>
      <Panel title="Ledger" note="newest first" id="ledger">
        <Content of={loaded}>
          {({ promises, next, totals }) => (
            <>
              <div class="filters">
                <div class="states" role="group" aria-label="Promises with which outcome">
                  <Filter
                    name="All"
                    id="outcome-all"
                    isOn={outcome === null}
                    count={NAMES.reduce((sum, each) => sum + totals[each], 0)}
                    choose={() => choose(null)}
                  />
                  {NAMES.map((each) => (
                    <Filter
                      key={each}
                      name={each}
                      id={`outcome-${each}`}
                      isOn={outcome === each}
                      count={totals[each]}
                      choose={() => choose(each)}
                    />
                  ))}
                </div>
              </div>
              {promises.length === 0 ? (
                <p class="soft none" data-testid="no-promises">
                  {outcome === null ? 'Nothing was promised yet.' : `No promise is ${outcome}.`}
                </p>
              ) : (
                <PromiseRows records={promises} />
              )}
              <Pages name="the ledger" turned={turned} next={next} turn={setTurned} />
            </>
          )}
        </Content>
      </Panel>
      {loaded.value !== null && <Controls secret={secret} />}
    </>
  )
}

function Totals({ totals }: { totals: Readonly<Record<PromiseOutcome, number>> }) {
  const broken = totals.retracted + totals.changed
  const settled = totals.kept + broken
  return (
    <dl class="totals">
      <Total name="Kept" id="total-kept">
        {settled === 0 ? '–' : `${((100 * totals.kept) / settled).toFixed(totals.kept === settled ? 0 : 2)} %`}
      </Total>
      <Total name="Changed" id="total-changed">
        {grouped(String(totals.changed))}
      </Total>
      <Total name="Retracted" id="total-retracted">
        {grouped(String(totals.retracted))}
      </Total>
    </dl>
  )
}

function Total({ name, id, children }: { name: string; id: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd data-testid={id}>{children}</dd>
    </div>
  )
}

function Filter({ name, id, isOn, count, choose }: { name: string; id: string; isOn: boolean; count: number; choose: () => void }) {
  return (
    <button type="button" class="pill" aria-pressed={isOn} data-testid={id} onClick={choose}>
      {name} <span class="soft">{grouped(String(count))}</span>
    </button>
  )
}

import { grouped } from '../wallet/format.ts'
import { useTagNumbers } from './head.ts'
import { useLogPages, wordOfAddress } from './logpages.ts'
import type { LogPages } from './logpages.ts'
import { LogList } from './logs.tsx'
import { OperationRows } from './operationrows.tsx'
import { USER_OPERATION_EVENT, decodeOperation } from './operations.ts'
import { Content, Panel } from './parts.tsx'
import { PAGE_ROWS } from './transactions.ts'

interface AddressLogsProps {
  readonly address: string
  readonly latest: number
}

/** Logs that the address emitted. `target`: the code behind a proxy, whose ABI describes them. */
export function EmittedLogs({ address, target, latest }: AddressLogsProps & { target: string | null }) {
  const pages = useLogPages([{ address }], { latest, rows: PAGE_ROWS })
  return (
    <Panel title="Logs" note="of sealed blocks, newest first" id="address-logs">
      <Content of={pages.loaded}>
        {({ logs, from }) =>
          logs.length > 0 ? (
            <LogList logs={logs} target={target} hasPlace />
          ) : (
            <p class="soft">It emitted no logs{rangeText(pages, from)}.</p>
          )
        }
      </Content>
      <LogPager pages={pages} name="logs" />
    </Panel>
  )
}

/** Operations that the address sent, or paid for; nothing if there are none. */
export function Operations({ address, latest }: AddressLogsProps) {
  const tags = useTagNumbers()
  const word = wordOfAddress(address)
  const filters = [{ topics: [USER_OPERATION_EVENT, null, word] }, { topics: [USER_OPERATION_EVENT, null, null, word] }]
  const pages = useLogPages(filters, { latest, rows: PAGE_ROWS })
  const { value, state } = pages.loaded
  if (pages.page === 0 && state !== 'failed' && (value === null || value.logs.length === 0)) return null
  return (
    <Panel title="User operations" note="that it sent or paid for, newest first" id="address-operations">
      <Content of={pages.loaded}>
        {({ logs, from }) =>
          logs.length > 0 ? (
            <OperationRows operations={logs.flatMap((log) => decodeOperation(log))} tags={tags} caption="User operations of the address" />
          ) : (
            <p class="soft">It has no user operations{rangeText(pages, from)}.</p>
          )
        }
      </Content>
      <LogPager pages={pages} name="operations" />
    </Panel>
  )
}

/** Says which blocks were searched if there are older ones. */
function rangeText({ loaded, page }: LogPages, from: number): string {
  if ((loaded.value?.next ?? null) !== null) return ` in block ${grouped(String(from))} and later`
  return page > 0 ? ' before' : ''
}

/** Buttons for the pages of logs; nothing for a single page. */
export function LogPager({ pages: { loaded, page, older, newer }, name }: { pages: LogPages; name: string }) {
  const isLast = (loaded.value?.next ?? null) === null
  if (page === 0 && isLast) return null
  return (
    <nav class="pages" aria-label={`Pages of ${name}`}>
      <button type="button" class="small" data-testid={`newer-${name}`} disabled={page === 0} onClick={newer}>
        Newer
      </button>
      <span class="soft">{page === 0 ? 'the newest' : `page ${page + 1}`}</span>
      <button type="button" class="small" data-testid={`older-${name}`} disabled={isLast} onClick={older}>
        Older
      </button>
    </nav>
  )
}

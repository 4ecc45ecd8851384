import { useRef, useState } from 'preact/hooks'
import { truncated, grouped } from '../wallet/format.ts'
import { useLoaded } from './head.ts'
import { Pager } from './list.tsx'
import { readLogPage, endOfBlock, wordOfAddress } from './logpages.ts'
import type { LogPosition } from './logpages.ts'
import { askAll } from './node.ts'
import { AddressLink, Content, Panel } from './parts.tsx'
import { labelCalls, decodeTokenLabel } from './tokenlabel.ts'
import type { TokenLabel } from './tokenlabel.ts'
import { PAGE_ROWS, itemsOfPage } from './transactions.ts'
import type { LogJson } from './wire.ts'

/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Transfers that are searched for tokens at a time; the button searches as many more. */
const TRANSFERS = 500

interface Token extends TokenLabel {
  readonly address: string
  readonly balance: bigint
}

/** Tokens that were transferred to the address, in the order of their newest transfers. */
interface Found {
  readonly tokens: readonly string[]
  /** the newest block that was searched */
  readonly newest: number
  /** where older transfers are searched; null after the first block */
  readonly next: LogPosition | null
  /** how many searches of TRANSFERS were made */
  readonly searches: number
}

/** Tokens that were transferred to the address, with its balance of each. */
export function Tokens({ address, latest }: { address: string; latest: number }) {
  const found = useRef<Found | null>(null)
  const [searches, setSearches] = useState(1)
  const [page, setPage] = useState(0)
  const loaded = useLoaded(
    async (signal) => {
      found.current = await searchTokens(found.current, { address, latest, searches }, signal)
      return { found: found.current, shown: await readTokens(address, itemsOfPage(found.current.tokens, page), signal) }
    },
    [address, latest, searches, page],
  )
  const { tokens = [], next = null } = loaded.value?.found ?? {}
  if (loaded.state !== 'failed' && tokens.length === 0 && next === null) return null
  return (
    <Panel title="Tokens" note="received by this address" id="tokens">
      <Content of={loaded}>
        {({ shown }) => (
          <table class="entries">
            <caption class="unseen">Tokens</caption>
            <thead>
              <tr>
                <th>Token</th>
                <th>Symbol</th>
                <th class="number">Balance</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(({ address: token, symbol, decimals, balance }) => (
                <tr key={token} class="entry" data-testid="token" data-address={token}>
                  <td data-label="Token">
                    <AddressLink address={token} />
                  </td>
                  <td data-label="Symbol">
                    <bdi>{symbol ?? '–'}</bdi>
                  </td>
                  <td data-label="Balance" class="number" title={balance.toString()}>
                    {truncated(balance, decimals ?? 0)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Content>
      <Pager page={page} pages={Math.ceil(tokens.length / PAGE_ROWS)} turn={setPage} name="tokens" />
      {next !== null && (
        <p>
          <button type="button" class="small" data-testid="more-tokens" onClick={() => setSearches(searches + 1)}>
            Search older transfers
          </button>{' '}
          <span class="soft">before block {grouped(String(next.block))}</span>
        </p>
      )}
    </Panel>
  )
}

interface Search {
  readonly address: string
  readonly latest: number
  readonly searches: number
}

/** Searches the blocks that are new since the last search, and older ones if more searches are wanted. */
async function searchTokens(before: Found | null, { address, latest, searches }: Search, signal: AbortSignal): Promise<Found> {
  const filters = [{ topics: [TRANSFER, null, wordOfAddress(address)] }]
  const isContinued = before !== null && before.newest <= latest // else the chain was rewound
  let found: Found = isContinued ? before : { tokens: [], newest: latest, next: endOfBlock(latest), searches: 0 }
  if (isContinued && before.newest < latest) {
    const added = await readLogPage(filters, { before: endOfBlock(latest), rows: TRANSFERS, downTo: before.newest + 1 }, signal)
    found = { ...found, tokens: joined(added.logs, found.tokens), newest: latest }
  }
  while (found.searches < searches && found.next !== null) {
    const older = await readLogPage(filters, { before: found.next, rows: TRANSFERS }, signal)
    found = { ...found, tokens: [...new Set([...found.tokens, ...joined(older.logs, [])])], next: older.next, searches: found.searches + 1 }
  }
  return found
}

function joined(logs: readonly LogJson[], tokens: readonly string[]): readonly string[] {
  return [...new Set([...logs.map((log) => log.address), ...tokens])]
}

async function readTokens(address: string, tokens: readonly string[], signal: AbortSignal): Promise<readonly Token[]> {
  const data = `0x70a08231${wordOfAddress(address).slice(2)}`
  const answers = await askAll(
    tokens.flatMap((to) => [['eth_call', { to, data }, 'latest'] as const, ...labelCalls(to)]),
    { signal },
  )
  return tokens.flatMap((token, i) => {
    const [balance, symbol, decimals] = answers.slice(3 * i, 3 * i + 3)
    const amount = numberOf(balance)
    return amount === null ? [] : [{ address: token, ...decodeTokenLabel(symbol, decimals), balance: amount }]
  })
}

function numberOf(answer: unknown): bigint | null {
  return typeof answer === 'string' && answer.length >= 66 ? BigInt(answer.slice(0, 66)) : null
}

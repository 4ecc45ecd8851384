import { useState } from 'preact/hooks'
import type { UnincludedOperationJson, UnincludedPage } from '../../src/bundler/results.ts'
import { Gwei } from '../sponsor/parts.tsx'
import { WarningChip } from '../sponsor/rulewarnings.tsx'
import { phraseOf } from '../sponsor/waiting.ts'
import { visible } from '../wallet/format.ts'
import { Pages } from '../wallet/parts.tsx'
import { LogPager } from './addresslogs.tsx'
import { useHead, useLoaded, useNow, useTagNumbers } from './head.ts'
import { useLogPages } from './logpages.ts'
import { MissingMethod, ask } from './node.ts'
import { OperationLink, OperationRows } from './operationrows.tsx'
import { OPERATION_FILTER, operationsIn, paymasterOf } from './operations.ts'
import { AddressLink, Content, Panel, StageChip, TransactionLink } from './parts.tsx'
import { useRuleWarnings } from './rules.tsx'
import { PAGE_ROWS } from './transactions.ts'
import type { LogJson } from './wire.ts'

/** The pool of the bundler is read at this interval. */
const POLL_MS = 1_000

/** User operations, newest first: the bundler's operations that are in no block, and the operations on the chain. */
export function OperationsPage() {
  const latest = useHead((head) => head.latest)
  return (
    <>
      <header class="title">
        <div>
          <h1>User operations</h1>
          <p class="soft">transactions of smart accounts, which a bundler sends (ERC-4337)</p>
        </div>
      </header>
      <Unincluded />
      {latest === null ? <p class="soft">Loading …</p> : <Included latest={latest} />}
    </>
  )
}

type Status = UnincludedOperationJson['status']

const STATUSES: readonly (readonly [status: Status | null, name: string])[] = [
  [null, 'All'],
  ['not_submitted', 'Waiting'],
  ['submitted', 'Sent'],
  ['rejected', 'Dropped'],
]

/** Operations in the pool of the bundler, and dropped ones. */
function Unincluded() {
  const [status, setStatus] = useState<Status | null>(null)
  /** the `before` of each page after the newest one */
  const [turned, setTurned] = useState<readonly number[]>([])
  const before = turned.at(-1)
  const now = useNow(POLL_MS)
  const version = useHead(({ latest, blocks }) => `${latest} ${blocks[0]?.cells.length}`)
  const query = { limit: PAGE_ROWS, ...(status === null ? {} : { status }), ...(before === undefined ? {} : { before }) }
  const loaded = useLoaded(
    (signal) => ask<UnincludedPage>(['pocketchain_userOperationPool', query], { signal }),
    [version, now, status, before],
  )
  const choose = (wanted: Status | null) => {
    setStatus(wanted)
    setTurned([])
  }
  const { next = null } = loaded.value ?? {}
  return (
    <Panel title="In no block" note="of this bundler, newest first" id="unincluded">
      {!(loaded.state === 'failed' && loaded.error instanceof MissingMethod) && (
        <div class="filters">
          <div class="states" role="group" aria-label="Operations in which state">
            {STATUSES.map(([each, name]) => (
              <button
                key={name}
                type="button"
                class="pill"
                aria-pressed={status === each}
                data-testid={`status-${each ?? 'all'}`}
                onClick={() => choose(each)}
              >
                {name}
              </button>
            ))}
          </div>
        </div>
      )}
      <Content of={loaded}>
        {({ operations }) =>
          operations.length === 0 ? (
            <p class="soft none" data-testid="no-unincluded">
              {status === 'rejected' ? 'The bundler dropped none.' : 'None waits.'}
            </p>
          ) : (
            <UnincludedRows operations={operations} />
          )
        }
      </Content>
      <Pages name="operations in no block" turned={turned} next={next} turn={setTurned} suffix="-unincluded" />
    </Panel>
  )
}

function UnincludedRows({ operations }: { operations: readonly UnincludedOperationJson[] }) {
  const warnings = useRuleWarnings(operations.map(({ userOpHash }) => userOpHash))
  return (
    <table class="entries" data-testid="unincluded-operations">
      <caption class="unseen">User operations in no block</caption>
      <thead>
        <tr>
          <th>Operation</th>
          <th>State</th>
          <th>Sender</th>
          <th>Paid by</th>
          <th>Bundle</th>
          <th class="number">Max fee</th>
        </tr>
      </thead>
      <tbody>
        {operations.map((operation) => {
          const { userOpHash, userOperation, status, transactionHash } = operation
          const fields = userOperation as unknown as PooledFields // as the method defines it
          const paymaster = paymasterOf(fields)
          return (
            <tr key={userOpHash} class="entry" data-testid="unincluded-operation" data-hash={userOpHash} data-status={status}>
              <td data-label="Operation">
                <OperationLink hash={userOpHash} />
              </td>
              <td data-label="State" class="verdict">
                <div>
                  <StageChip stage={status === 'rejected' ? 'dropped' : 'pool'} /> <WarningChip warnings={warnings.get(userOpHash) ?? []} />
                  <span class="why" data-testid="unincluded-why">
                    {visible(phraseOf(operation))}
                  </span>
                </div>
              </td>
              <td data-label="Sender">
                <AddressLink address={fields.sender} />
              </td>
              <td data-label="Paid by">{paymaster === null ? 'sender' : <AddressLink address={paymaster} />}</td>
              <td data-label="Bundle">{transactionHash === null ? '–' : <TransactionLink hash={transactionHash} />}</td>
              <td data-label="Max fee" class="number">
                <Gwei wei={fields.maxFeePerGas} isRough />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

interface PooledFields {
  readonly sender: string
  readonly maxFeePerGas: string
  readonly paymaster?: string | null
  readonly paymasterAndData?: string | null
}

/** Operations of the chain, those of the open block on the first page too. */
function Included({ latest }: { latest: number }) {
  const tags = useTagNumbers()
  const pages = useLogPages([OPERATION_FILTER], { latest, rows: PAGE_ROWS })
  const cells = useHead(({ blocks, retracted }) => `${blocks[0]?.cells.length} ${retracted.length}`)
  const open = useLoaded((signal) => readOpen(signal), [latest, cells])
  const promised = pages.page === 0 ? (open.value ?? []).filter(({ blockNumber }) => Number(blockNumber) > latest) : []
  return (
    <Panel title="In blocks" note="newest first" id="included">
      <Content of={pages.loaded}>
        {({ logs, next }) => {
          const operations = operationsIn([...promised, ...logs])
          return operations.length === 0 ? (
            <p class="soft none" data-testid="no-included">
              {next === null && pages.page === 0 ? 'The chain has none.' : 'There are no older ones.'}
            </p>
          ) : (
            <OperationRows operations={operations} tags={tags} caption="User operations in blocks" />
          )
        }}
      </Content>
      <LogPager pages={pages} name="included" />
    </Panel>
  )
}

/** Returns the events of the open block, newest first; none if the node has no pending logs. */
async function readOpen(signal: AbortSignal): Promise<readonly LogJson[]> {
  const logs = await ask<readonly LogJson[]>(['eth_getLogs', { ...OPERATION_FILTER, fromBlock: 'pending', toBlock: 'pending' }], { signal })
  return logs.toReversed()
}

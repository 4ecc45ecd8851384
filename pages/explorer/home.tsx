import { useMemo } from 'preact/hooks'
import { decimal, visible } from '../wallet/format.ts'
import { Copy } from '../wallet/parts.tsx'
import { hasFeature } from './features.ts'
import { useHead, useLoaded, useNow } from './head.ts'
import type { HeadState } from './head.ts'
import { TransactionRows } from './list.tsx'
import { MissingMethod, askAll } from './node.ts'
import { OperationRows } from './operationrows.tsx'
import { readNewestOperations } from './operations.ts'
import { Content, Panel } from './parts.tsx'
import { Strip } from './strip.tsx'
import { hasL1Attributes, readTransactions } from './transactions.ts'

/** Rows of each list. */
const ROWS = 12
/** Larger pools are not read: the answer has whole transactions. */
const LISTED_POOL = 200

/** The newest blocks, transactions and user operations. */
export function Home() {
  return (
    <>
      <h1 class="unseen">Newest blocks and transactions</h1>
      <Strip />
      <LatestTransactions />
      <LatestOperations />
      {hasFeature('node') && <Addresses />}
    </>
  )
}

function LatestTransactions() {
  const state = useHead()
  // The pool changes without a new block.
  const now = useNow(1_000)
  const newest = useMemo(() => newestHashes(state), [state.blocks])
  const key = newest.join()
  const loaded = useLoaded(
    async (signal) => {
      const pool = await readPool(signal)
      const rows = await readTransactions([...new Set([...pool, ...newest])].slice(0, ROWS + state.blocks.length), signal)
      return rows.filter(({ transaction }) => !hasL1Attributes(transaction)).slice(0, ROWS)
    },
    [key, state.latest, state.retracted, now],
  )
  return (
    <Panel title="Transactions" note="newest first" id="latest-transactions">
      <Content of={loaded}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft" data-testid="no-transactions">
              The newest blocks have no transactions of users. Send one: <code>cast send --unlocked</code>, viem, or a wallet with this
              address as its RPC URL.
            </p>
          ) : (
            <TransactionRows rows={rows} tags={state} retracted={new Set(state.retracted)} caption="The newest transactions" />
          )
        }
      </Content>
    </Panel>
  )
}

/** Transactions of the shown blocks, newest first: ROWS, and one of each block, which may have the L1 attributes. */
function newestHashes({ blocks }: HeadState): readonly string[] {
  return blocks.flatMap(({ hashes }) => hashes.toReversed()).slice(0, ROWS + blocks.length)
}

/** Returns the hashes of the pool, executable ones first; none if the node lacks `txpool_`, or the pool is large. */
async function readPool(signal: AbortSignal): Promise<readonly string[]> {
  const [status] = await askAll([['txpool_status']], { signal })
  if (status instanceof Error || status === null) return []
  const { pending, queued } = status as { readonly pending: string; readonly queued: string } // the result of the method
  const count = Number(pending) + Number(queued)
  if (count === 0 || count > LISTED_POOL) return []
  const [content] = await askAll([['txpool_content']], { signal })
  if (content instanceof Error || content === null) return []
  const pool = content as Readonly<
    Record<'pending' | 'queued', Readonly<Record<string, Readonly<Record<string, { readonly hash: string }>>>>>
  > // the result of the method
  return [pool.pending, pool.queued].flatMap((part) =>
    Object.values(part).flatMap((bySender) => Object.values(bySender).map(({ hash }) => hash)),
  )
}

function LatestOperations() {
  const state = useHead()
  const cells = state.blocks[0]?.cells.length ?? 0
  const loaded = useLoaded((signal) => readNewestOperations(state.latest ?? 0, ROWS, signal), [state.latest, cells, state.retracted])
  if (loaded.state === 'failed' && loaded.error instanceof MissingMethod) return null
  return (
    <Panel title="User operations" note={<a href="/ops">all user operations</a>} id="latest-operations">
      <Content of={loaded}>
        {(operations) =>
          operations.length === 0 ? (
            <p class="soft">The newest blocks have no user operations (ERC-4337).</p>
          ) : (
            <OperationRows operations={operations} tags={state} caption="The newest user operations" />
          )
        }
      </Content>
    </Panel>
  )
}

/** The endpoints of this server. */
function Addresses() {
  const client = useHead(({ client }) => client)
  const chainId = useHead(({ chainId }) => chainId)
  const { host, origin, protocol } = location
  const ws = `${protocol === 'https:' ? 'wss' : 'ws'}://${host}`
  const rows: readonly (readonly [name: string, address: string])[] = [
    ['JSON-RPC', origin],
    ['WebSocket', ws],
    ['Public tier', `${origin}/public`],
    ['Flashblock stream', `${ws}/flashblocks`],
    ...(hasFeature('wallet') ? [['Wallet (EIP-1193)', `${ws}/wallet`] as const] : []),
    ...(hasFeature('sponsor') ? [['Gas sponsor (ERC-7677)', `${origin}/paymaster`] as const] : []),
  ]
  return (
    <Panel title="Connect" note={client === null ? undefined : <bdi>{visible(client)}</bdi>} id="connect">
      <dl class="rows">
        {chainId !== null && (
          <div class="row">
            <dt>Chain id</dt>
            <dd data-testid="chain-id">{decimal(chainId)}</dd>
          </div>
        )}
        {rows.map(([name, address]) => (
          <div class="row" key={name}>
            <dt>{name}</dt>
            <dd>
              <Copy text={address} what={name} shown={address} />
            </dd>
          </div>
        ))}
        <div class="row">
          <dt>Probes and metrics</dt>
          <dd>
            <a href="/health">/health</a> <a href="/livez">/livez</a> <a href="/readyz">/readyz</a> <a href="/metrics">/metrics</a>
            {hasFeature('tls') && (
              <>
                {' '}
                <a href="/ca.pem">/ca.pem</a>
              </>
            )}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}

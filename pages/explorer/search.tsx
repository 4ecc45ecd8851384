import { useEffect } from 'preact/hooks'
import type { UnincludedPage } from '../../src/bundler/results.ts'
import { checksummed, grouped, visible } from '../wallet/format.ts'
import { useLoaded } from './head.ts'
import { endOfBlock, readLogPage } from './logpages.ts'
import type { LogPage } from './logpages.ts'
import { addressesNamed } from './names.ts'
import { askAll } from './node.ts'
import type { Call } from './node.ts'
import { AddressLink, BlockLink, Content, Notice, Panel, TransactionLink } from './parts.tsx'

/** Logs that are listed for a topic. */
const ROWS = 100

/** Finds what a text names; a single match is opened immediately. */
export function SearchPage({ text }: { text: string }) {
  const loaded = useLoaded((signal) => find(text.trim(), signal), [text])
  const target = loaded.value?.kind === 'page' ? loaded.value.path : null
  useEffect(() => {
    if (target === null) return
    history.replaceState(null, '', target)
    dispatchEvent(new PopStateEvent('popstate'))
  }, [target])
  return (
    <>
      <h1 class="unseen">Search</h1>
      <Content of={loaded}>{(found) => <Result text={text} found={found} />}</Content>
    </>
  )
}

type Found =
  | { readonly kind: 'page'; readonly path: string }
  | { readonly kind: 'names'; readonly names: ReturnType<typeof addressesNamed> }
  | { readonly kind: 'logs'; readonly page: LogPage }
  | { readonly kind: 'nothing'; readonly page?: LogPage }

async function find(text: string, signal: AbortSignal): Promise<Found> {
  const plain = text.replaceAll(/[,_ ]/g, '')
  if (/^\d{1,15}$/.test(plain)) return { kind: 'page', path: `/block/${Number(plain)}` }
  if (['latest', 'pending', 'safe', 'finalized', 'earliest'].includes(plain)) return { kind: 'page', path: `/block/${plain}` }
  if (/^(0x)?[0-9a-fA-F]{40}$/.test(plain)) return { kind: 'page', path: `/address/${checksummed(withPrefix(plain))}` }
  if (/^(0x)?[0-9a-fA-F]{64}$/.test(plain)) return findHash(withPrefix(plain).toLowerCase(), signal)
  if (/^0x[0-9a-fA-F]{1,13}$/.test(plain)) return { kind: 'page', path: `/block/${Number(plain)}` }
  const names = text === '' ? [] : addressesNamed(text)
  const [only] = names
  if (names.length === 1 && only !== undefined) return { kind: 'page', path: `/address/${checksummed(only.address)}` }
  return names.length === 0 ? { kind: 'nothing' } : { kind: 'names', names }
}

function withPrefix(digits: string): string {
  return digits.startsWith('0x') ? digits : `0x${digits}`
}

/** A transaction, a block, a user operation, a dropped promise, or the topic of logs, in this order. */
async function findHash(hash: string, signal: AbortSignal): Promise<Found> {
  const calls: readonly Call[] = [
    ['eth_getTransactionByHash', hash],
    ['eth_getBlockByHash', hash, false],
    ['eth_getUserOperationByHash', hash],
    ['pocketchain_userOperationPool', { userOpHashes: [hash] }],
    ['pocketchain_promises', { hash, limit: 1 }],
    ['eth_blockNumber'],
  ]
  const [transaction, block, operation, unincluded, promises, latest] = await askAll(calls, { signal })
  const isFound = (answer: unknown) => answer !== null && !(answer instanceof Error)
  if (isFound(transaction)) return { kind: 'page', path: `/tx/${hash}` }
  if (isFound(block)) return { kind: 'page', path: `/block/${hash}` }
  if (isFound(operation) || (isFound(unincluded) && (unincluded as UnincludedPage).operations.length > 0))
    return { kind: 'page', path: `/op/${hash}` } // the result of the method
  if (isFound(promises) && (promises as { readonly promises: readonly unknown[] }).promises.length > 0)
    return { kind: 'page', path: `/tx/${hash}` } // the result of the method
  if (latest instanceof Error) throw latest
  const page = await readLogPage([{ topics: [hash] }], { before: endOfBlock(Number(latest)), rows: ROWS }, signal)
  return { kind: page.logs.length > 0 ? 'logs' : 'nothing', page }
}

function Result({ text, found }: { text: string; found: Found }) {
  if (found.kind === 'page') return null
  if (found.kind === 'names') {
    return (
      <Panel title="Names" note={`with “${visible(text)}”`} id="names">
        <ul class="plain">
          {found.names.map(({ address }) => (
            <li key={address}>
              <AddressLink address={address} whole />
            </li>
          ))}
        </ul>
      </Panel>
    )
  }
  if (found.kind === 'logs') return <Logs page={found.page} />
  return (
    <Notice title="Nothing found" id="nothing">
      <p>
        <bdi>{visible(text.slice(0, 200))}</bdi> is no block, transaction, user operation, address, topic of a log or name that this node
        has.{(found.page?.next ?? null) !== null && ` Topics were searched from block ${grouped(String(found.page?.from))}.`}
      </p>
    </Notice>
  )
}

function Logs({ page: { logs, next } }: { page: LogPage }) {
  return (
    <Panel title="Logs with this topic" note={next === null ? String(logs.length) : `the newest ${logs.length}`} id="topic-logs">
      <table class="entries">
        <caption class="unseen">Logs with this topic</caption>
        <thead>
          <tr>
            <th>Block</th>
            <th>Transaction</th>
            <th>Address</th>
          </tr>
        </thead>
        <tbody>
          {logs.map(({ blockNumber, logIndex, transactionHash, address }) => (
            <tr key={`${blockNumber} ${logIndex}`} class="entry" data-testid="log">
              <td data-label="Block">
                <BlockLink number={blockNumber} />
              </td>
              <td data-label="Transaction">
                <div>
                  <TransactionLink hash={transactionHash} />
                </div>
              </td>
              <td data-label="Address">
                <AddressLink address={address} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

import type { ComponentChildren } from 'preact'
import { decimal, grouped, sizeOf, visible } from '../wallet/format.ts'
import { Copy, Fold, Raw, Row } from '../wallet/parts.tsx'
import { decodeCall } from './abi.ts'
import { AbiForm } from './abiform.tsx'
import { useAbis } from './abis.ts'
import { GasBar } from './block.tsx'
import { CallTree, reasonOf } from './calltree.tsx'
import { consoleLines } from './console.ts'
import { Arguments, Signature } from './decoded.tsx'
import { useHead, useLoaded, useNow } from './head.ts'
import { Logs } from './logs.tsx'
import { askAll } from './node.ts'
import { AddressLink, BlockLink, Content, Ether, Failure, Notice, Panel, StageChip, stageOf } from './parts.tsx'
import type { Stage } from './parts.tsx'
import { StateDiff } from './statediff.tsx'
import { Timeline } from './timeline.tsx'
import { callCount, readCalls, readStateDiff } from './trace.ts'
import { DEPOSIT_TYPE } from './transactions.ts'
import type { BlockJson, PromiseJson, PromisesJson, ReceiptJson, TransactionJson } from './wire.ts'

/** Records of one transaction that are read: one for each time it was promised. */
const RECORDS = 100

interface Found {
  readonly transaction: TransactionJson | null
  readonly receipt: ReceiptJson | null
  /** oldest first; null: the node has no ledger */
  readonly records: readonly PromiseJson[] | null
  readonly sealedMs: number | null
}

export function TransactionPage({ hash }: { hash: string }) {
  const isHash = /^0x[0-9a-fA-F]{64}$/.test(hash)
  const head = useHead()
  const second = useNow(1_000)
  const version = `${head.latest} ${head.blocks[0]?.cells.length} ${head.retracted.length}`
  const loaded = useLoaded(async (signal) => (isHash ? readTransaction(hash, signal) : NOTHING), [hash, version, second])
  if (!isHash) {
    return (
      <Notice title="Not a transaction hash" id="bad-input">
        <p>
          <code>{visible(hash.slice(0, 100))}</code> is not a hash: 0x and 64 hexadecimal digits are expected.
        </p>
      </Notice>
    )
  }
  if (loaded.value === null) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <p class="soft">Loading …</p>
  const { transaction, records } = loaded.value
  if (transaction === null) return <Gone hash={hash} records={records ?? []} />
  return <Transaction found={{ ...loaded.value, transaction }} />
}

const NOTHING: Found = { transaction: null, receipt: null, records: null, sealedMs: null }

async function readTransaction(hash: string, signal: AbortSignal): Promise<Found> {
  const [transaction, receipt, promises] = await askAll(
    [
      ['eth_getTransactionByHash', hash],
      ['eth_getTransactionReceipt', hash],
      ['pocketchain_promises', { hash, limit: RECORDS }],
    ],
    { signal },
  )
  if (transaction instanceof Error) throw transaction
  const executed = receipt instanceof Error ? null : (receipt as ReceiptJson | null) // the result of the method
  const records = promises instanceof Error || promises === null ? null : (promises as PromisesJson).promises.toReversed() // the result of the method
  return {
    transaction: transaction as TransactionJson | null,
    receipt: executed,
    records,
    sealedMs: executed === null ? null : await blockTime(executed, signal),
  } // the result of the method
}

/** null for the open block, which a node has under its number only once it is sealed. */
async function blockTime({ blockNumber }: ReceiptJson, signal: AbortSignal): Promise<number | null> {
  const [block] = await askAll([['eth_getBlockByNumber', blockNumber, false]], { signal })
  return block === null || block instanceof Error ? null : Number((block as BlockJson).timestamp) * 1_000 // the result of the method
}

/** A transaction that the node does not have, or no longer. */
function Gone({ hash, records }: { hash: string; records: readonly PromiseJson[] }) {
  const last = records.at(-1)
  return (
    <Notice title={last === undefined ? 'No such transaction' : 'This transaction is gone'} id="unknown">
      <p>
        <code>{hash}</code>
      </p>
      {last === undefined ? (
        <p>It is in no block of this chain and not in the pool of the node.</p>
      ) : (
        <Timeline records={records} blockNumber={null} sealedMs={null} latest={null} safe={null} finalized={null} />
      )}
    </Notice>
  )
}

function Transaction({ found }: { found: Found & { readonly transaction: TransactionJson } }) {
  useAbis() // a registered ABI changes what is decoded
  const head = useHead()
  const { transaction, receipt, records, sealedMs } = found
  const number = receipt?.blockNumber ?? transaction.blockNumber
  const blockNumber = number === null ? null : Number(number)
  const last = records?.at(-1)
  const stage: Stage = blockNumber === null && last?.outcome === 'retracted' ? 'retracted' : stageOf(blockNumber, head)
  return (
    <>
      <header class="title">
        <h1 data-testid="tx-title">Transaction</h1>
        <span data-testid="tx-stage" data-stage={stage}>
          <StageChip stage={stage} />
        </span>
        {receipt?.status === '0x0' && <StageChip stage="failed" />}
      </header>
      <div class="columns wide">
        <Panel title="Summary" id="summary">
          <Summary transaction={transaction} receipt={receipt} blockNumber={blockNumber} />
        </Panel>
        <Panel title="Timeline" note="time of the node" id="timeline-panel">
          <Timeline
            records={records ?? []}
            blockNumber={blockNumber}
            sealedMs={sealedMs}
            latest={head.latest}
            safe={head.safe}
            finalized={head.finalized}
          />
          {records === null && (
            <p class="soft" data-testid="missing" data-method="pocketchain_promises">
              This node does not have <code>pocketchain_promises</code>, so its promises are not shown.
            </p>
          )}
        </Panel>
      </div>
      <CallPanel transaction={transaction} />
      {receipt !== null && (
        <>
          <Executed hash={transaction.hash} receipt={receipt} />
          <Panel title="Logs" note={String(receipt.logs.length)} id="logs">
            <Logs logs={receipt.logs} />
          </Panel>
        </>
      )}
    </>
  )
}

function Summary({
  transaction,
  receipt,
  blockNumber,
}: {
  transaction: TransactionJson
  receipt: ReceiptJson | null
  blockNumber: number | null
}) {
  const { hash, from, to, value, nonce, type, gas, authorizationList = [], accessList = [] } = transaction
  const created = receipt?.contractAddress ?? null
  return (
    <dl class="rows">
      <Row name="Hash" id="tx-hash">
        <Copy text={hash} what="transaction hash" />
      </Row>
      <Row name="Block" id="tx-block">
        {blockNumber === null ? 'none yet' : <BlockLink number={blockNumber} />}
        {receipt !== null && <span class="soft"> at {decimal(receipt.transactionIndex)}</span>}
      </Row>
      <Row name="From" id="tx-from">
        <AddressLink address={from} whole />
      </Row>
      <Row name={to === null ? 'Creates' : 'To'} id="tx-to">
        {to !== null ? <AddressLink address={to} whole /> : created === null ? 'a contract' : <AddressLink address={created} whole />}
      </Row>
      <Row name="Value" id="tx-value">
        <Ether wei={value} exact />
      </Row>
      {receipt !== null && <Fee transaction={transaction} receipt={receipt} />}
      <Row name="Gas" id="tx-gas">
        {receipt === null ? (
          <>up to {grouped(decimal(gas))}</>
        ) : (
          <>
            {grouped(decimal(receipt.gasUsed))} of {grouped(decimal(gas))} <GasBar used={Number(receipt.gasUsed)} limit={Number(gas)} />
          </>
        )}
      </Row>
      <Row name="Nonce" id="tx-nonce">
        {decimal(nonce)}
      </Row>
      <Row name="Type" id="tx-type">
        {decimal(type)} <span class="soft">{TYPES[type] ?? ''}</span>
      </Row>
      {authorizationList.map((each, i) => (
        <Row key={i} name="Authorization" id="authorization">
          delegates to <AddressLink address={each.address} /> <span class="soft">nonce {decimal(each.nonce)}</span>
        </Row>
      ))}
      {accessList.length > 0 && (
        <Row name="Access list">
          {accessList.map(({ address, storageKeys }, i) => (
            <div key={i}>
              <AddressLink address={address} /> <span class="soft">{storageKeys.length} slots</span>
            </div>
          ))}
        </Row>
      )}
    </dl>
  )
}

const TYPES: Readonly<Record<string, string>> = {
  '0x0': 'legacy',
  '0x1': 'access list',
  '0x2': 'EIP-1559',
  '0x3': 'blob',
  '0x4': 'EIP-7702',
  [DEPOSIT_TYPE]: 'deposit',
}

function Fee({ transaction, receipt }: { transaction: TransactionJson; receipt: ReceiptJson }) {
  const execution = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice ?? '0x0')
  const l1 = BigInt(receipt.l1Fee ?? '0x0')
  const isDeposit = transaction.type === DEPOSIT_TYPE
  return (
    <Row name="Fee" id="tx-fee">
      {isDeposit ? (
        <span class="soft">none: deposits pay on L1</span>
      ) : (
        <>
          <Ether wei={execution + l1} exact />{' '}
          {l1 > 0n && (
            <span class="soft" data-testid="l1-fee">
              of it L1 data <Ether wei={l1} />
            </span>
          )}
        </>
      )}
    </Row>
  )
}

function CallPanel({ transaction: { to, input } }: { transaction: TransactionJson }) {
  if (to === null || input === '0x') return null
  const decoded = decodeCall(to, input)
  return (
    <Panel
      title="Call"
      note={decoded === null ? 'no ABI describes it' : decoded.source === 'known' ? 'by a well-known selector' : 'by a registered ABI'}
      id="call"
    >
      {decoded !== null && (
        <div data-testid="decoded-call" data-name={decoded.name}>
          <Signature of={decoded} />
          <Arguments of={decoded} />
        </div>
      )}
      <Fold title={`Input, ${grouped(String(sizeOf(input)))} bytes`} isOpen={decoded === null}>
        <Raw text={input.length > RAW_CHARACTERS ? `${input.slice(0, RAW_CHARACTERS)} …` : input} name="input" />
      </Fold>
      <AbiForm address={to} />
    </Panel>
  )
}

/** Characters of the input that are shown. */
const RAW_CHARACTERS = 20_000

/** What the transaction did, from traces of the node. */
function Executed({ hash, receipt }: { hash: string; receipt: ReceiptJson }) {
  // A reorg or a retraction executes it again elsewhere.
  const place = `${receipt.blockHash} ${receipt.blockNumber} ${receipt.transactionIndex}`
  const calls = useLoaded((signal) => readCalls(hash, signal), [hash, place])
  const diff = useLoaded((signal) => readStateDiff(hash, signal), [hash, place])
  const lines = calls.value === null ? null : consoleLines(calls.value)
  return (
    <>
      {receipt.status === '0x0' && (
        <Panel title="Failure" id="failure-panel">
          <Content of={calls}>
            {(call) => (
              <p class="wrong reason" data-testid="reason">
                <bdi>{visible(reasonOf(call))}</bdi>
              </p>
            )}
          </Content>
        </Panel>
      )}
      {lines !== null && lines.lines.length > 0 && (
        <Panel title="console.log" note={lines.isCut ? 'the first lines' : undefined} id="console">
          <pre class="raw" tabIndex={0} aria-label="console.log" role="group">
            {lines.lines.map((line, i) => (
              <Line key={i}>{line}</Line>
            ))}
          </pre>
        </Panel>
      )}
      <Panel
        title="Calls"
        note={calls.value === null ? 'with their gas' : `${grouped(String(callCount(calls.value)))}, with their gas`}
        id="calls"
      >
        <Content of={calls}>{(call) => <CallTree call={call} />}</Content>
      </Panel>
      <Panel title="State changes" id="state">
        <Content of={diff}>{(value) => <StateDiff diff={value} />}</Content>
      </Panel>
    </>
  )
}

function Line({ children }: { children: ComponentChildren }) {
  return (
    <code class="console-line" data-testid="console-line">
      {children}
      {'\n'}
    </code>
  )
}

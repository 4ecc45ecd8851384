import { useRef } from 'preact/hooks'
import type { SponsorStatus } from '../../src/paymaster/results.ts'
import { decimal, grouped, sizeOf, visible } from '../wallet/format.ts'
import { Copy, Row } from '../wallet/parts.tsx'
import { useAbis } from './abis.ts'
import { CallPanel } from './callpanel.tsx'
import { useHead, useLoaded, useNow, useTags } from './head.ts'
import { Logs } from './logs.tsx'
import { MissingMethod, ask, askAll } from './node.ts'
import { AddressLink, BlockLink, Ether, Failure, Notice, Panel, StageChip, TransactionLink, stageOf } from './parts.tsx'
import type { Stage } from './parts.tsx'
import { reasonOfData } from './reason.ts'
import { Timeline } from './timeline.tsx'
import { Transfers } from './transferlist.tsx'
import type { LogJson, PromisesJson, ReceiptJson } from './wire.ts'

/** The result of eth_getUserOperationByHash, as far as the page reads it. */
interface OperationJson {
  readonly userOperation: {
    readonly sender: string
    readonly nonce: string
    readonly callData: string
    readonly paymaster?: string | null
    readonly paymasterAndData?: string
    readonly factory?: string | null
    readonly callGasLimit: string
    readonly verificationGasLimit: string
    readonly preVerificationGas: string
  }
  readonly entryPoint: string
  readonly transactionHash: string | null
  readonly blockNumber: string | null
}

/** The result of eth_getUserOperationReceipt. */
interface OperationReceiptJson {
  readonly success: boolean
  readonly reason?: string
  readonly paymaster?: string | null
  readonly actualGasCost: string
  readonly actualGasUsed: string
  readonly logs: readonly LogJson[]
  readonly receipt: ReceiptJson
}

/** The result of pimlico_getUserOperationStatus. */
interface StatusJson {
  readonly status: string
  readonly transactionHash: string | null
  readonly reason?: string | null
}

interface Found {
  readonly operation: OperationJson | null
  readonly receipt: OperationReceiptJson | null
  /** null: the bundler does not say */
  readonly status: StatusJson | null
}

/** Pending operations are read at this interval. */
const POLL_MS = 1_000

/** A user operation of ERC-4337. */
export function OperationPage({ hash }: { hash: string }) {
  const isHash = /^0x[0-9a-fA-F]{64}$/.test(hash)
  const latest = useHead((head) => head.latest)
  const isSealed = useRef(false)
  const second = useNow(POLL_MS)
  const version = useHead(({ blocks, retracted }) => (isSealed.current ? 'sealed' : `${blocks[0]?.cells.length} ${retracted.length}`))
  const loaded = useLoaded(
    async (signal) => (isHash ? readOperation(hash, signal) : NOTHING),
    [hash, latest, version, isSealed.current ? 'sealed' : second],
  )
  const included = loaded.value?.operation?.blockNumber ?? null
  isSealed.current = included !== null && latest !== null && Number(included) <= latest
  if (!isHash) {
    return (
      <Notice title="Not the hash of a user operation" id="bad-input">
        <p>
          <code>{visible(hash.slice(0, 100))}</code> is not a hash: 0x and 64 hexadecimal digits are expected.
        </p>
      </Notice>
    )
  }
  if (loaded.value === null) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <p class="soft">Loading …</p>
  const { operation, receipt, status } = loaded.value
  if (operation === null) return <Pending hash={hash} status={status} />
  return <Operation hash={hash} operation={operation} receipt={receipt} />
}

const NOTHING: Found = { operation: null, receipt: null, status: null }

/** An operation that is in no block, as far as the bundler says. */
function Pending({ hash, status }: { hash: string; status: StatusJson | null }) {
  const text = status === null ? undefined : STATUSES[status.status]
  return (
    <Notice title={text?.title ?? 'No such user operation'} id={text === undefined ? 'unknown' : 'op-pending'}>
      <p data-testid="op-status" data-status={status?.status ?? 'not_found'}>
        {text?.sentence ?? 'The bundler of this node does not have it, and no block includes it.'}{' '}
        {text !== undefined && <StageChip stage={text.stage} />}
      </p>
      {status !== null && (status.reason ?? null) !== null && (
        <p class="wrong" data-testid="op-reason">
          <bdi>{visible(String(status.reason))}</bdi>
        </p>
      )}
      {status !== null && status.transactionHash !== null && (
        <p>
          Its bundle is transaction <TransactionLink hash={status.transactionHash} />
        </p>
      )}
      <p>
        <code class="long">{hash}</code>
      </p>
    </Notice>
  )
}

interface StatusText {
  readonly title: string
  readonly sentence: string
  readonly stage: Stage
}

/** By the status of pimlico_getUserOperationStatus; others are shown as unknown operations. */
const STATUSES: Readonly<Record<string, StatusText>> = {
  not_submitted: { title: 'Waits for a bundle', sentence: 'It is valid and in the mempool of the bundler.', stage: 'pool' },
  submitted: { title: 'Sent in a bundle', sentence: 'Its bundle is in the pool of the node, in no block yet.', stage: 'pool' },
  rejected: { title: 'Rejected', sentence: 'The bundler dropped it: it became invalid before it was included.', stage: 'dropped' },
}

async function readOperation(hash: string, signal: AbortSignal): Promise<Found> {
  const [operation, receipt, status] = await askAll(
    [
      ['eth_getUserOperationByHash', hash],
      ['eth_getUserOperationReceipt', hash],
      ['pimlico_getUserOperationStatus', hash],
    ],
    { signal },
  )
  if (operation instanceof Error) throw operation
  return {
    operation: operation as OperationJson | null,
    receipt: receipt instanceof Error ? null : (receipt as OperationReceiptJson | null),
    status: status instanceof Error ? null : (status as StatusJson | null),
  } // the results of the methods
}

function Operation({ hash, operation, receipt }: { hash: string; operation: OperationJson; receipt: OperationReceiptJson | null }) {
  useAbis() // a registered ABI changes what is decoded
  const tags = useTags()
  const number = receipt?.receipt.blockNumber ?? operation.blockNumber
  const blockNumber = number === null ? null : Number(number)
  const stage = stageOf(blockNumber, tags)
  const { sender, callData } = operation.userOperation
  return (
    <>
      <header class="title">
        <h1 data-testid="op-title">User operation</h1>
        <span data-testid="op-stage" data-stage={stage}>
          <StageChip stage={stage} />
        </span>
        {receipt?.success === false && <StageChip stage="failed" />}
      </header>
      <div class="columns wide">
        <Panel title="Summary" id="summary">
          <Summary hash={hash} operation={operation} receipt={receipt} blockNumber={blockNumber} />
        </Panel>
        <Bundle hash={receipt?.receipt.transactionHash ?? operation.transactionHash} blockNumber={blockNumber} />
      </div>
      {receipt?.success === false && (
        <Panel title="Failure" id="failure-panel">
          <p class="wrong reason" data-testid="reason">
            <bdi>{visible(reasonOfData(sender, receipt.reason ?? ''))}</bdi>
          </p>
        </Panel>
      )}
      <CallPanel title="Call of the account" to={sender} input={callData} />
      {receipt !== null && <Transfers logs={receipt.logs} />}
      {receipt !== null && (
        <Panel title="Logs" note={String(receipt.logs.length)} id="logs">
          <Logs logs={receipt.logs} />
        </Panel>
      )}
    </>
  )
}

interface SummaryProps {
  readonly hash: string
  readonly operation: OperationJson
  readonly receipt: OperationReceiptJson | null
  readonly blockNumber: number | null
}

function Summary({ hash, operation: { userOperation, entryPoint }, receipt, blockNumber }: SummaryProps) {
  const { sender, nonce, factory = null } = userOperation
  const paymaster = paymasterOf(userOperation, receipt)
  return (
    <dl class="rows">
      <Row name="Hash" id="op-hash">
        <Copy text={hash} what="hash of the user operation" shown={hash} />
      </Row>
      <Row name="Block">{blockNumber === null ? 'none yet: in the mempool of the bundler' : <BlockLink number={blockNumber} />}</Row>
      <Row name="Sender" id="op-sender">
        <AddressLink address={sender} whole />
      </Row>
      <Row name="Paid by" id="op-payer">
        {paymaster === null ? 'the sender' : <Payer address={paymaster} />}
      </Row>
      {receipt !== null && (
        <>
          <Row name="Cost" id="op-cost">
            <Ether wei={receipt.actualGasCost} exact />
          </Row>
          <Row name="Gas" id="op-gas">
            {grouped(decimal(receipt.actualGasUsed))}
          </Row>
        </>
      )}
      <Row name="Nonce">{nonceText(nonce)}</Row>
      <Row name="EntryPoint">
        <AddressLink address={entryPoint} />
      </Row>
      {factory !== null && (
        <Row name="Created by">
          <AddressLink address={factory} />
        </Row>
      )}
    </dl>
  )
}

/** A paymaster, with the name of the sponsor if it is this node's. */
function Payer({ address }: { address: string }) {
  const sponsor = useLoaded((signal) => ask<SponsorStatus>(['pocketchain_sponsorStatus'], { signal }), [])
  const isOwn = sponsor.value?.paymasters.some((each) => each.address.toLowerCase() === address.toLowerCase()) === true
  return (
    <>
      {isOwn && (
        <>
          <bdi class="label" data-testid="op-sponsor">
            {visible(sponsor.value?.name ?? '').slice(0, NAME_CHARACTERS)}
          </bdi>{' '}
        </>
      )}
      <AddressLink address={address} whole />
    </>
  )
}

/** Characters of a sponsor's name that are shown. */
const NAME_CHARACTERS = 100

/** EntryPoint 0.6 has the paymaster in the first 20 bytes of `paymasterAndData`. */
function paymasterOf(
  { paymaster, paymasterAndData = '0x' }: OperationJson['userOperation'],
  receipt: OperationReceiptJson | null,
): string | null {
  const found = receipt?.paymaster ?? paymaster ?? (sizeOf(paymasterAndData) >= 20 ? paymasterAndData.slice(0, 42) : null)
  return found === null || BigInt(found) === 0n ? null : found
}

/** A nonce has a key of 192 bits and a sequence of 64 bits. */
function nonceText(nonce: string): string {
  const value = BigInt(nonce)
  const key = value >> 64n
  return key === 0n ? value.toString() : `${value & 0xffffffffffffffffn} of key 0x${key.toString(16)}`
}

/** The transaction that includes the operation, and its promises. */
function Bundle({ hash, blockNumber }: { hash: string | null; blockNumber: number | null }) {
  const tags = useTags()
  const loaded = useLoaded(
    async (signal) => (hash === null ? null : ask<PromisesJson>(['pocketchain_promises', { hash, limit: 50 }], { signal })),
    [hash, blockNumber, tags.latest],
  )
  return (
    <Panel title="Bundle" id="bundle">
      {hash === null ? (
        <p class="soft">It waits for its bundle.</p>
      ) : (
        <>
          <p class="line">
            in transaction <TransactionLink hash={hash} />
          </p>
          {loaded.state === 'failed' && <Failure error={loaded.error} />}
          {(loaded.state !== 'failed' || loaded.error instanceof MissingMethod) && (
            <Timeline records={loaded.value?.promises.toReversed() ?? []} blockNumber={blockNumber} sealedMs={null} {...tags} />
          )}
        </>
      )}
    </Panel>
  )
}

import { useRef } from 'preact/hooks'
import type { RuleWarningJson, RulesJson, UnincludedOperationJson, UnincludedPage } from '../../src/bundler/results.ts'
import type { SponsorStatus } from '../../src/paymaster/results.ts'
import { WarningChip } from '../sponsor/rulewarnings.tsx'
import { waitTextOf } from '../sponsor/waiting.ts'
import { visible } from '../wallet/format.ts'
import { Copy, Row } from '../wallet/parts.tsx'
import { useAbis } from './abis.ts'
import { Bundle } from './bundle.tsx'
import { CallPanel } from './callpanel.tsx'
import { useHead, useLoaded, useNow, useTagNumbers } from './head.ts'
import { ReceiptLogs } from './logs.tsx'
import { ask, askAll } from './node.ts'
import { OperationLink } from './operationrows.tsx'
import { paymasterOf } from './operations.ts'
import { AddressLink, BlockLink, Failure, Notice, Panel, StageChip, TransactionLink, stageOf } from './parts.tsx'
import type { Stage } from './parts.tsx'
import { Prices } from './prices.tsx'
import type { Market, PriceFields } from './prices.tsx'
import { reasonOfOperation } from './reason.ts'
import { RulesPanel, warningsOf } from './rules.tsx'
import { Transfers } from './transferlist.tsx'
import type { BlockJson, LogJson, ReceiptJson } from './wire.ts'

/** The fields of a user operation that the page reads. */
interface OperationFields extends PriceFields {
  readonly sender: string
  readonly nonce: string
  readonly callData: string
  readonly paymaster?: string | null
  readonly factory?: string | null
}

/** The result of eth_getUserOperationByHash. */
interface OperationJson {
  readonly userOperation: OperationFields
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
  /** null: neither a block nor the pool of the bundler has it */
  readonly operation: OperationJson | null
  /** null: it is in no block */
  readonly receipt: OperationReceiptJson | null
  /** null: the bundler does not report them */
  readonly status: StatusJson | null
  /** null: it is in a block, or the bundler does not report it */
  readonly unincluded: UnincludedOperationJson | null
  /** operations of its bundle while that is in no block, in their order */
  readonly siblings: readonly UnincludedOperationJson[]
  readonly warnings: readonly RuleWarningJson[]
  readonly rules: RulesJson | null
  readonly market: Market
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
  const { operation, status } = loaded.value
  if (operation === null) return <StatusOnly hash={hash} status={status} />
  return <Operation hash={hash} found={{ ...loaded.value, operation }} />
}

const NOTHING: Found = {
  operation: null,
  receipt: null,
  status: null,
  unincluded: null,
  siblings: [],
  warnings: [],
  rules: null,
  market: { baseFee: null, proposed: null },
}

/** An operation for which the node has only a status, or nothing. */
function StatusOnly({ hash, status }: { hash: string; status: StatusJson | null }) {
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
  rejected: { title: 'Dropped', sentence: 'The bundler dropped it: it became invalid before it was included.', stage: 'dropped' },
}

async function readOperation(hash: string, signal: AbortSignal): Promise<Found> {
  const [included, receipt, status, page, warnings, rules, block, prices] = await askAll(
    [
      ['eth_getUserOperationByHash', hash],
      ['eth_getUserOperationReceipt', hash],
      ['pimlico_getUserOperationStatus', hash],
      ['pocketchain_userOperationPool', { userOpHashes: [hash] }],
      ['pocketchain_userOperationWarnings', hash],
      ['pocketchain_bundlerRules'],
      ['eth_getBlockByNumber', 'pending', false],
      ['pimlico_getUserOperationGasPrice'],
    ],
    { signal },
  )
  if (included instanceof Error) throw included
  // The results of the methods.
  const operation = included as OperationJson | null
  const unincluded = operation === null ? ((resultOf(page) as UnincludedPage | null)?.operations[0] ?? null) : null
  return {
    operation: operation ?? (unincluded === null ? null : operationOf(unincluded)),
    receipt: resultOf(receipt) as OperationReceiptJson | null,
    status: resultOf(status) as StatusJson | null,
    unincluded,
    siblings: await readSiblings(unincluded?.transactionHash ?? null, signal),
    warnings: warningsOf(warnings),
    rules: resultOf(rules) as RulesJson | null,
    market: marketOf(resultOf(block) as BlockJson | null, resultOf(prices) as GasPricesJson | null),
  }
}

/** null for an error, such as a missing method */
function resultOf(answer: unknown): unknown {
  return answer instanceof Error ? null : answer
}

function operationOf({ userOperation, entryPoint, transactionHash }: UnincludedOperationJson): OperationJson {
  const fields = userOperation as unknown as OperationFields // as the method defines it
  return { userOperation: fields, entryPoint, transactionHash, blockNumber: null }
}

/** Returns the operations of a bundle that is in no block. */
async function readSiblings(transactionHash: string | null, signal: AbortSignal): Promise<readonly UnincludedOperationJson[]> {
  if (transactionHash === null) return []
  const [page] = await askAll([['pocketchain_userOperationPool', { transactionHash }]], { signal })
  return ((resultOf(page) as UnincludedPage | null)?.operations ?? []).toReversed() // the result of the method, newest first
}

/** The result of pimlico_getUserOperationGasPrice. */
type GasPricesJson = Readonly<Record<'slow' | 'standard' | 'fast', { readonly maxFeePerGas: string }>>

function marketOf(block: BlockJson | null, prices: GasPricesJson | null): Market {
  const fee = (speed: keyof GasPricesJson) => BigInt(prices?.[speed].maxFeePerGas ?? 0)
  return {
    baseFee: block?.baseFeePerGas === undefined ? null : BigInt(block.baseFeePerGas),
    proposed: prices === null ? null : { slow: fee('slow'), standard: fee('standard'), fast: fee('fast') },
  }
}

function Operation({ hash, found }: { hash: string; found: Found & { readonly operation: OperationJson } }) {
  useAbis() // a registered ABI changes what is decoded
  const tags = useTagNumbers()
  const { operation, receipt, unincluded, siblings, warnings, rules, market } = found
  const { userOperation, entryPoint } = operation
  const number = receipt?.receipt.blockNumber ?? operation.blockNumber
  const blockNumber = number === null ? null : Number(number)
  const stage = unincluded?.status === 'rejected' ? 'dropped' : stageOf(blockNumber, tags)
  const paid = receipt === null ? null : { cost: BigInt(receipt.actualGasCost), gasUsed: BigInt(receipt.actualGasUsed) }
  const waiting = siblings.map((each) => ({ hash: each.userOpHash, sender: String(each.userOperation['sender']), success: true }))
  return (
    <>
      <header class="title">
        <h1 data-testid="op-title">User operation</h1>
        <span data-testid="op-stage" data-stage={stage}>
          <StageChip stage={stage} />
        </span>
        {receipt?.success === false && <StageChip stage="failed" />}
        <WarningChip warnings={warnings} />
      </header>
      {unincluded !== null && <PoolState operation={unincluded} />}
      {receipt?.success === false && (
        <Panel title="Failure" id="failure-panel">
          <p class="wrong reason" data-testid="reason">
            <bdi>{visible(reasonOfOperation(userOperation.sender, receipt.reason ?? ''))}</bdi>
          </p>
        </Panel>
      )}
      <div class="columns wide">
        <div class="column">
          <Panel title="Summary" id="summary">
            <Summary hash={hash} operation={operation} blockNumber={blockNumber} />
          </Panel>
          <Prices
            fields={userOperation}
            entryPoint={entryPoint}
            paid={paid}
            market={market}
            payer={<Payer operation={operation} receipt={receipt} />}
          />
        </div>
        <div class="column">
          <Bundle
            userOpHash={hash.toLowerCase()}
            hash={receipt?.receipt.transactionHash ?? operation.transactionHash}
            blockNumber={blockNumber}
            receipt={receipt?.receipt ?? null}
            waiting={waiting}
          />
          <RulesPanel rules={rules} warnings={warnings} />
        </div>
      </div>
      <CallPanel title="Call of the account" to={userOperation.sender} input={userOperation.callData} />
      {receipt !== null && <Transfers logs={receipt.logs} />}
      {receipt !== null && (
        <Panel title="Logs" note={String(receipt.logs.length)} id="logs">
          <ReceiptLogs logs={receipt.logs} />
        </Panel>
      )}
    </>
  )
}

/** The status of an operation that is in no block, with the reason. */
function PoolState({ operation: { status, waitsFor, failedBundles, reason, replacedBy } }: { operation: UnincludedOperationJson }) {
  const isPriced = waitsFor === 'price'
  return (
    <section
      class={`panel standing${isPriced || status === 'rejected' ? ' stopped' : ''}`}
      aria-label="Where it stands"
      data-testid="standing"
    >
      <p data-testid="op-status" data-status={status} data-waits-for={waitsFor ?? ''}>
        <strong>{STATUSES[status]?.title ?? status}</strong>{' '}
        {waitsFor !== null ? (
          waitTextOf(waitsFor, status).sentence
        ) : replacedBy === null ? (
          'The bundler dropped it before it was in a block.'
        ) : (
          <>
            It was replaced by <OperationLink hash={replacedBy} />, with the same nonce and higher fees.
          </>
        )}
      </p>
      {failedBundles > 0 && status !== 'rejected' && (
        <p class="soft" data-testid="op-failed-bundles">
          {failedBundles === 1 ? 'One bundle with it failed.' : `${failedBundles} bundles with it failed.`} After three it is dropped.
        </p>
      )}
      {reason !== null && replacedBy === null && (
        <p class="wrong" data-testid="op-reason">
          <bdi>{visible(reason)}</bdi>
        </p>
      )}
    </section>
  )
}

interface SummaryProps {
  readonly hash: string
  readonly operation: OperationJson
  readonly blockNumber: number | null
}

function Summary({ hash, operation: { userOperation, entryPoint }, blockNumber }: SummaryProps) {
  const { sender, nonce, factory = null } = userOperation
  return (
    <dl class="rows">
      <Row name="Hash" id="op-hash">
        <Copy text={hash} what="hash of the user operation" shown={hash} />
      </Row>
      <Row name="Block">{blockNumber === null ? 'none' : <BlockLink number={blockNumber} />}</Row>
      <Row name="Sender" id="op-sender">
        <AddressLink address={sender} whole />
      </Row>
      <Row name="Nonce">{nonceText(nonce)}</Row>
      <Row name="EntryPoint">
        <AddressLink address={entryPoint} />
      </Row>
      {factory !== null && (
        <Row name="Created by">{factory === DELEGATION ? 'its delegation (EIP-7702)' : <AddressLink address={factory} />}</Row>
      )}
    </dl>
  )
}

/** The factory of an account that delegates, as ERC-7769 writes it. */
const DELEGATION = '0x7702'

/** The account, its paymaster with the name of the sponsor if it is this node's, or the bundler for an operation without fees. */
function Payer({ operation: { userOperation }, receipt }: { operation: OperationJson; receipt: OperationReceiptJson | null }) {
  const paymaster = paymasterOf({ ...userOperation, ...(receipt === null ? {} : { paymaster: receipt.paymaster ?? null }) })
  if (paymaster !== null) return <Paymaster address={paymaster} />
  return <>{BigInt(userOperation.maxFeePerGas) === 0n ? 'the bundler: it has no fees' : 'the sender'}</>
}

function Paymaster({ address }: { address: string }) {
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

/** A nonce has a key of 192 bits and a sequence of 64 bits. */
function nonceText(nonce: string): string {
  const value = BigInt(nonce)
  const key = value >> 64n
  return key === 0n ? value.toString() : `${value & 0xffffffffffffffffn} of key 0x${key.toString(16)}`
}

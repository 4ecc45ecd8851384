import { decimal, grouped, sizeOf, visible } from '../wallet/format.ts'
import { Copy, Fold, Raw, Row } from '../wallet/parts.tsx'
import { decodeCall, decodeError, errorSentence } from './abi.ts'
import { useAbis } from './abis.ts'
import { Arguments, Signature } from './decoded.tsx'
import { useHead, useLoaded, useNow } from './head.ts'
import { Logs } from './logs.tsx'
import { ask, askAll } from './node.ts'
import { AddressLink, BlockLink, Ether, Failure, Notice, Panel, StageChip, TransactionLink, stageOf } from './parts.tsx'
import { Timeline } from './timeline.tsx'
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

interface Found {
  readonly operation: OperationJson | null
  readonly receipt: OperationReceiptJson | null
}

/** A user operation of ERC-4337. */
export function OperationPage({ hash }: { hash: string }) {
  const isHash = /^0x[0-9a-fA-F]{64}$/.test(hash)
  const head = useHead()
  const second = useNow(1_000)
  const loaded = useLoaded(
    async (signal) => (isHash ? readOperation(hash, signal) : NOTHING),
    [hash, head.latest, head.blocks[0]?.cells.length, second],
  )
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
  const { operation, receipt } = loaded.value
  if (operation === null) {
    return (
      <Notice title="No such user operation" id="unknown">
        <p>
          The bundler of this node has no user operation <code>{hash}</code>, and no block includes it.
        </p>
      </Notice>
    )
  }
  return <Operation hash={hash} operation={operation} receipt={receipt} />
}

const NOTHING: Found = { operation: null, receipt: null }

async function readOperation(hash: string, signal: AbortSignal): Promise<Found> {
  const [operation, receipt] = await askAll(
    [
      ['eth_getUserOperationByHash', hash],
      ['eth_getUserOperationReceipt', hash],
    ],
    { signal },
  )
  if (operation instanceof Error) throw operation
  return {
    operation: operation as OperationJson | null,
    receipt: receipt instanceof Error ? null : (receipt as OperationReceiptJson | null),
  } // the results of the methods
}

function Operation({ hash, operation, receipt }: { hash: string; operation: OperationJson; receipt: OperationReceiptJson | null }) {
  useAbis() // a registered ABI changes what is decoded
  const head = useHead()
  const number = receipt?.receipt.blockNumber ?? operation.blockNumber
  const blockNumber = number === null ? null : Number(number)
  const stage = stageOf(blockNumber, head)
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
            <bdi>{visible(reasonOf(sender, receipt.reason))}</bdi>
          </p>
        </Panel>
      )}
      <CallPanel sender={sender} callData={callData} />
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
        <Copy text={hash} what="hash of the user operation" />
      </Row>
      <Row name="Block">{blockNumber === null ? 'none yet: in the mempool of the bundler' : <BlockLink number={blockNumber} />}</Row>
      <Row name="Sender" id="op-sender">
        <AddressLink address={sender} whole />
      </Row>
      <Row name="Paid by" id="op-payer">
        {paymaster === null ? 'the sender' : <AddressLink address={paymaster} whole />}
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
  const head = useHead()
  const loaded = useLoaded(
    async (signal) => (hash === null ? null : ask<PromisesJson>(['pocketchain_promises', { hash, limit: 50 }], { signal })),
    [hash, blockNumber, head.latest],
  )
  return (
    <Panel title="Bundle" id="bundle">
      {hash === null ? (
        <p class="soft">It waits for its bundle.</p>
      ) : (
        <>
          <p>
            in transaction <TransactionLink hash={hash} />
          </p>
          {loaded.state === 'failed' ? (
            <Failure error={loaded.error} />
          ) : (
            <Timeline
              records={loaded.value?.promises.toReversed() ?? []}
              blockNumber={blockNumber}
              sealedMs={null}
              latest={head.latest}
              safe={head.safe}
              finalized={head.finalized}
            />
          )}
        </>
      )}
    </Panel>
  )
}

function CallPanel({ sender, callData }: { sender: string; callData: string }) {
  const decoded = decodeCall(sender, callData)
  return (
    <Panel title="Call of the account" id="call">
      {decoded !== null && (
        <div data-testid="decoded-call" data-name={decoded.name}>
          <Signature of={decoded} />
          <Arguments of={decoded} />
        </div>
      )}
      <Fold title={`Call data, ${grouped(String(sizeOf(callData)))} bytes`} isOpen={decoded === null}>
        <Raw text={callData} name="call data" />
      </Fold>
    </Panel>
  )
}

function reasonOf(sender: string, reason = ''): string {
  const decoded = /^0x([0-9a-f]{2})*$/i.test(reason) ? decodeError(sender, reason) : null
  if (decoded === null) return reason === '' || reason === '0x' ? 'It reverted without data.' : reason
  return errorSentence(decoded) ?? `${decoded.name}(${decoded.inputs.map(({ value }) => String(value)).join(', ')})`
}

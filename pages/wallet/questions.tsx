import type { FunctionComponent } from 'preact'
import type {
  AddChainQuestion,
  BatchQuestion,
  Question,
  QuestionKind,
  SendQuestion,
  SwitchChainQuestion,
  UpgradeQuestion,
  WatchAssetQuestion,
} from '../../src/wallet/question.ts'
import { Approval } from './approval.tsx'
import type { QuestionProps } from './approval.tsx'
import { Calls } from './calls.tsx'
import { Connect } from './connect.tsx'
import { decimal, visible } from './format.ts'
import { Fee, Outcome, priceOf } from './outcome.tsx'
import { AddressText, ChainText, Context, Copy, ErrorBoundary, Row, Section } from './parts.tsx'
import { Sign } from './sign.tsx'

/** Shows a question with the view of its kind. */
export function QuestionView(props: QuestionProps<Question>) {
  // The table pairs each kind with its own view, which the type of an indexed table cannot express.
  const View = VIEWS[props.question.kind] as FunctionComponent<QuestionProps<Question>>
  return (
    <ErrorBoundary key={props.question.id} instead={<Undisplayable {...props} />}>
      <View {...props} />
    </ErrorBoundary>
  )
}

/** A question whose view throws can only be rejected. */
function Undisplayable(props: QuestionProps<Question>) {
  return (
    <Approval {...props} request={`sends a request (${props.question.method}) that this page cannot show`} missing={UNDISPLAYABLE}>
      {null}
    </Approval>
  )
}

const UNDISPLAYABLE = 'Because it cannot be shown, it can only be rejected.'

const VIEWS: { readonly [K in QuestionKind]: FunctionComponent<QuestionProps<Extract<Question, { kind: K }>>> } = {
  connect: Connect,
  sign: Sign,
  send: Send,
  batch: Batch,
  upgrade: Upgrade,
  addChain: AddChain,
  switchChain: SwitchChain,
  watchAsset: WatchAsset,
}

function Send(props: QuestionProps<SendQuestion>) {
  const { account, chain, calls, preview, fee } = props.question
  return (
    <Approval {...props} request="asks you to send a transaction" verb="Send">
      <Context account={account} chain={chain} />
      <Outcome preview={preview} chain={chain} />
      <Calls calls={calls} chain={chain} failed={preview.failedCall} />
      <Fee fee={fee} chain={chain} />
    </Approval>
  )
}

function Batch(props: QuestionProps<BatchQuestion>) {
  const { account, chain, calls, preview, fee, atomic, execution, batchId, warnings } = props.question
  const count = calls.length === 1 ? 'a batch of one call' : `a batch of ${calls.length} calls`
  const has = (wanted: string): boolean => warnings.some(({ code }) => code === wanted)
  const remarks = { 'sponsor-failed': `The fee is ${priceOf(fee, chain)}.` }
  return (
    <Approval
      {...props}
      request={`asks you to send ${count}`}
      verb={calls.length === 1 ? 'Send' : `Send ${calls.length} calls`}
      remarks={remarks}
    >
      <Context account={account} chain={chain} />
      <Outcome preview={preview} chain={chain} />
      <Calls calls={calls} chain={chain} failed={preview.failedCall} />
      <Fee fee={fee} chain={chain} isFallback={has('sponsor-failed')} isPaidInToken={has('sponsor-takes')} />
      <dl class="rows">
        <Row name="Sent">
          {EXECUTIONS[execution]}
          {execution !== 'single' && <span class="soft">, {atomic ? 'all calls or none' : 'a call can fail alone'}</span>}
        </Row>
        <Row name="Batch">
          <Copy text={batchId} what="batch id" />
        </Row>
      </dl>
    </Approval>
  )
}

const EXECUTIONS: Readonly<Record<BatchQuestion['execution'], string>> = {
  single: 'as one transaction',
  sequential: 'as separate transactions, in this order',
  delegated: 'in one transaction, by the account’s own code',
  sponsored: 'as one user operation, in a transaction of a bundler',
}

function Upgrade(props: QuestionProps<UpgradeQuestion>) {
  const { account, chain, delegate, delegateName, delegateBefore, deploys, batchId } = props.question
  return (
    <Approval {...props} request="needs your account to become a smart account" verb="Upgrade">
      <Context account={account} chain={chain} />
      <p class="prose">
        To run the site’s batch, your account must first become a smart account. You approve the batch itself next; until then nothing is
        sent. Your account keeps its address, its key and what it owns, and runs the code below, which executes several calls together. The
        wallet’s overview can remove the code again.
      </p>
      <Section title="Code the account will run">
        <dl class="rows">
          <Row name="New">
            <AddressText address={delegate} name={delegateName} />
          </Row>
          <Row name="Before">{delegateBefore === null ? 'none' : <AddressText address={delegateBefore} />}</Row>
          {deploys && <Row name="First">This chain lacks the code: a separate transaction deploys it.</Row>}
        </dl>
      </Section>
      <dl class="rows">
        <Row name="Batch">
          <Copy text={batchId} what="batch id" />
        </Row>
      </dl>
    </Approval>
  )
}

function AddChain(props: QuestionProps<AddChainQuestion>) {
  const { proposed, known, unchecked = [] } = props.question
  const { chainId, chainName, nativeCurrency, rpcUrls, blockExplorerUrls } = proposed
  return (
    <Approval {...props} request="wants to add a chain" verb="Add chain">
      {known && (
        <p class="prose">The wallet has this chain already. Approving adds the addresses below to it; the site does not learn that.</p>
      )}
      <dl class="rows">
        <Row name="Chain" id="chain">
          <bdi>{visible(chainName)}</bdi>
        </Row>
        <Row name="Chain id">
          {decimal(chainId)} <span class="soft">{chainId}</span>
        </Row>
        <Row name="Coin">
          <bdi>{visible(nativeCurrency.symbol)}</bdi>{' '}
          <span class="soft">
            {visible(nativeCurrency.name)}, {nativeCurrency.decimals} decimals
          </span>
        </Row>
        <Row name="Node">
          <Urls urls={rpcUrls} unchecked={unchecked} />
        </Row>
        {blockExplorerUrls.length > 0 && (
          <Row name="Explorer">
            <Urls urls={blockExplorerUrls} />
          </Row>
        )}
      </dl>
      <p class="prose soft">The node’s operator sees which accounts you use, and is the wallet’s only source for this chain.</p>
    </Approval>
  )
}

/** `unchecked`: urls whose chain id is requested only after the approval */
function Urls({ urls, unchecked = [] }: { urls: readonly string[]; unchecked?: readonly string[] }) {
  return (
    <ul class="urls">
      {urls.map((url) => (
        <li key={url}>
          {visible(url)} {unchecked.includes(url) && <span class="soft">not checked yet</span>}
        </li>
      ))}
    </ul>
  )
}

function SwitchChain(props: QuestionProps<SwitchChainQuestion>) {
  const { from, to } = props.question
  return (
    <Approval {...props} request="wants to switch to another chain" verb="Switch">
      <dl class="rows">
        <Row name="From">
          <ChainText chain={from} />
        </Row>
        <Row name="To" id="chain">
          <strong>
            <ChainText chain={to} />
          </strong>
        </Row>
      </dl>
    </Approval>
  )
}

function WatchAsset(props: QuestionProps<WatchAssetQuestion>) {
  const { chain, asset } = props.question
  return (
    <Approval {...props} request="suggests a token to watch" verb="Watch token">
      <dl class="rows">
        <Row name="Token">
          <strong>
            <bdi>{visible(asset.symbol ?? 'without a symbol')}</bdi>
            {asset.tokenId !== undefined && <> #{decimal(asset.tokenId)}</>}
          </strong>{' '}
          <span class="soft">
            {visible(asset.type)}
            {asset.decimals !== null && `, ${asset.decimals} decimals`}
          </span>
        </Row>
        <Row name="Contract">
          <AddressText address={asset.address} />
        </Row>
        <Row name="Chain" id="chain">
          <ChainText chain={chain} />
        </Row>
      </dl>
      <p class="prose soft">Any contract can use any token name. Check the address of the contract.</p>
    </Approval>
  )
}

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
import { AddressText, ChainText, Context, Copy, Guarded, Row, Section } from './parts.tsx'
import { Sign } from './sign.tsx'

/** One question as its kind asks for. */
export function QuestionView(props: QuestionProps<Question>) {
  // The table pairs each kind with its own view, which the type of an indexed table cannot say.
  const View = VIEWS[props.question.kind] as FunctionComponent<QuestionProps<Question>>
  return (
    <Guarded key={props.question.id} instead={<Unshowable {...props} />}>
      <View {...props} />
    </Guarded>
  )
}

/** Nobody approves what nobody can read. */
function Unshowable(props: QuestionProps<Question>) {
  return (
    <Approval {...props} wish={`asks for something (${props.question.method}) that this page cannot show`} missing={UNSHOWABLE}>
      {null}
    </Approval>
  )
}

const UNSHOWABLE = 'Because it cannot be shown, it can only be rejected.'

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
    <Approval {...props} wish="asks you to send a transaction" verb="Send">
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
  const remarks = { 'sponsor-failed': `The fee is ${priceOf(fee, chain)}.` }
  return (
    <Approval
      {...props}
      wish={`asks you to send ${count}`}
      verb={calls.length === 1 ? 'Send' : `Send ${calls.length} calls`}
      remarks={remarks}
    >
      <Context account={account} chain={chain} />
      <Outcome preview={preview} chain={chain} />
      <Calls calls={calls} chain={chain} failed={preview.failedCall} />
      <Fee fee={fee} chain={chain} isFallback={warnings.some(({ code }) => code === 'sponsor-failed')} />
      <dl class="rows">
        <Row name="Happens">
          {EXECUTIONS[execution]}
          {execution !== 'single' && <span class="soft">, {atomic ? 'all of it or nothing' : 'each call by itself'}</span>}
        </Row>
        <Row name="Batch">
          <Copy text={batchId} what="batch id" />
        </Row>
      </dl>
    </Approval>
  )
}

const EXECUTIONS: Readonly<Record<BatchQuestion['execution'], string>> = {
  single: 'as one ordinary transaction',
  sequential: 'as one transaction after the other',
  delegated: 'in one transaction, by the account’s own code',
  sponsored: 'as one user operation, in a transaction that somebody else sends',
}

function Upgrade(props: QuestionProps<UpgradeQuestion>) {
  const { account, chain, delegate, delegateName, delegateBefore, deploys, batchId } = props.question
  return (
    <Approval {...props} wish="needs your account to become a smart account" verb="Upgrade">
      <Context account={account} chain={chain} />
      <p class="prose">
        Your account keeps its address, its key and what it owns. From now on it runs the code below, which lets several calls happen
        together. This can be taken back on the wallet’s own page.
      </p>
      <Section title="Code the account will run">
        <dl class="rows">
          <Row name="New">
            <AddressText address={delegate} name={delegateName} />
          </Row>
          <Row name="Before">{delegateBefore === null ? 'none' : <AddressText address={delegateBefore} />}</Row>
          {deploys && <Row name="First">The chain lacks this code: a transaction before puts it there.</Row>}
        </dl>
      </Section>
      <dl class="rows">
        <Row name="For batch">
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
    <Approval {...props} wish="wants to add a chain" verb="Add chain">
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
      <p class="prose soft">The node’s operator sees which accounts you look at, and tells the wallet what happens on this chain.</p>
    </Approval>
  )
}

/** `unchecked`: those that are asked for their chain id only after the person has agreed */
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
    <Approval {...props} wish="wants to switch to another chain" verb="Switch">
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
    <Approval {...props} wish="suggests a token to watch" verb="Watch token">
      <dl class="rows">
        <Row name="Token">
          <strong>
            <bdi>{visible(asset.symbol ?? 'without a symbol')}</bdi>
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
      <p class="prose soft">Anybody can give a token any name. What counts is the contract’s address.</p>
    </Approval>
  )
}

import type { AbiFunction, AbiParameter, Hex } from 'viem'
import { decodeAbiParameters, encodeAbiParameters, formatAbiItem } from 'viem/utils'
import { useState } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { decodeError, errorSentence, functionsIn, functionsOf, selectorOf } from './abi.ts'
import { abiOf, abiOfAll, useAbis } from './abis.ts'
import type { Target } from './account.ts'
import { parseArgument, parseEther } from './argument.ts'
import { Value } from './decoded.tsx'
import { hasFeature } from './features.ts'
import { RpcError, askAll } from './node.ts'
import { TransactionLink } from './parts.tsx'
import { customErrorText } from './reason.ts'
import { sendThroughWallet } from './sending.ts'

interface ContractFormProps {
  readonly address: string
  readonly code: string
  /** the code behind a proxy */
  readonly target: Target | null
}

/**
 * Functions of registered ABIs, and of well-known ones whose selectors are in the code: reads are called, writes are sent through the wallet of
 * this server.
 */
export function ContractForm({ address, code, target }: ContractFormProps) {
  useAbis()
  const own = [abiOf(address), target === null ? null : abiOf(target.address), abiOfAll()]
  const registered = functionsOf(own.flatMap((abi) => abi ?? []))
  const known = functionsIn(target?.code ?? code)
  const isKnown = new Map([
    ...known.map((item) => [selectorOf(item), true] as const),
    ...registered.map((item) => [selectorOf(item), false] as const),
  ])
  // One form for each selector: a registered ABI has the names of the contract itself.
  const functions = [...new Map([...known, ...registered].map((item) => [selectorOf(item), item])).values()]
  if (functions.length === 0) {
    return <p class="soft">Register the ABI of this contract to read it and to send it transactions.</p>
  }
  const [reads, writes] = [functions.filter(isRead), functions.filter((item) => !isRead(item))]
  const shared = { address, target: target?.address ?? null, isKnown }
  return (
    <div class="functions">
      <FunctionList title="Read" functions={reads} {...shared} />
      <FunctionList title="Write" functions={writes} {...shared} />
    </div>
  )
}

function isRead({ stateMutability }: AbiFunction): boolean {
  return stateMutability === 'view' || stateMutability === 'pure'
}

interface FunctionListProps {
  readonly title: string
  readonly functions: readonly AbiFunction[]
  readonly address: string
  readonly target: string | null
  /** by selector: true if the function comes from a well-known ABI */
  readonly isKnown: ReadonlyMap<string, boolean>
}

function FunctionList({ title, functions, address, target, isKnown }: FunctionListProps) {
  if (functions.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      {functions.map((item) => (
        <FunctionForm
          key={formatAbiItem(item, { includeName: true })}
          item={item}
          address={address}
          target={target}
          isKnown={isKnown.get(selectorOf(item)) === true}
        />
      ))}
    </section>
  )
}

type Outcome =
  | { readonly kind: 'values'; readonly values: readonly unknown[] }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'sent'; readonly hash: string }
  | { readonly kind: 'error'; readonly text: string }

interface FunctionFormProps {
  readonly item: AbiFunction
  readonly address: string
  readonly target: string | null
  readonly isKnown: boolean
}

function FunctionForm({ item, address, target, isKnown }: FunctionFormProps) {
  const [texts, setTexts] = useState<readonly string[]>(() => item.inputs.map(() => ''))
  const [ether, setEther] = useState('')
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      const data = encoded(item, texts)
      if (isRead(item)) return setOutcome({ kind: 'values', values: await callFunction(item, address, data) })
      const value = parseEther(ether)
      setOutcome({ kind: 'waiting' })
      setOutcome({ kind: 'sent', hash: await sendThroughWallet({ to: address, data, value: `0x${value.toString(16)}` }) })
    } catch (error) {
      setOutcome({ kind: 'error', text: messageOf(error, address, target) })
    }
  }
  return (
    <details class="fold" data-testid="function" data-name={item.name}>
      <summary>
        <bdi>{visible(formatAbiItem(item, { includeName: true }))}</bdi> {isKnown && <span class="soft">well-known</span>}
      </summary>
      <form class="call" onSubmit={(event) => void submit(event)}>
        {item.inputs.map((input, i) => (
          <label key={i}>
            <span>
              <bdi>{visible(input.name === undefined || input.name === '' ? String(i) : input.name)}</bdi>{' '}
              <code class="soft">{visible(input.type)}</code>
            </span>
            <input
              value={texts[i]}
              spellcheck={false}
              autocomplete="off"
              data-testid={`input-${i}`}
              onInput={(event) => setTexts(texts.with(i, event.currentTarget.value))}
            />
          </label>
        ))}
        {item.stateMutability === 'payable' && (
          <label>
            <span>
              value <code class="soft">ETH</code>
            </span>
            <input
              value={ether}
              inputMode="decimal"
              autocomplete="off"
              data-testid="value"
              onInput={(event) => setEther(event.currentTarget.value)}
            />
          </label>
        )}
        {isRead(item) || hasFeature('wallet') ? (
          <button type="submit" class="small" data-testid="submit" disabled={outcome?.kind === 'waiting'}>
            {isRead(item) ? 'Read' : 'Send'}
          </button>
        ) : (
          <p class="soft">This server has no wallet to send with.</p>
        )}
      </form>
      {outcome !== null && <OutcomeText outcome={outcome} item={item} />}
    </details>
  )
}

function OutcomeText({ outcome, item }: { outcome: Outcome; item: AbiFunction }) {
  if (outcome.kind === 'error') {
    return (
      <p class="wrong" role="alert" data-testid="outcome-error">
        {visible(outcome.text)}
      </p>
    )
  }
  if (outcome.kind === 'waiting') {
    return (
      <p role="status" data-testid="outcome-waiting">
        The wallet asks for approval:{' '}
        <a href="/wallet" target="_blank" rel="noopener">
          open the wallet
        </a>
        .
      </p>
    )
  }
  if (outcome.kind === 'sent') {
    return (
      <p role="status" data-testid="outcome-sent">
        Sent: <TransactionLink hash={outcome.hash} />
      </p>
    )
  }
  return (
    <dl class="arguments" data-testid="outcome-values">
      {outcome.values.length === 0 && <dd class="soft">It returns nothing.</dd>}
      {outcome.values.map((value, i) => (
        <div key={i}>
          <dt>
            <bdi>{visible(item.outputs[i]?.name ?? '')}</bdi> <code class="soft">{visible(item.outputs[i]?.type ?? '')}</code>
          </dt>
          <dd>
            <Value type={item.outputs[i]?.type ?? ''} value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Throws Error with a sentence that names the input. */
function encoded(item: AbiFunction, texts: readonly string[]): Hex {
  const values = item.inputs.map((input: AbiParameter, i) => parseArgument(input, texts[i] ?? ''))
  const data = item.inputs.length === 0 ? '0x' : encodeAbiParameters(item.inputs, values)
  return `${selectorOf(item)}${data.slice(2)}` as Hex // a selector and encoded values
}

async function callFunction(item: AbiFunction, to: string, data: Hex): Promise<readonly unknown[]> {
  const output = await callPending({ to, data })
  if (item.outputs.length === 0) return []
  try {
    return decodeAbiParameters<readonly AbiParameter[]>(item.outputs, output)
  } catch (error) {
    throw new Error(`The answer ${output.slice(0, 66)} is not what the ABI describes.`, { cause: error })
  }
}

/** Calls at `pending`, which includes promises, or at `latest` if the node has no `pending`. Throws the error of the node. */
async function callPending(call: { readonly to: string; readonly data: Hex }): Promise<Hex> {
  const [pending, latest] = await askAll([
    ['eth_call', call, 'pending'],
    ['eth_call', call, 'latest'],
  ])
  const isRevert = pending instanceof RpcError && (pending.data !== undefined || /revert/i.test(pending.message))
  const answer = pending instanceof Error && !isRevert ? latest : pending
  if (answer instanceof Error) throw answer
  return String(answer) as Hex // the result of the method
}

function messageOf(error: unknown, address: string, target: string | null): string {
  if (!(error instanceof Error)) return String(error)
  const data = error instanceof RpcError ? error.data : null
  const decoded = typeof data === 'string' ? (decodeError(address, data) ?? decodeError(target, data)) : null
  if (decoded === null) return error.message
  return errorSentence(decoded) ?? customErrorText(decoded)
}

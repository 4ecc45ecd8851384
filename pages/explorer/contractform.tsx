import type { AbiFunction, AbiParameter, Hex } from 'viem'
import { decodeAbiParameters, encodeAbiParameters, formatAbiItem } from 'viem/utils'
import { useState } from 'preact/hooks'
import { parseUnits } from 'viem/utils'
import { visible } from '../wallet/format.ts'
import { decodeError, errorSentence, functionsOf, selectorOf } from './abi.ts'
import { abiOf, abiOfAll, useAbis } from './abis.ts'
import { argumentOf } from './argument.ts'
import { Value } from './decoded.tsx'
import { hasFeature } from './features.ts'
import { Refusal, ask } from './node.ts'
import { TransactionLink } from './parts.tsx'
import { sendThroughWallet } from './sending.ts'

/** Functions of a registered ABI: reads are called, writes are sent through the wallet of this server. `target`: the code behind a proxy. */
export function ContractForm({ address, target }: { address: string; target: string | null }) {
  useAbis()
  const items = [...(abiOf(address) ?? []), ...(target === null ? [] : (abiOf(target) ?? [])), ...(abiOfAll() ?? [])]
  const functions = functionsOf(items)
  if (functions.length === 0) {
    return <p class="soft">Register the ABI of this contract to read it and to send it transactions.</p>
  }
  const [reads, writes] = [functions.filter(isRead), functions.filter((item) => !isRead(item))]
  return (
    <div class="functions">
      <FunctionList title="Read" functions={reads} address={address} />
      <FunctionList title="Write" functions={writes} address={address} />
    </div>
  )
}

function isRead({ stateMutability }: AbiFunction): boolean {
  return stateMutability === 'view' || stateMutability === 'pure'
}

function FunctionList({ title, functions, address }: { title: string; functions: readonly AbiFunction[]; address: string }) {
  if (functions.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      {functions.map((item) => (
        <FunctionForm key={formatAbiItem(item, { includeName: true })} item={item} address={address} />
      ))}
    </section>
  )
}

type Outcome =
  | { readonly kind: 'values'; readonly values: readonly unknown[] }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'sent'; readonly hash: string }
  | { readonly kind: 'error'; readonly text: string }

function FunctionForm({ item, address }: { item: AbiFunction; address: string }) {
  const [texts, setTexts] = useState<readonly string[]>(() => item.inputs.map(() => ''))
  const [ether, setEther] = useState('')
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    try {
      const data = encoded(item, texts)
      if (isRead(item)) return setOutcome({ kind: 'values', values: await callFunction(item, address, data) })
      setOutcome({ kind: 'waiting' })
      const value = ether.trim() === '' ? 0n : parseUnits(ether.trim(), 18)
      setOutcome({ kind: 'sent', hash: await sendThroughWallet({ to: address, data, value: `0x${value.toString(16)}` }) })
    } catch (error) {
      setOutcome({ kind: 'error', text: messageOf(error, address) })
    }
  }
  return (
    <details class="fold" data-testid="function" data-name={item.name}>
      <summary>
        <bdi>{visible(formatAbiItem(item, { includeName: true }))}</bdi>
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
          <button type="submit" class="small" data-testid="submit">
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
  const values = item.inputs.map((input: AbiParameter, i) => argumentOf(input, texts[i] ?? ''))
  const data = item.inputs.length === 0 ? '0x' : encodeAbiParameters(item.inputs, values)
  return `${selectorOf(item)}${data.slice(2)}` as Hex // a selector and encoded values
}

async function callFunction(item: AbiFunction, to: string, data: Hex): Promise<readonly unknown[]> {
  const output = await ask<Hex>(['eth_call', { to, data }, 'pending'])
  if (item.outputs.length === 0) return []
  try {
    return decodeAbiParameters<readonly AbiParameter[]>(item.outputs, output)
  } catch (error) {
    throw new Error(`The answer ${output.slice(0, 66)} is not what the ABI describes.`, { cause: error })
  }
}

function messageOf(error: unknown, address: string): string {
  if (!(error instanceof Error)) return String(error)
  const data = error instanceof Refusal ? error.data : null
  const decoded = typeof data === 'string' ? decodeError(address, data) : null
  if (decoded === null) return error.message
  return errorSentence(decoded) ?? `${decoded.name}(${decoded.inputs.map(({ value }) => String(value)).join(', ')})`
}

import { useState } from 'preact/hooks'
import type { Abi } from 'viem'
import { visible } from '../wallet/format.ts'
import { functionsOf } from './abi.ts'
import { abiOf, abiOfAll, registerAbi, removeAbi, useAbis } from './abis.ts'

/** Registers an ABI in this browser, for one address or for all. */
export function AbiForm({ address }: { address: string }) {
  useAbis()
  const [text, setText] = useState('')
  const [isForAll, setForAll] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const own = abiOf(address)
  const all = abiOfAll()
  const register = (event: Event) => {
    event.preventDefault()
    try {
      registerAbi(isForAll ? null : address, text)
      setText('')
      setError(null)
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem))
    }
  }
  return (
    <details class="fold" data-testid="abi">
      <summary>{own === null ? 'Register an ABI for this address' : `Registered ABI: ${countText(own)}`}</summary>
      {own !== null && (
        <p>
          <button type="button" class="small" data-testid="abi-remove" onClick={() => removeAbi(address)}>
            Remove
          </button>
        </p>
      )}
      {all !== null && (
        <p>
          For all addresses: {countText(all)}{' '}
          <button type="button" class="small" data-testid="abi-remove-all" onClick={() => removeAbi(null)}>
            Remove
          </button>
        </p>
      )}
      <form class="abi" onSubmit={register}>
        <label>
          <span class="soft">JSON ABI, artifact, or lines such as: function pay(address to)</span>
          <textarea
            rows={6}
            value={text}
            spellcheck={false}
            data-testid="abi-text"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isForAll}
            data-testid="abi-for-all"
            onChange={(event) => setForAll(event.currentTarget.checked)}
          />
          for all addresses
        </label>
        <button type="submit" class="small" data-testid="abi-register">
          Register
        </button>
        {error !== null && (
          <p class="wrong" role="alert" data-testid="abi-error">
            {visible(error)}
          </p>
        )}
      </form>
    </details>
  )
}

function countText(abi: Abi): string {
  return `${functionsOf(abi).length} functions, ${abi.length} items`
}

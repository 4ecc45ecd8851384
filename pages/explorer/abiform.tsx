import { useState } from 'preact/hooks'
import { visible } from '../wallet/format.ts'
import { abiOf, registerAbi, removeAbi, useAbis } from './abis.ts'
import { functionsOf } from './abi.ts'

/** Registers an ABI for an address in this browser. */
export function AbiForm({ address }: { address: string }) {
  useAbis()
  const [text, setText] = useState('')
  const [error, setError] = useState<string | null>(null)
  const known = abiOf(address)
  const register = (event: Event) => {
    event.preventDefault()
    try {
      registerAbi(address, text)
      setText('')
      setError(null)
    } catch (problem) {
      setError(problem instanceof Error ? problem.message : String(problem))
    }
  }
  return (
    <details class="fold" data-testid="abi">
      <summary>
        {known === null
          ? 'Register an ABI for this address'
          : `Registered ABI: ${functionsOf(known).length} functions, ${known.length} items`}
      </summary>
      {known !== null && (
        <p>
          <button type="button" class="small" data-testid="abi-remove" onClick={() => removeAbi(address)}>
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

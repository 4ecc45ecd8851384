import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { createPocketchain } from '../index.ts'
import { Address, DecodeError, ENTRY_POINTS, Hex, entryPoint } from '../eth/index.ts'
import { BundlerNode } from './node.ts'
import { SOURCE, SIMULATOR_CODE, SimulatedCalls } from './simulatedcalls.ts'

interface Solc {
  readonly compile: (input: string) => string
}

interface Compiled {
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, { readonly evm: { readonly bytecode: { readonly object: string } } }>>>
  >
}

describe('the code at the address of the EntryPoint in a simulation', () => {
  it('equals the compiled source', () => {
    const solc = createRequire(import.meta.url)('solc') as Solc // it has no types
    const input = {
      language: 'Yul',
      sources: { steps: { content: SOURCE } },
      settings: { evmVersion: 'shanghai', optimizer: { enabled: true }, outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
    }
    const { contracts } = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled // the requested output selection
    expect(`0x${contracts['steps']?.['Steps']?.evm.bytecode.object}`).toBe(SIMULATOR_CODE)
  })

  it('makes calls with the given gas and delegates all others to the EntryPoint', async () => {
    await using node = await createPocketchain({ wallet: false, bundler: false })
    const view = new BundlerNode(node)
    const [caller, reverts] = [Address.from(`0x${'a5'.repeat(20)}`), Address.from(`0x${'fe'.repeat(20)}`)]
    // Calls getNonce of its caller, as an account might, and returns the result.
    const getNonce = '0x6335567e1a60e01b5f5260405f60445f5f335af1503d5f5f3e3d5ff3'
    const overrides = { [caller]: { code: getNonce }, [reverts]: { code: '0x60015f525f6020fd' } } as const
    const steps = [
      { to: caller, gas: 100_000n, data: new Uint8Array(0) },
      { to: reverts, gas: 100_000n, data: new Uint8Array(3) },
      { to: caller, gas: 10n, data: new Uint8Array(0) },
    ]
    const results = await view.simulateCalls(entryPoint('0.8'), steps, overrides)
    expect(results.map(({ success }) => success)).toEqual([true, false, false])
    expect(results[0]?.output).toEqual(new Uint8Array(32))
    expect(results[2]?.gasUsed).toBeLessThan(3_000n)
    expect(await view.code(ENTRY_POINTS['0.8'])).not.toBe(SIMULATOR_CODE)
  })

  it('a node that ignores overrides is detected', () => {
    expect(() => SimulatedCalls.decode(new Uint8Array(0), 1)).toThrow(DecodeError)
  })

  it('calls are encoded without padding', () => {
    const list = SimulatedCalls.encode([{ to: Address.zero, gas: 1n, data: Uint8Array.of(7) }])
    expect(Hex.toBytes(list)).toHaveLength(97)
  })
})

// Compiles the Solidity sources to runtime and creation code.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const solc = require('solc')

/**
 * Compiles `src/<source>.sol` for every name given.
 * @returns {{ runtimeCode(source: string, contract: string): string, creationCode(source: string, contract: string): string }} as 0x hex
 * @throws {Error} with the compiler's messages; warnings count as errors
 */
export function compileSources(sources) {
  const output = JSON.parse(solc.compile(JSON.stringify(input(sources)), { import: findImport }))
  const complaints = (output.errors ?? []).filter(({ errorCode }) => !ACCEPTED_WARNINGS.has(errorCode))
  if (complaints.length > 0) throw new Error(complaints.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const compiled = (source, contract) => {
    const found = output.contracts[`src/${source}.sol`]?.[contract]
    if (found === undefined) throw new Error(`no contract ${contract} in the compiler's output`)
    return found.evm
  }
  return {
    runtimeCode: (source, contract) => runtimeCode(compiled(source, contract), contract),
    creationCode: (source, contract) => `0x${compiled(source, contract).bytecode.object}`,
  }
}

/** 9207: `transfer` is deprecated; WETH9 needs its 2300 gas stipend. */
const ACCEPTED_WARNINGS = new Set(['9207'])

function input(sources) {
  return {
    language: 'Solidity',
    sources: Object.fromEntries(sources.map((source) => [`src/${source}.sol`, { content: readSource(`src/${source}.sol`) }])),
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      // Without metadata the bytecode depends on neither paths nor comments.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.deployedBytecode', 'evm.bytecode.object'] } },
    },
  }
}

function findImport(path) {
  return { contents: path.startsWith('@') ? readFileSync(require.resolve(path), 'utf8') : readSource(path) }
}

function readSource(path) {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function runtimeCode(evm, contract) {
  const { object, immutableReferences } = evm.deployedBytecode
  // Immutables are set by a constructor, which genesis does not run.
  if (Object.keys(immutableReferences ?? {}).length > 0) throw new Error(`${contract} has immutables`)
  return `0x${object}`
}

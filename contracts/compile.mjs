// Our Solidity sources to runtime code.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const solc = require('solc')

/**
 * Compiles `src/<source>.sol` for every name given.
 * @returns {(source: string, contract: string) => string} runtime code as 0x hex
 * @throws {Error} with the compiler's own messages; a warning counts, so that none is overlooked
 */
export function compileSources(sources) {
  const output = JSON.parse(solc.compile(JSON.stringify(input(sources)), { import: findImport }))
  const complaints = (output.errors ?? []).filter(({ errorCode }) => !ACCEPTED_WARNINGS.has(errorCode))
  if (complaints.length > 0) throw new Error(complaints.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return (source, contract) => runtimeCode(output.contracts[`src/${source}.sol`]?.[contract], contract)
}

/** 9207: `transfer` will leave the language; WETH9 keeps its 2300 gas on purpose. */
const ACCEPTED_WARNINGS = new Set(['9207'])

function input(sources) {
  return {
    language: 'Solidity',
    sources: Object.fromEntries(sources.map((source) => [`src/${source}.sol`, { content: readSource(`src/${source}.sol`) }])),
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      // No trailing metadata: the same sources give the same bytes wherever they lie.
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.deployedBytecode'] } },
    },
  }
}

function findImport(path) {
  return { contents: path.startsWith('@') ? readFileSync(require.resolve(path), 'utf8') : readSource(path) }
}

function readSource(path) {
  return readFileSync(new URL(path, import.meta.url), 'utf8')
}

function runtimeCode(compiled, contract) {
  if (compiled === undefined) throw new Error(`no contract ${contract} in the compiler's output`)
  const { object, immutableReferences } = compiled.evm.deployedBytecode
  // An immutable is filled in by a constructor, and genesis runs none.
  if (Object.keys(immutableReferences ?? {}).length > 0) throw new Error(`${contract} has immutables`)
  return `0x${object}`
}

// The contracts of the benchmark: the sources in contracts/, and ERC-4337's from the npm package (GPL-3.0, compiled here and not kept in
// the repository). Compiled code is cached under node_modules.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const CACHE = new URL('../node_modules/.cache/bench/', import.meta.url)

/** @typedef {{ abi: readonly unknown[], bytecode: `0x${string}` }} Compiled */

const OWN = { Token: 'Token', Maths: 'Maths', Loops: 'Loops', RayTracer: 'RayTracer' }
const ACCOUNTS = {
  EntryPointSimulations: '@account-abstraction/contracts/core/EntryPointSimulations',
  SimpleAccountFactory: '@account-abstraction/contracts/samples/SimpleAccountFactory',
  SimpleAccount: '@account-abstraction/contracts/samples/SimpleAccount',
}

/**
 * Creation code and ABI of every contract. The first run takes about 20 s, mostly for EntryPoint, which compiles only via Yul.
 * @returns {Record<string, Compiled>} by the contract's name
 */
export function contracts() {
  return { ...cached('own', OWN, { viaIR: false }), ...cached('accounts', ACCOUNTS, { viaIR: true }) }
}

/** The contracts of the history, without the account-abstraction packages. @returns {Record<'Events' | 'Token', Compiled>} */
export function historyContracts() {
  return cached('history', { Events: 'Events', Token: 'Token' }, { viaIR: false })
}

/** @template {Record<string, string>} T @returns {Record<keyof T, Compiled>} */
function cached(/** @type {string} */ name, /** @type {T} */ places, /** @type {{ viaIR: boolean }} */ how) {
  const sources = Object.values(places).map((place) => source(`${place}.sol`))
  const compiler = require('solc/package.json').version
  const key = createHash('sha256')
    .update(JSON.stringify([compiler, places, how, sources]))
    .digest('hex')
    .slice(0, 16)
  const file = new URL(`${name}-${key}.json`, CACHE)
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    const compiled = compile(places, how)
    mkdirSync(CACHE, { recursive: true })
    writeFileSync(file, JSON.stringify(compiled))
    return compiled
  }
}

function compile(/** @type {Record<string, string>} */ places, { viaIR }) {
  process.stderr.write(`bench: compiling ${Object.keys(places).join(', ')}\n`)
  const settings = {
    optimizer: { enabled: true, runs: 1_000 },
    viaIR,
    evmVersion: 'cancun',
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  }
  const sources = Object.fromEntries(Object.values(places).map((place) => [`${place}.sol`, { content: source(`${place}.sol`) }]))
  const input = JSON.stringify({ language: 'Solidity', sources, settings })
  const output = JSON.parse(require('solc').compile(input, { import: (path) => ({ contents: source(path) }) }))
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  return Object.fromEntries(
    Object.entries(places).map(([contract, place]) => {
      const { abi, evm } = output.contracts[`${place}.sol`][contract]
      return [contract, { abi, bytecode: `0x${evm.bytecode.object}` }]
    }),
  )
}

/** A file of a package, or of this repository. The account-abstraction package is installed under its version's alias. */
function source(/** @type {string} */ path) {
  if (!path.startsWith('@')) return readFileSync(new URL(`contracts/${path}`, import.meta.url), 'utf8')
  return readFileSync(require.resolve(path.replace('@account-abstraction/contracts', 'aa07')), 'utf8')
}

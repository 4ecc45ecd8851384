// Writes the code of the default genesis: node contracts/build.mjs, or with --check to prove that the committed file equals a rebuild.
import { readFileSync, writeFileSync } from 'node:fs'
import { compileSources } from './compile.mjs'
import { addressesIn, deployCreate2, deployKeyless, emptyChain, readAccount, word } from './snapshot.mjs'
import { compiled, create2, deployer, keyless } from './table.mjs'

const ROOT = new URL('..', import.meta.url)
/** Data of the room chain/, written from outside it. */
const ARTIFACT = new URL('src/chain/predeploys.json', ROOT)
const CHAIN_ID = 31337
/** Any other id: what differs from it depends on the chain id. */
const OTHER_CHAIN_ID = 8453

const text = print(await build())
if (!process.argv.includes('--check')) {
  writeFileSync(ARTIFACT, text)
  console.log(`src/chain/predeploys.json: ${text.length} bytes`)
} else if (readFileSync(ARTIFACT, 'utf8') !== text) {
  console.error('src/chain/predeploys.json differs from a rebuild: run node contracts/build.mjs')
  process.exitCode = 1
}

async function build() {
  const foreign = await deployAll(CHAIN_ID)
  const elsewhere = await deployAll(OTHER_CHAIN_ID)
  const dependent = new Set(foreign.filter((account, i) => account.code !== elsewhere[i].code).map(({ name }) => name))
  const replaced = create2.filter(({ name }) => dependent.has(name))
  // Whatever depends on the chain id must be recomputable from the list that the artifact carries.
  if (replaced.length !== dependent.size) throw new Error(`depend on the chain id: ${[...dependent].join(', ')}`)
  return {
    accounts: [...compileAll(), ...foreign],
    create2: replaced.map(({ name, address, salt, initCode, licence, origin }) => ({
      name,
      address,
      deployer,
      salt,
      initCode,
      licence,
      origin,
    })),
  }
}

function compileAll() {
  const runtimeCode = compileSources([...new Set(compiled.map(({ source }) => source))])
  return compiled.map(({ name, contract, source, address, storage, licence, op }) => ({
    name,
    address,
    nonce: 1,
    code: runtimeCode(source, contract),
    ...(storage && { storage: words(storage) }),
    licence,
    origin: `contracts/src/${source}.sol`,
    op,
  }))
}

/** The accounts that the foreign contracts leave on a chain with this id. */
async function deployAll(chainId) {
  const evm = await emptyChain(chainId)
  const owners = new Map()
  for (const row of keyless) {
    const sender = await deployKeyless(evm, row)
    owners.set(row.address, row)
    // The sender's used nonce keeps the published transaction from being sent again.
    owners.set(sender, { ...row, name: `${row.name}, sender` })
  }
  for (const row of create2) {
    const before = addressesIn(evm)
    await deployCreate2(evm, row)
    const children = addressesIn(evm).filter((address) => !before.includes(address) && address !== row.address)
    if (children.length !== (row.child ? 1 : 0)) throw new Error(`${row.name} created ${children.join(', ') || 'nothing'}`)
    owners.set(row.address, row)
    for (const child of children) owners.set(child, { ...row, name: row.child })
  }
  const unknown = addressesIn(evm).filter((address) => !owners.has(address))
  if (unknown.length > 0) throw new Error(`nobody owns ${unknown.join(', ')}`)
  return Promise.all([...owners].map(async ([address, row]) => foreignAccount(evm, address, row)))
}

async function foreignAccount(evm, address, { name, licence, origin, op }) {
  return { name, address, ...(await readAccount(evm, address)), licence, origin, op }
}

function words(storage) {
  return Object.fromEntries(Object.entries(storage).map(([slot, value]) => [word(slot), word(value)]))
}

/** One account a line, so that a change shows as one. */
function print(artifact) {
  const list = (rows) => rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')
  return `{\n  "accounts": [\n${list(artifact.accounts)}\n  ],\n  "create2": [\n${list(artifact.create2)}\n  ]\n}\n`
}

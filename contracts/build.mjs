// node contracts/build.mjs [--check]: writes the contract code of the default genesis and of accounts; --check verifies that the committed
// files equal a rebuild.
import { readFileSync, writeFileSync } from 'node:fs'
import { keccak256 } from 'viem'
import { compileSources } from './compile.mjs'
import { addressesIn, createPublished, deployCreate2, deployKeyless, emptyChain, readAccount, word } from './snapshot.mjs'
import { compiled, create2, delegate, deployer, keyless, paymasters, published, smartAccounts } from './table.mjs'

const ROOT = new URL('..', import.meta.url)
/** Artifacts in chain/, wallet/ and paymaster/. */
const GENESIS = 'src/chain/genesis/predeploys.json'
const SMART_ACCOUNTS = 'src/chain/genesis/smartaccounts.json'
const DELEGATE = 'src/wallet/delegate.json'
const PAYMASTERS = 'src/paymaster/paymasters.json'
const CHAIN_ID = 31337
/** Any other id, to find code that depends on the chain id. */
const OTHER_CHAIN_ID = 8453

const files = await build()
for (const [file, text] of Object.entries(files)) {
  const path = new URL(file, ROOT)
  if (!process.argv.includes('--check')) {
    writeFileSync(path, text)
    console.log(`${file}: ${text.length} bytes`)
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`${file} differs from a rebuild: run node contracts/build.mjs`)
    process.exitCode = 1
  }
}

async function build() {
  const code = compileSources([...new Set([...compiled, ...create2, ...paymasters].flatMap(({ source }) => source ?? []))])
  const deployed = create2.map((row) => (row.source === undefined ? row : { ...row, initCode: code.creationCode(row.source, row.name) }))
  const { optional, ...artifact } = await genesis(code, deployed)
  return {
    [GENESIS]: print(artifact),
    [SMART_ACCOUNTS]: print({ accounts: optional }),
    [DELEGATE]: `${JSON.stringify(recipe(deployed), null, 2)}\n`,
    [PAYMASTERS]: `${JSON.stringify(sponsors(code), null, 2)}\n`,
  }
}

async function genesis(code, deployed) {
  const { accounts: foreign, optional } = await deployAll(CHAIN_ID, deployed)
  const elsewhere = await deployAll(OTHER_CHAIN_ID, deployed)
  const differing = (one, other) => one.filter((account, i) => account.code !== other[i].code).map(({ name }) => name)
  const dependent = new Set([...differing(foreign, elsewhere.accounts), ...differing(optional, elsewhere.optional)])
  const replaced = deployed.filter(({ name, child }) => dependent.has(name) || dependent.has(child))
  const replaceable = new Set(replaced.flatMap(({ name, child }) => [name, child]))
  // Code that depends on the chain id must be in the artifact's `create2` list, from which it can be recomputed.
  if ([...dependent].some((name) => !replaceable.has(name))) throw new Error(`depend on the chain id: ${[...dependent].join(', ')}`)
  return {
    accounts: [...predeployed(code), ...(await publishedAccounts()), ...foreign].map(withCodeHash),
    optional: optional.map(withCodeHash),
    create2: replaced.map(({ name, address, deployer, salt, initCode, licence, origin }) => ({
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

/** For deploying the account contract on a chain that lacks it: call `deployer` with `salt` followed by `initCode`. */
function recipe(deployed) {
  const { name, address, salt, initCode } = deployed.find((row) => row.name === delegate.name)
  return { name, address, deployer, salt, initCode }
}

/** For deploying a paymaster: call `deployer` with `salt`, `initCode` and the ABI encoding of (address owner, address signer). */
function sponsors(code) {
  const addressOf = (entryPoint) => create2.find(({ name }) => name === entryPoint).address
  return {
    deployer,
    salt: word('0x0'),
    paymasters: paymasters.map(({ version, entryPoint, source, contract }) => ({
      version,
      entryPoint: addressOf(entryPoint),
      initCode: code.creationCode(source, contract),
    })),
  }
}

function predeployed(code) {
  return compiled.map(({ name, contract, source, address, storage, licence, op }) => ({
    name,
    address,
    nonce: 1,
    code: code.runtimeCode(source, contract),
    ...(storage && { storage: words(storage) }),
    licence,
    origin: `contracts/src/${source}.sol`,
    op,
  }))
}

/** @throws {Error} an account depends on the chain id, and could not be recomputed */
async function publishedAccounts() {
  const accounts = []
  for (const row of published) {
    const { name, address, licence, origin, op } = row
    const account = await createPublished(row, CHAIN_ID)
    const elsewhere = await createPublished(row, OTHER_CHAIN_ID)
    if (JSON.stringify(account) !== JSON.stringify(elsewhere)) throw new Error(`${name} depends on the chain id`)
    accounts.push({ name, address, ...account, licence, origin, op })
  }
  return accounts
}

/** A start does not hash the codes: 1.5 to 5 ms for all of them. */
function withCodeHash({ name, address, nonce, code, ...rest }) {
  return { name, address, nonce, code, ...(code !== '0x' && { codeHash: keccak256(code) }), ...rest }
}

/** The accounts that the third-party contracts create on a chain with this id, and those that the smart accounts add. */
async function deployAll(chainId, deployed) {
  const evm = await emptyChain(chainId)
  const owners = new Map()
  for (const row of keyless) {
    const sender = await deployKeyless(evm, row)
    owners.set(row.address, row)
    // The sender's used nonce prevents a second deployment by the published transaction.
    owners.set(sender, { ...row, name: `${row.name}, sender` })
  }
  await deployRows(evm, deployed, owners)
  // Read before the smart accounts are deployed, which changes the nonces of the deployers.
  const accounts = await accountsOf(evm, owners)
  const ownersOfOptional = new Map()
  await deployRows(evm, smartAccounts, ownersOfOptional)
  const unknown = addressesIn(evm).filter((address) => !owners.has(address) && !ownersOfOptional.has(address))
  if (unknown.length > 0) throw new Error(`nobody owns ${unknown.join(', ')}`)
  return { accounts, optional: await accountsOf(evm, ownersOfOptional) }
}

/** Adds the row of each created account to `owners`. */
async function deployRows(evm, rows, owners) {
  for (const row of rows) {
    const before = addressesIn(evm)
    await deployCreate2(evm, row)
    const children = addressesIn(evm).filter((address) => !before.includes(address) && address !== row.address)
    if (children.length !== (row.child ? 1 : 0)) throw new Error(`${row.name} created ${children.join(', ') || 'nothing'}`)
    owners.set(row.address, row)
    for (const child of children) owners.set(child, { ...row, name: row.child })
  }
}

function accountsOf(evm, owners) {
  return Promise.all([...owners].map(async ([address, row]) => foreignAccount(evm, address, row)))
}

async function foreignAccount(evm, address, { name, licence, origin, op }) {
  return { name, address, ...(await readAccount(evm, address)), licence, origin, op }
}

function words(storage) {
  return Object.fromEntries(Object.entries(storage).map(([slot, value]) => [word(slot), word(value)]))
}

/** One account per line, for readable diffs. */
function print(artifact) {
  const lists = Object.entries(artifact).map(
    ([name, rows]) => `  "${name}": [\n${rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n')}\n  ]`,
  )
  return `{\n${lists.join(',\n')}\n}\n`
}

// Writes src/chain/genesis/sponsor.json: the accounts of the sponsor's paymasters in block 0 of the default chain. Run it after a change of a paymaster or an
// EntryPoint (test/sponsor/paymaster.test.ts fails then), after a build: `node scripts/sponsor.mjs`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const built = (/** @type {string} */ path) => import(pathToFileURL(join(ROOT, 'dist', path)).href)
const [{ createPocketchain }, chain, eth, paymaster] = await Promise.all(
  ['index.js', 'chain/index.js', 'eth/index.js', 'paymaster/index.js'].map(built),
)

const node = await createPocketchain({ workers: 0, wallet: false, bundler: false })
const { owner, signer } = await node.request({ method: 'pocketchain_sponsorStatus' })
await node.close()

const deployments = paymaster.sponsorDeployments(eth.Address.from(owner), eth.Address.from(signer))
const genesis = (/** @type {unknown[]} */ calls) =>
  chain.defaultGenesis({
    chainId: 31_337,
    timestamp: 0,
    hardfork: chain.DEFAULT_HARDFORK,
    gasLimit: 60_000_000n,
    baseFeePerGas: 0n,
    feeParameters: chain.DEFAULT_FEE_PARAMETERS,
    accounts: [],
    codeSizeLimit: chain.DEFAULT_CODE_SIZE_LIMIT,
    transactionGasCap: null,
    calls,
  }).state
const before = genesis([])
const after = genesis(
  deployments.flatMap((/** @type {any} */ each) => [
    { to: each.deployer, data: each.data },
    { ...paymaster.depositCall(each), value: 100n * 10n ** 18n },
  ]),
)

const accounts = []
for (const [address, account] of after.accounts) {
  const was = before.accounts.get(address)
  const slots = [...(after.storage.get(address) ?? [])].filter(([slot, value]) => before.storage.get(address)?.get(slot) !== value)
  if (was?.nonce === account.nonce && was.balance === account.balance && was.codeHash === account.codeHash && slots.length === 0) continue
  accounts.push({
    address,
    nonce: Number(account.nonce),
    balance: String(account.balance),
    ...(was?.codeHash === account.codeHash ? null : { code: eth.Hex.fromBytes(after.codes.get(account.codeHash)) }),
    ...(slots.length === 0 ? null : { storage: Object.fromEntries(slots.map(([slot, value]) => [slot, eth.Hex.fromQuantity(value)])) }),
  })
}
accounts.sort((a, b) => (a.address < b.address ? -1 : 1))
writeFileSync(join(ROOT, 'src', 'chain', 'genesis', 'sponsor.json'), `${JSON.stringify({ accounts }, null, 2)}\n`)

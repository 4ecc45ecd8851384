// Replays a captured test run in a node of this process: `node captureinprocess.mjs ours|hardhat FILE DIST`. Prints { errors, cpuSeconds }.
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { HARDFORK, readCapture, replay } from './capture.mjs'

const GAS_LIMIT = 100_000_000n

const [name, file, dist] = process.argv.slice(2)
const capture = readCapture(file)
const provider = name === 'ours' ? await pocketchain(capture) : await hardhat(capture)
const errors = await replay(capture, (request) =>
  provider.request(request).then(
    (result) => ({ result }),
    (error) => ({ error }),
  ),
)
const { user, system } = process.cpuUsage()
process.stdout.write(`${JSON.stringify({ errors, cpuSeconds: (user + system) / 1e6 })}\n`)
process.exit(0)

async function pocketchain({ chainId }) {
  const { createPocketchain } = await import(pathToFileURL(`${dist}/exports/index.js`).href)
  return await createPocketchain({ cadence: 'instant', accounts: 20, chainId, hardfork: HARDFORK, gasLimit: GAS_LIMIT, chainType: 'l1' })
}

async function hardhat({ chainId }) {
  const folder = fileURLToPath(new URL('peers/hardhat3', import.meta.url))
  const { createHardhatRuntimeEnvironment } = await import(createRequire(`${folder}/`).resolve('hardhat/hre'))
  const chain = { chainId, hardfork: HARDFORK, blockGasLimit: GAS_LIMIT, allowUnlimitedContractSize: true }
  const captured = { type: 'edr-simulated', chainType: 'l1', ...chain }
  const environment = await createHardhatRuntimeEnvironment({ networks: { captured } }, {}, folder)
  const { provider } = await environment.network.create('captured')
  return provider
}

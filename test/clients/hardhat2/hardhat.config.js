const { cpSync } = require('node:fs')
const { createRequire } = require('node:module')
const { join } = require('node:path')
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')

for (const plugin of [
  '@nomicfoundation/hardhat-ethers',
  '@nomicfoundation/hardhat-chai-matchers',
  '@nomicfoundation/hardhat-network-helpers',
  '@nomicfoundation/hardhat-viem',
  '@nomicfoundation/hardhat-ignition-ethers',
  'hardhat-deploy',
]) {
  require(plugin)
}

// Hardhat refuses sources outside of its project.
const sources = join(__dirname, 'cache', 'contracts')
cpSync(join(__dirname, '..', 'contracts'), sources, { recursive: true })

// The compiler of this repository's node_modules: Hardhat downloads its own otherwise.
const solc = createRequire(require.resolve('../../../package.json'))
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  compilerPath: solc.resolve('solc/soljson.js'),
  isSolcJs: true,
  version: '0.8.37',
  longVersion: solc('solc').version().replace('.Emscripten.clang', ''),
}))

module.exports = {
  solidity: { version: '0.8.37', settings: { evmVersion: 'cancun' } },
  paths: { sources },
  defaultNetwork: 'node',
  networks: { node: { url: process.env.NODE_URL ?? 'http://127.0.0.1:8545', saveDeployments: false } },
  namedAccounts: { deployer: 0 },
  mocha: { reporter: 'json', timeout: 60_000 },
}

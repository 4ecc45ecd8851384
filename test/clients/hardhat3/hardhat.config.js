import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'hardhat/config'
import ethers from '@nomicfoundation/hardhat-ethers'
import chaiMatchers from '@nomicfoundation/hardhat-ethers-chai-matchers'
import ignition from '@nomicfoundation/hardhat-ignition-ethers'
import mocha from '@nomicfoundation/hardhat-mocha'
import helpers from '@nomicfoundation/hardhat-network-helpers'
import viem from '@nomicfoundation/hardhat-viem'
import viemAssertions from '@nomicfoundation/hardhat-viem-assertions'

// Hardhat refuses sources outside of its project.
const sources = fileURLToPath(new URL('cache/contracts', import.meta.url))
cpSync(fileURLToPath(new URL('../contracts', import.meta.url)), sources, { recursive: true })

export default defineConfig({
  plugins: [ethers, chaiMatchers, ignition, mocha, helpers, viem, viemAssertions],
  solidity: {
    version: '0.8.37',
    // Hardhat downloads its own otherwise.
    path: createRequire(new URL('../../../package.json', import.meta.url)).resolve('solc/soljson.js'),
    settings: { evmVersion: 'cancun' },
  },
  paths: { sources },
  networks: {
    local: { type: 'http', url: process.env.NODE_URL ?? 'http://127.0.0.1:8545' },
    forked: { type: 'edr-simulated', forking: { url: process.env.NODE_URL ?? 'http://127.0.0.1:8545' } },
  },
  // Hardhat refuses to execute on an old block of a chain whose hard forks are not listed.
  chainDescriptors: { 31337: { name: 'local', hardforkHistory: { cancun: { blockNumber: 0 } } } },
  test: { mocha: { reporter: 'json', timeout: 60_000 } },
})

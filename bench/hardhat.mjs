// Hardhat 2 in a separate package (peers/), installed only for measurements.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SetUpFailed, npm } from '../scripts/setup.mjs'

export const PEERS = fileURLToPath(new URL('peers', import.meta.url))

/** Installs Hardhat unless the required version is present. @returns {string | null} why it cannot be measured, or null */
export function installHardhat() {
  const wanted = JSON.parse(readFileSync(join(PEERS, 'package.json'), 'utf8')).dependencies.hardhat
  if (installedVersion() === wanted) return null
  process.stderr.write(`bench: installing Hardhat ${wanted} into bench/peers, once (220 packages, some 15 s)\n`)
  try {
    npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'], PEERS)
  } catch (error) {
    if (!(error instanceof SetUpFailed)) throw error
    return `Hardhat ${wanted} could not be installed (${error.message}); try "npm ci" in bench/peers, or leave it out with --peers anvil`
  }
  return installedVersion() === wanted ? null : `npm installed Hardhat ${installedVersion()} and not ${wanted}`
}

function installedVersion() {
  const file = join(PEERS, 'node_modules', 'hardhat', 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined
}

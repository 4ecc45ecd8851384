// Packs the package and checks what the tarball contains.
import { mkdtempSync, readdirSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { ROOT, npm } from './setup.mjs'

/** 2.0 MB in version 0.2.0; 2.8 with the fork, the explorer, the fleet, and the bundles of the exports beside their modules (0.6 MB). */
export const TARBALL_BYTES = 3_200_000
/** 7.5 MB in version 0.2.0; 11.0 with the same (2.5 MB). */
export const UNPACKED_BYTES = 12_000_000

/** Paths that may be in the tarball; one of them has to match. */
const ALLOWED = [
  /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|SECURITY\.md)$/,
  /^contracts\/LICENCES\.md$/,
  /^docs\/([a-z]+\.md|openrpc\.json)$/,
  /^dist\/([a-z0-9]+\/)*[a-z0-9]+\.(js|d\.ts|json)$/,
  /^dist\/exports\/(chunk|rpc-[a-z]+|fleet)-[a-z0-9]+\.js$/,
  /^dist\/cli\/(run-[\w-]+\.cjs|LICENCES\.txt)$/,
  /^dist\/server\/pages\/[a-z]+\.(js|css|html)$/,
]
const FORBIDDEN = /\.(test|fixture)\.|(^|\/)(fixtures|testdata|node_modules)\/|\.map$|\.tgz$/
const REQUIRED = [
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'contracts/LICENCES.md', 'dist/cli/LICENCES.txt', 'docs/guide.md'],
  ...['dist/evm/wasm/fast.js', 'dist/eth/wasm/keccak.js', 'dist/store/wasm/writer.js'], // without them nothing runs
  ...['dist/server/pages/wallet.html', 'dist/server/pages/provider.js', 'dist/server/pages/sponsor.html'],
]

/** @typedef {{ readonly path: string, readonly mode: number, readonly bytes: Uint8Array }} Entry a file of the package */

/** Packs the working tree into an empty folder. @returns {string} the path of the tarball */
export function pack(root = ROOT, folder = mkdtempSync(join(tmpdir(), 'pocketchain-pack-'))) {
  npm(['pack', '--ignore-scripts=false', '--loglevel', 'error', '--pack-destination', folder], root)
  const [name] = readdirSync(folder).filter((file) => file.endsWith('.tgz'))
  if (name === undefined) throw new Error(`npm pack wrote no tarball to ${folder}`)
  return join(folder, name)
}

/** Reads the files of a tarball as npm writes it: ustar, each path below `package/`. @returns {Entry[]} */
export function entriesOf(/** @type {Uint8Array} */ tarball) {
  const archive = gunzipSync(tarball)
  /** @type {Entry[]} */
  const entries = []
  for (let at = 0; at < archive.length && archive[at] !== 0;) {
    const field = (/** @type {number} */ start, /** @type {number} */ length) =>
      (archive.toString('utf8', at + start, at + start + length).split('\0')[0] ?? '').trim()
    const [name, mode, size, type, prefix] = [field(0, 100), field(100, 8), field(124, 12), field(156, 1), field(345, 155)]
    if (type !== '0' && type !== '') throw new Error(`the tarball has an entry of type ${type}, not a file: ${name}`)
    const sizeBytes = Number.parseInt(size, 8)
    const path = (prefix === '' ? name : `${prefix}/${name}`).replace(/^package\//, '')
    entries.push({ path, mode: Number.parseInt(mode, 8), bytes: archive.subarray(at + 512, at + 512 + sizeBytes) })
    at += 512 + Math.ceil(sizeBytes / 512) * 512
  }
  return entries
}

/** Checks a tarball. @returns {string[]} one sentence per problem */
export function problemsOf(/** @type {Uint8Array} */ tarball, machinePaths = [ROOT.replace(/[/\\]$/, ''), homedir()]) {
  const entries = entriesOf(tarball)
  const unpackedBytes = entries.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const manifest = entries.find(({ path }) => path === 'package.json')
  return [
    ...limitProblem('the tarball', tarball.length, TARBALL_BYTES),
    ...limitProblem('the unpacked package', unpackedBytes, UNPACKED_BYTES),
    ...entries.flatMap(({ path }) => pathProblem(path)),
    ...entries.flatMap((entry) => machinePathProblem(entry, machinePaths)),
    ...missing(entries, REQUIRED, 'is missing'),
    ...(manifest === undefined ? ['package.json is missing'] : manifestProblems(manifest, entries)),
  ]
}

/** @returns {string[]} */
function limitProblem(/** @type {string} */ name, /** @type {number} */ sizeBytes, /** @type {number} */ limitBytes) {
  if (sizeBytes <= limitBytes) return []
  return [
    `${name} has ${sizeBytes} bytes, the limit is ${limitBytes}: remove what is not needed, or raise the limit in scripts/tarball.mjs`,
  ]
}

/** @returns {string[]} */
function pathProblem(/** @type {string} */ path) {
  if (!FORBIDDEN.test(path) && ALLOWED.some((pattern) => pattern.test(path))) return []
  return [`${path} must not be in the tarball: remove it from "files" in package.json, or allow it in scripts/tarball.mjs`]
}

/** @returns {string[]} */
function machinePathProblem(/** @type {Entry} */ { path, bytes }, /** @type {readonly string[]} */ machinePaths) {
  const text = Buffer.from(bytes).toString('latin1')
  const found = machinePaths.find((each) => each.length > 1 && new RegExp(`(?<![\\w.-])${escaped(each)}(?=[/\\\\])`).test(text))
  return found === undefined ? [] : [`${path} contains ${found}, a path of this machine: build it with relative paths`]
}

function escaped(/** @type {string} */ text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

/** @returns {string[]} */
function missing(/** @type {readonly Entry[]} */ entries, /** @type {readonly string[]} */ paths, /** @type {string} */ reason) {
  const present = new Set(entries.map(({ path }) => path))
  return paths.filter((path) => !present.has(path)).map((path) => `${path} ${reason}`)
}

/** @returns {string[]} */
function manifestProblems(/** @type {Entry} */ { bytes }, /** @type {readonly Entry[]} */ entries) {
  const { exports = {}, bin = {} } = JSON.parse(Buffer.from(bytes).toString())
  const targets = leavesOf(exports).map((target) => target.replace(/^\.\//, ''))
  /** @type {string[]} */
  const commands = Object.values(bin)
  const notExecutable = entries.filter(({ path, mode, bytes: code }) => {
    return commands.includes(path) && ((mode & 0o111) === 0 || !Buffer.from(code).toString('latin1').startsWith('#!/usr/bin/env node\n'))
  })
  return [
    ...missing(entries, targets, 'is a target of "exports" and missing'),
    ...missing(entries, commands, 'is a command of "bin" and missing'),
    ...notExecutable.map(({ path }) => `${path} is a command and not executable`),
  ]
}

/** The strings in a value of package.json, at any depth. @returns {string[]} */
function leavesOf(/** @type {unknown} */ value) {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

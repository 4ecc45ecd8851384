// `npm run lock`: updates the lock file after a change of package.json. `npm run lock -- test/clients/hardhat3`: the same for the project in that folder.
// `node scripts/lock.mjs --check`: checks that the lock file is complete.
//
// npm omits packages that its registry lacks (a mirror may not have the binaries of every platform) from the lock file. `npm ci` then refuses the
// file, and on such a platform the binary would be missing. Their names and versions are taken from the packages that depend on them.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT, npm } from './setup.mjs'

/** @typedef {Record<string, any>} Packages any: npm's format, of which we read a few fields */

/**
 * The platform packages that a lock file lacks, as the entries to add. Only exact versions are known without a registry.
 * @param {Packages} packages @returns {Packages}
 */
export function missingPlatforms(packages) {
  /** @type {Packages} */
  const missing = {}
  for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const platform = platformOf(name)
      if (platform === undefined || !EXACT.test(version) || isFound(packages, parent, name)) continue
      missing[`node_modules/${name}`] = { version, ...platform, ...(dev === true ? { dev } : {}), optional: true }
    }
  }
  return missing
}

const EXACT = /^\d+\.\d+\.\d+$/
/** Longer names before names that they contain. */
const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32', 'aix']
const PROCESSORS = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32']
/** @type {Record<string, string>} */
const OTHER_NAMES = { amd64: 'x64', windows: 'win32', armv7: 'arm', eabi: '', wasi: '' }

/**
 * The platform of a package, from its name.
 * @param {string} name @returns {{ os?: string[], cpu: string[], libc?: string[] } | undefined}
 */
function platformOf(name) {
  const words = (name.split('/').at(-1) ?? '').split('-').map((word) => OTHER_NAMES[word] ?? word)
  const os = SYSTEMS.find((system) => words.includes(system))
  const cpu = PROCESSORS.find((processor) => words.includes(processor))
  if (cpu === undefined) return undefined
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : words.some((word) => word.startsWith('gnu')) ? 'glibc' : undefined
  return { ...(os === undefined ? {} : { os: [os] }), cpu: [cpu], ...(os === 'linux' && libc !== undefined ? { libc: [libc] } : {}) }
}

/** Resolves as Node does: from the dependent package upward. @returns {boolean} */
function isFound(/** @type {Packages} */ packages, /** @type {string} */ parent, /** @type {string} */ name) {
  const path = parent === '' ? `node_modules/${name}` : `${parent}/node_modules/${name}`
  if (path in packages) return true
  return parent === '' ? false : isFound(packages, parent.slice(0, Math.max(0, parent.lastIndexOf('node_modules/') - 1)), name)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const checkOnly = process.argv.includes('--check')
  const folder = join(ROOT, process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '.')
  const file = join(folder, 'package-lock.json')
  if (!checkOnly) npm(['install', '--package-lock-only', '--no-audit', '--no-fund'], folder)
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  const missing = missingPlatforms(lock.packages)
  const names = Object.keys(missing)
  if (!checkOnly) {
    const sorted = Object.entries({ ...lock.packages, ...missing }).toSorted(([a], [b]) => a.localeCompare(b, 'en'))
    writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`)
  } else if (names.length > 0) {
    process.stdout.write(`package-lock.json lacks ${names.length} packages for other platforms (${names[0]}, …): run "npm run lock"\n`)
    process.exitCode = 1
  }
}

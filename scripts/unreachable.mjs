// Removes the built modules and declarations that no entry of the package loads: most of the command's are only in its bundle.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { dirname, extname, join, resolve } from 'node:path'

/** @typedef {{ exports: Record<string, string | { types: string, node: string, default: string }>, bin: Record<string, string>, sideEffects: string[] }} Manifest */

/** `new URL('./x.js'`, `from './x.js'`, `import './x.js'`, `import('./x.js')`; declarations name the sources: './x.ts' */
const IMPORT = /\b(?:from|import|import\s*\(|new URL\s*\()\s*['"](\.{1,2}\/[^'"]+)\.[jt]s['"]/g
const DECLARATION = '.d.ts'
/** Scripts that pages load, and no module imports. */
const PAGES = join('server', 'pages')

/** `root` has the package.json, whose exports, commands and `sideEffects` (among them the scripts of threads) are the entries; `dist` is its folder dist. */
export function removeUnreachable(/** @type {string} */ root, /** @type {string} */ dist) {
  /** @type {Manifest} */
  const { exports, bin, sideEffects } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const built = (/** @type {string} */ path) => join(dist, path.replace(/^(?:\.\/)?dist\//, ''))
  const exported = Object.values(exports).flatMap((each) => (typeof each === 'string' ? [] : [each]))
  const scripts = [...Object.values(bin), ...sideEffects.filter((path) => extname(path) === '.js')]
  const entries = [...exported.flatMap((each) => [each.node, each.default]), ...scripts].map(built)
  const kept = reachable(entries, (path) => `${path}.js`)
  for (const file of reachable(
    exported.map((each) => built(each.types)),
    (path) => path + DECLARATION,
  ))
    kept.add(file)
  for (const entry of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const isModule = entry.endsWith('.js') || entry.endsWith(DECLARATION)
    if (isModule && dirname(entry) !== PAGES && !kept.has(join(dist, entry))) rmSync(join(dist, entry))
  }
}

/** Returns the files that are loaded from `entries`. @returns {Set<string>} */
function reachable(/** @type {string[]} */ entries, /** @type {(path: string) => string} */ fileOf) {
  const found = new Set(entries)
  for (const file of found) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const imported = fileOf(resolve(dirname(file), path))
      if (existsSync(imported)) found.add(imported)
    }
  }
  return found
}

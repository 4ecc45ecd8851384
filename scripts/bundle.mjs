// `node scripts/bundle.mjs <root> <dist>`: bundles the modules of dist/, because Node takes 0.4 ms to resolve, read and link each of 700.
// - The command becomes one CommonJS file, whose bytecode the command saves (src/cli/codecache.ts): V8 scans 1.7 MB of text at each start without it.
// - What package.json exports to Node, and the scripts of threads, become ES modules in dist/exports/ that share chunks, so that each class exists once.
//   Bundlers of apps get the modules themselves (condition "module"), of which they can leave out more.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { parseSync } from 'oxc-parser'
import { rolldown } from 'rolldown'

/** main.js is not bundled: it checks the Node version before another file is loaded. */
const COMMAND = 'run'
const EXPORTS = 'exports'

/**
 * Bundles dist/cli/run.js to a file beside it, and replaces it by the evaluation of the bundle. V8 checks only the length of the source, so the file name
 * contains its hash.
 */
async function bundleCommand(/** @type {string} */ dist) {
  const folder = join(dist, 'cli')
  const entry = join(folder, `${COMMAND}.js`)
  const bundle = await rolldown({
    cwd: dist,
    input: { [COMMAND]: entry },
    platform: 'node',
    external: (id) => isExternal(id, dist) && !isBundledPackage(id),
    treeshake: { moduleSideEffects: true },
    plugins: [{ name: 'large JSON', load: (id) => (isLargeJson(id) ? { code: readerOf(id), moduleType: 'js' } : null) }, placesFor(folder)],
  })
  // Without comments: V8 keeps the text in memory, and they are 400 KB.
  const { output } = await bundle.generate({
    format: 'cjs',
    codeSplitting: false,
    comments: false,
    entryFileNames: '[name]-[hash].cjs',
  })
  await bundle.close()
  const [{ fileName, code, exports }] = output
  writeFileSync(
    join(folder, fileName),
    `(function (exports, require, __import, __filename) { 'use strict'; ${asciiOf(withImportFunction(code))}\n})`,
  )
  writeFileSync(join(folder, 'LICENCES.txt'), BUNDLED_PACKAGES.map(licenceOf).join('\n'))
  const names = exports.length === 0 ? '' : `export const { ${exports.join(', ')} } = `
  writeFileSync(entry, `import { evaluateBundle } from './codecache.js'\n${names}evaluateBundle(new URL('${fileName}', import.meta.url))\n`)
}

/** Bundles what package.json exports, into the files that its condition "node" names. */
async function bundleExports(/** @type {string} */ root, /** @type {string} */ dist) {
  const folder = join(dist, EXPORTS)
  const { exported, threads } = entriesOf(root, dist)
  const bundle = await rolldown({
    cwd: dist,
    input: { ...exported, ...threads },
    platform: 'node',
    external: (id) => isExternal(id, dist),
    treeshake: { moduleSideEffects: true },
    plugins: [{ name: 'data', resolveId: (id) => (DATA.test(id) ? { id, external: true } : null) }, placesFor(folder, URL_OR_DATA)],
  })
  // With comments, among which are licences; the compiler has removed the others. A chunk may be named after the folder, which has the build's pid.
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: ({ name }) => `chunk-${name.split('.')[0]}.js`,
  })
  await bundle.close()
  // The path of a thread's script stays the same.
  for (const [name, script] of Object.entries(threads)) {
    writeFileSync(script, `import '${specifierOf(dirname(script), join(folder, `${name}.js`))}'\n`)
  }
}

/**
 * Returns the modules that package.json exports, and the scripts of threads among its `sideEffects`, by the names of their bundles.
 * @returns {Record<'exported' | 'threads', Record<string, string>>}
 */
function entriesOf(/** @type {string} */ root, /** @type {string} */ dist) {
  /** @type {import('./unreachable.mjs').Manifest} */
  const { exports, sideEffects } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const built = (/** @type {string} */ path) => join(dist, path.replace(/^\.\/dist\//, ''))
  const exported = Object.values(exports).flatMap((each) => {
    return typeof each === 'string' ? [] : [[basename(each.node, '.js'), built(each.default)]]
  })
  const threads = sideEffects
    .filter((path) => THREAD.test(path))
    .map((path) => [path.replace(THREAD, '$1').replaceAll('/', '-'), built(path)])
  return { exported: Object.fromEntries(exported), threads: Object.fromEntries(threads) }
}

/** All other scripts with side effects belong to the command, or are bundles. */
const THREAD = /^\.\/dist\/(?!cli\/|exports\/)(.*)\.js$/

/** Other packages, and Node's own. */
function isExternal(/** @type {string} */ id, /** @type {string} */ dist) {
  return !id.startsWith('.') && !id.startsWith(dist)
}

/** Packages that each start of the command loads. Bundled, they take 1 MB and 12 ms of CPU less: their bytecode is saved, their comments are left out. */
const BUNDLED_PACKAGES = ['commander', 'ws']

function isBundledPackage(/** @type {string} */ id) {
  return BUNDLED_PACKAGES.some((name) => id === name || id.includes(join('node_modules', name, sep)))
}

function licenceOf(/** @type {string} */ name) {
  return `${name}\n\n${readFileSync(new URL('LICENSE', import.meta.resolve(name)), 'utf8')}`
}

/** Replaces `import()`, which fails in code that V8 has deserialised. */
function withImportFunction(/** @type {string} */ code) {
  const { module } = parseSync('bundle.js', code)
  return module.dynamicImports.reduceRight(
    (text, { start }) => `${text.slice(0, start)}__import${text.slice(start + 'import'.length)}`,
    code,
  )
}

/** codecache.ts reads the file as Latin-1. With a character beyond it, V8 would keep the text with two bytes per character: 2 MB more. */
function asciiOf(/** @type {string} */ code) {
  // oxlint-disable-next-line no-control-regex -- from U+0000 on
  return code.replaceAll(/[^\u0000-\u007f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** `new URL('./file', import.meta.url)` */
const URL_OF_FILE = /(?<=new URL\(\s*)'(\.{1,2}\/[^']*)'(?=,\s*import\.meta\.url\s*\))/g
/** A URL whose file the bundle would look for beside itself. */
const OTHER_URL = /new URL\((?!\s*'\.{1,2}\/[^']*',\s*import\.meta\.url)[^()]*\bimport\.meta\.url/
/** Modules that contain only data; the bundles import them, so that the package contains them once. */
const DATA = /\.json$|\/wasm\/\w+\.js$/
/** The same, and imports of data: JSON, and WebAssembly in modules of a folder wasm. */
const URL_OR_DATA = new RegExp(`${URL_OF_FILE.source}|(?<=\\b(?:from\\s+|import\\())'(\\.{1,2}/[^']*(?:\\.json|\\bwasm/\\w+\\.js))'`, 'g')

/** Lets modules that are bundled to `folder` find the files that they name relative to their own place: data to read, scripts of threads. */
function placesFor(/** @type {string} */ folder, pattern = URL_OF_FILE) {
  return {
    name: 'places',
    transform(/** @type {string} */ code, /** @type {string} */ id) {
      const [other] = OTHER_URL.exec(code) ?? []
      if (other !== undefined) throw new Error(`write ${other}) as new URL('./file', import.meta.url), so that its bundle finds the file`)
      const moved = code.replaceAll(pattern, (_, url, data) => `'${specifierOf(folder, join(dirname(id), url ?? data))}'`)
      return moved === code ? null : { code: moved, map: null }
    },
  }
}

/** The bundle reads the 800 KB of the default genesis from the file beside it, so that the package contains them once. A start takes as long. */
function isLargeJson(/** @type {string} */ id) {
  return id.endsWith('.json') && statSync(id).size > LARGE_BYTES
}

const LARGE_BYTES = 100_000

function readerOf(/** @type {string} */ json) {
  return `import { readFileSync } from 'node:fs'\nexport default JSON.parse(readFileSync(new URL('./${basename(json)}', import.meta.url), 'utf8'))`
}

function specifierOf(/** @type {string} */ folder, /** @type {string} */ file) {
  const path = relative(folder, file).split(sep).join('/') + (file.endsWith(sep) ? '/' : '')
  return path.startsWith('.') ? path : `./${path}`
}

const [root, dist] = process.argv.slice(2).map((path) => resolve(path))
if (root === undefined || dist === undefined) throw new Error('usage: node scripts/bundle.mjs <root> <dist>')
await bundleCommand(dist)
await bundleExports(root, dist)

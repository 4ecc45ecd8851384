// `node scripts/bundle.mjs <dist>`: bundles the command to one CommonJS file, whose bytecode the command saves (src/cli/codecache.ts). Node takes 0.4 ms
// to resolve, read and link each of 480 modules, and V8 scans 1.7 MB of text at each start without the bytecode. dist/index.js and the modules that users
// import are not bundled.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { parseSync } from 'oxc-parser'
import { rolldown } from 'rolldown'

/** main.js is not bundled: it checks the Node version before another file is loaded. */
const ENTRY = 'run'

/**
 * Bundles dist/cli/run.js to a file beside it, and replaces it by the evaluation of the bundle. V8 checks only the length of the source, so the file name
 * contains its hash.
 */
export async function bundleCommand(/** @type {string} */ dist) {
  const root = resolve(dist)
  const folder = join(root, 'cli')
  const entry = join(folder, `${ENTRY}.js`)
  const bundle = await rolldown({
    cwd: root,
    input: { [ENTRY]: entry },
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith(root) && !isBundledPackage(id), // other packages, and Node's own
    treeshake: { moduleSideEffects: true },
    plugins: [
      { name: 'places', transform: (code, id) => withPlace(code, relative(folder, id)) },
      { name: 'large JSON', load: (id) => (isLargeJson(id) ? { code: OWN_FILE, moduleType: 'js' } : null) },
    ],
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

/** Packages that each start loads. Bundled, they take 1 MB and 12 ms of CPU less, because their bytecode is saved and their comments are left out. */
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

/** Keeps `import.meta.url` of each module the URL of its own file, relative to which it reads data and starts threads. */
function withPlace(/** @type {string} */ code, /** @type {string} */ path) {
  if (!code.includes(HERE)) return null
  const place = JSON.stringify(path.split(sep).join('/'))
  return { code: code.replaceAll(HERE, `new URL(${place}, ${HERE}).href`), map: null }
}

const HERE = 'import.meta.url'

/** The bundle reads the 800 KB of the default genesis from the file beside it, so that the package contains them once. A start takes as long. */
function isLargeJson(/** @type {string} */ id) {
  return id.endsWith('.json') && statSync(id).size > LARGE_BYTES
}

const LARGE_BYTES = 100_000

/** Reads the module's own file, which `withPlace` names. */
const OWN_FILE = `import { readFileSync } from 'node:fs'\nexport default JSON.parse(readFileSync(new URL(${HERE}), 'utf8'))`

if (process.argv[2] !== undefined) await bundleCommand(process.argv[2])

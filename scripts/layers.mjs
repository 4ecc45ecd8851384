// Checks the module structure: imports point to lower layers, a module is imported through its entry points, value imports of a product stay
// within its declared modules, portable modules import nothing of Node, there are no import cycles, and no shipped file is unused.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/**
 * The layers of src/, lowest first. A module imports from lower layers only. Modules of one layer do not import each other, except in the top layer, where
 * imports go in one direction (src/index.ts, here `index`, only exports).
 */
export const LAYERS = [
  ['compat'],
  ['eth'],
  ['jsonrpc'],
  ['evm'],
  ['chain'],
  ['store'],
  ['fork'],
  ['stream'],
  ['audit'],
  ['rpc'],
  ['fleet', 'bundler', 'paymaster', 'wallet'],
  ['server'],
  ['node'],
  ['testing', 'cli', 'index'],
]

/** The same for pages/. */
const PAGE_LAYERS = [['provider'], ['wallet'], ['sponsor'], ['explorer']]
/** popup/ is the wallet's page in its own window. */
const PAGE_OF = new Map([['popup', 'wallet']])

/** Files beside index.ts that other modules may import. */
const ENTRY_POINTS = new Set([
  'src/compat.ts',
  'src/cli/main.ts',
  'src/rpc/version.ts', // read without the module by --version
  'src/jsonrpc/schema.ts', // vocabularies, used by their names
  'src/jsonrpc/jsonschema.ts',
  'src/bundler/methods.ts', // rows without the implementation, which a node loads at the first request
  'src/bundler/results.ts', // types of the pages
  'src/paymaster/methods.ts',
  'src/paymaster/results.ts', // types of the sponsor's page
  'src/wallet/question.ts', // types of the wallet's page
])

/** Files of src/ whose values pages may import: they import nothing, so a page bundles nothing else with them. scripts/pages.mjs watches them. */
const SHARED_WITH_PAGES = new Set([
  'src/eth/visibletext.ts',
  'src/wallet/preview/blanks.ts',
  'src/wallet/preview/functions.ts',
  'src/wallet/preview/permitvalues.ts',
])

/**
 * Modules whose value imports, direct and indirect, stay within a declared set: they work with any node, so they load no chain, store or evm.
 * Type imports are free.
 */
export const CLOSURES = {
  bundler: ['bundler', 'jsonrpc', 'eth', 'compat'],
  paymaster: ['paymaster', 'jsonrpc', 'eth', 'compat'],
  wallet: ['wallet', 'jsonrpc', 'eth', 'compat'],
  audit: ['audit', 'stream', 'jsonrpc', 'eth', 'compat'],
}

/** Modules that also run in a browser: they import no module of Node. Type imports are free. */
const PORTABLE = new Set(['compat', 'eth', 'evm', 'chain'])

/** @typedef {{ file: string, line: number, message: string }} Finding what is wrong, where, and what to do */
/** @typedef {{ specifier: string, line: number, typeOnly: boolean }} Import */
/** @typedef {{ path: string, imports: Import[] }} Source a file with its path relative to the root, always with slashes */
/** @typedef {{ from: string, to: string, line: number, typeOnly: boolean }} Edge one source file importing another */

/** Checks a whole tree. @returns {Finding[]} in the order of files and lines */
export function checkLayers(/** @type {string} */ root) {
  const { sources, edges } = readTree(root)
  const manifest = readManifest(root)
  const findings = [
    ...sources.flatMap(misplaced),
    ...edges.flatMap(pastTheEntryPoint),
    ...edges.flatMap(upward),
    ...edges.flatMap(intoTests),
    ...sources.flatMap((source) => undeclaredPackages(source, manifest)),
    ...sources.flatMap(unportable),
    ...Object.keys(CLOSURES).flatMap((module) => outsideClosure(module, sources, edges)),
    ...cycles(edges.filter(({ from, to }) => (isShipped(from) && isShipped(to)) || (isPage(from) && isPage(to)))),
    ...unused(sources, edges, manifest),
  ]
  return findings.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line))
}

/** The lines of code that a module loads, by module. @returns {Record<string, number>} */
export function closureLines(/** @type {string} */ root, /** @type {string} */ module) {
  const { sources, edges } = readTree(root)
  /** @type {Record<string, number>} */
  const lines = {}
  for (const file of closureOf(module, sources, edges)) {
    const name = moduleOf(file) ?? file
    lines[name] = (lines[name] ?? 0) + readFileSync(join(root, file), 'utf8').split('\n').length - 1
  }
  return lines
}

/** @returns {{ sources: Source[], edges: Edge[] }} */
function readTree(/** @type {string} */ root) {
  const sources = SOURCE_FOLDERS.flatMap((folder) => sourcesIn(root, folder))
  const known = new Set(sources.map(({ path }) => path))
  return { sources, edges: sources.flatMap((source) => edgesOf(source, known)) }
}

const SOURCE_FOLDERS = ['src', 'pages', 'test', 'examples', 'bench', 'scripts', 'contracts']
/** Files that these import count as used: they are tools of the repository, not tests. */
const TOOL_FOLDERS = ['scripts/', 'contracts/', 'bench/']
const SOURCE_FILE = /\.(tsx?|mts|mjs|js)$/
const TEST_FILE = /\.(test|fixture)\.ts$/
/** AssemblyScript (its decorators on functions are not TypeScript, and its imports have no extension), and the output of pages/. */
const EXCLUDED = [join('src', 'evm', 'runtime'), join('src', 'store', 'writer'), join('src', 'server', 'pages')]
const FIXTURE = /\.fixture\.ts$/

// --- rules -----------------------------------------------------------------------------------------------------------------------------

/** @returns {Finding[]} */
function misplaced(/** @type {Source} */ { path }) {
  const module = moduleOf(path)
  if (module === undefined || layerOf(path) >= 0) return []
  const names = layersOf(path)
    .flat()
    .filter((name) => name !== 'index' && name !== 'compat')
  return [{ file: path, line: 1, message: `"${module}" is not a declared module: put the file into one of ${names.join(', ')}` }]
}

/** @returns {Finding[]} */
function pastTheEntryPoint(/** @type {Edge} */ { from, to, line, typeOnly }) {
  const module = moduleOf(to)
  if (module === undefined || !to.startsWith('src/') || isSameModule(from, to) || from.startsWith('scripts/')) return []
  if (isPage(from) && SHARED_WITH_PAGES.has(to)) return []
  if (isPage(from) && !typeOnly) return [{ file: from, line, message: `imports a value of ${to}: a page shares only types with src/` }]
  if (isEntryPoint(to)) return []
  if (FIXTURE.test(to) && !isShipped(from)) return [] // a fixture is not shipped, so no index.ts can export it
  const entry = specifierFrom(from, `src/${module}/index.ts`)
  return [
    { file: from, line, message: `imports a file inside ${module}/ (${to}): import from '${entry}', and export there what is missing` },
  ]
}

/** @returns {Finding[]} */
function upward(/** @type {Edge} */ { from, to, line }) {
  const [user, used] = [moduleOf(from), moduleOf(to)]
  if (user === undefined || used === undefined || isSameModule(from, to) || isPage(from) !== isPage(to)) return []
  if (!isShipped(from) && !isPage(from)) return []
  const [lower, higher] = [layerOf(from), layerOf(to)]
  const top = layersOf(from).length - 1
  if (lower < 0 || higher < lower || (lower === top && higher === top)) return []
  const relation = higher === lower ? `${used}, a module of its own layer` : `${used}, a module of a higher layer`
  const remedy = higher === lower ? 'declare a port in a lower layer' : `declare what ${user} needs as a port in ${user} and inject it`
  return [{ file: from, line, message: `${user} imports ${relation}: ${remedy}, or move the noun down` }]
}

/** One finding per undeclared module, at the import that leaves the declared set. @returns {Finding[]} */
function outsideClosure(/** @type {string} */ module, /** @type {Source[]} */ sources, /** @type {Edge[]} */ edges) {
  const allowed = new Set(CLOSURES[/** @type {keyof typeof CLOSURES} */ (module)])
  const closure = closureOf(module, sources, edges)
  /** @type {Map<string, Finding>} */
  const findings = new Map()
  for (const { from, to, line, typeOnly } of edges) {
    const reached = moduleOf(to)
    if (typeOnly || reached === undefined || allowed.has(reached) || !closure.has(from) || !allowed.has(moduleOf(from) ?? '')) continue
    const message = `${module} reaches ${reached} by this value import, and may reach only ${[...allowed].join(', ')}: use a type import, or a port of jsonrpc/`
    if (!findings.has(reached)) findings.set(reached, { file: from, line, message })
  }
  return [...findings.values()]
}

/** All files that the entry points of a module load by value imports, immediately or later. @returns {Set<string>} */
function closureOf(/** @type {string} */ module, /** @type {Source[]} */ sources, /** @type {Edge[]} */ edges) {
  const next = groupBy(
    edges.filter(({ typeOnly, from }) => !typeOnly && isShipped(from)),
    ({ from }) => from,
  )
  const starts = sources.map(({ path }) => path).filter((path) => moduleOf(path) === module && isShipped(path) && isEntryPoint(path))
  return reach(starts, next)
}

/** @returns {Finding[]} */
function intoTests(/** @type {Edge} */ { from, to, line }) {
  if (!isShipped(from) || (to.startsWith('src/') && !TEST_FILE.test(to))) return []
  if (to.startsWith('contracts/')) return []
  return [{ file: from, line, message: `imports ${to}, which is not shipped: code in src/ uses only src/ and contracts/` }]
}

/** Shipped code may import only packages that are installed with it. @returns {Finding[]} */
function undeclaredPackages(/** @type {Source} */ { path, imports }, /** @type {Manifest} */ { name, dependencies }) {
  if (!isShipped(path)) return []
  return imports.flatMap(({ specifier, line, typeOnly }) => {
    if (isRelative(specifier) || isBuiltin(specifier)) return []
    const wanted = packageOf(specifier)
    if (wanted === name) return [{ file: path, line, message: `imports its own package by name: import the module's index.ts by path` }]
    if (typeOnly || dependencies.has(wanted)) return []
    return [
      { file: path, line, message: `imports "${wanted}", which is not among the dependencies of package.json: do without it, or add it` },
    ]
  })
}

/** @returns {Finding[]} */
function unportable(/** @type {Source} */ { path, imports }) {
  if (!isShipped(path) || !PORTABLE.has(moduleOf(path) ?? '')) return []
  return imports.flatMap(({ specifier, line, typeOnly }) =>
    typeOnly || !isBuiltin(specifier)
      ? []
      : [
          {
            file: path,
            line,
            message: `imports "${specifier}", and runs in a browser: use nodeModule of eth/, and do without where there is none`,
          },
        ],
  )
}

/** One finding per strongly connected group of files, with its shortest cycle. @returns {Finding[]} */
function cycles(/** @type {Edge[]} */ edges) {
  const next = groupBy(edges, ({ from }) => from)
  /** @type {Set<string>} */
  const known = new Set()
  return [...next.keys()].toSorted().flatMap((start) => {
    const way = known.has(start) ? [] : shortestWayRound(start, next)
    const [first] = way
    if (first === undefined) return []
    for (const file of reach([start], next)) if (reach([file], next).has(start)) known.add(file)
    const round = way.map(({ from, line }) => `${from}:${line}`).join(' → ')
    const remedy = 'move what both need into a third file (a file never imports the index.ts of its own module)'
    return [{ file: start, line: first.line, message: `import cycle: ${round} → ${start}: ${remedy}` }]
  })
}

/** @returns {Finding[]} */
function unused(/** @type {Source[]} */ sources, /** @type {Edge[]} */ edges, /** @type {Manifest} */ { entries }) {
  const next = groupBy(edges, ({ from }) => from)
  const isRoot = (/** @type {string} */ path) => isShipped(path) && (isEntryPoint(path) || entries.has(path))
  const isTool = (/** @type {string} */ path) => TOOL_FOLDERS.some((folder) => path.startsWith(folder))
  const roots = sources.map(({ path }) => path).filter((path) => isRoot(path) || isTool(path))
  const reached = reach(roots, next)
  const usersOf = groupBy(edges, ({ to }) => to)
  return sources.flatMap(({ path }) => {
    if (!isShipped(path) || reached.has(path)) return []
    const users = (usersOf.get(path) ?? []).map(({ from }) => from)
    return [{ file: path, line: 1, message: unusedMessage(path, users) }]
  })
}

/** @returns {string} */
function unusedMessage(/** @type {string} */ path, /** @type {string[]} */ users) {
  const [user] = users
  if (user === undefined) return 'nothing uses this file: import it or delete it'
  if (users.some(isShipped)) return `only files that are themselves unused use it (${user}): import them from the module or delete them`
  return `only tests use it: delete it, or rename it to ${path.replace(/\.ts$/, '.fixture.ts')} if it serves them`
}

// --- modules ---------------------------------------------------------------------------------------------------------------------------

/** @returns {string | undefined} `eth` for src/eth/receipt.ts, `index` for src/index.ts, `wallet` for pages/wallet/main.tsx, undefined elsewhere */
function moduleOf(/** @type {string} */ path) {
  const page = /^pages\/([^/.]+)\//.exec(path)?.[1]
  return page === undefined ? /^src\/([^/.]+)/.exec(path)?.[1] : (PAGE_OF.get(page) ?? page)
}

function layersOf(/** @type {string} */ path) {
  return isPage(path) ? PAGE_LAYERS : LAYERS
}

function layerOf(/** @type {string} */ path) {
  return layersOf(path).findIndex((modules) => modules.includes(moduleOf(path) ?? ''))
}

function isSameModule(/** @type {string} */ from, /** @type {string} */ to) {
  return moduleOf(from) === moduleOf(to) && isPage(from) === isPage(to)
}

function isPage(/** @type {string} */ path) {
  return path.startsWith('pages/')
}

function isEntryPoint(/** @type {string} */ path) {
  return /^src\/([^/]+\/)?index\.ts$/.test(path) || ENTRY_POINTS.has(path)
}

function isShipped(/** @type {string} */ path) {
  return path.startsWith('src/') && !TEST_FILE.test(path)
}

// --- reading ---------------------------------------------------------------------------------------------------------------------------

/** @returns {Source[]} */
function sourcesIn(/** @type {string} */ root, /** @type {string} */ folder) {
  return filesBelow(join(root, folder)).map((file) => {
    const path = relative(root, file).split(sep).join('/')
    return { path, imports: importsOf(path, readFileSync(file, 'utf8')) }
  })
}

/** @returns {string[]} */
function filesBelow(/** @type {string} */ folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    if (entry.name === 'node_modules' || entry.name === 'dist') return []
    if (EXCLUDED.some((path) => join(folder, entry.name).endsWith(path))) return []
    if (entry.isDirectory()) return filesBelow(join(folder, entry.name))
    return SOURCE_FILE.test(entry.name) && !entry.name.endsWith('.d.ts') ? [join(folder, entry.name)] : []
  })
}

/** Every import of a file: statements, re-exports, `import('…')` in values and in types, `new URL('…', import.meta.url)`. @returns {Import[]} */
export function importsOf(/** @type {string} */ path, /** @type {string} */ text) {
  /** @type {Import[]} */
  const imports = []
  const { program } = parseSync(path, text)
  visit(program, (node) => {
    const source = IMPORTING[node.type]?.(node)
    if (typeof source?.value !== 'string') return
    const line = text.slice(0, source.start).split('\n').length
    const typeOnly = node.importKind === 'type' || node.exportKind === 'type' || node.type === 'TSImportType'
    imports.push({ specifier: source.value, line, typeOnly })
  })
  return imports
}

/** Which node kinds name another file, and where. @type {Record<string, (node: any) => any>} any: the parser's tree is walked by shape */
const IMPORTING = {
  ImportDeclaration: (node) => node.source,
  ExportNamedDeclaration: (node) => node.source,
  ExportAllDeclaration: (node) => node.source,
  ImportExpression: (node) => node.source,
  TSImportType: (node) => node.source,
  NewExpression: (node) => (node.callee.name === 'URL' && isImportMeta(node.arguments[1]?.object) ? relativeOnly(node.arguments[0]) : null),
}

function isImportMeta(/** @type {any} */ node) {
  return node?.type === 'MetaProperty'
}

function relativeOnly(/** @type {any} */ literal) {
  return typeof literal?.value === 'string' && isRelative(literal.value) ? literal : null
}

function visit(/** @type {any} */ node, /** @type {(node: any) => void} */ enter) {
  if (Array.isArray(node)) for (const item of node) visit(item, enter)
  else if (node !== null && typeof node === 'object') {
    if (typeof node.type === 'string') enter(node)
    for (const key in node) visit(node[key], enter)
  }
}

/** @returns {Edge[]} the imports of a file that lead to another file of the repository */
function edgesOf(/** @type {Source} */ { path, imports }, /** @type {Set<string>} */ known) {
  return imports.flatMap(({ specifier, line, typeOnly }) => {
    if (!isRelative(specifier)) return []
    const target = posix.normalize(posix.join(posix.dirname(path), specifier))
    const to = known.has(target) ? target : target.replace(/\.(m?)js$/, '.$1ts')
    return known.has(to) || moduleOf(to) !== undefined ? [{ from: path, to, line, typeOnly }] : []
  })
}

/** @typedef {{ name: string, dependencies: Set<string>, entries: Set<string> }} Manifest */

/** @returns {Manifest} entries are the sources of the files in dist/ that package.json names (exports, bin, scripts) */
function readManifest(/** @type {string} */ root) {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { name, dependencies = {}, peerDependencies = {}, optionalDependencies = {} } = JSON.parse(text)
  const entries = [...text.matchAll(/\bdist\/([\w/-]+)\.js\b/g)].map(([, path]) => `src/${path}.ts`)
  const packages = Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies })
  return { name, dependencies: new Set(packages), entries: new Set(entries) }
}

function isRelative(/** @type {string} */ specifier) {
  return specifier.startsWith('./') || specifier.startsWith('../')
}

function isBuiltin(/** @type {string} */ specifier) {
  return specifier.startsWith('node:') || builtinModules.includes(specifier)
}

/** `@scope/name` of `@scope/name/sub/path` */
function packageOf(/** @type {string} */ specifier) {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function specifierFrom(/** @type {string} */ from, /** @type {string} */ to) {
  const path = posix.relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

// --- graph -----------------------------------------------------------------------------------------------------------------------------

/** Every file that imports lead to, the starting ones included. @returns {Set<string>} */
function reach(/** @type {string[]} */ starts, /** @type {Map<string, Edge[]>} */ next) {
  const reached = new Set(starts)
  for (const file of reached) for (const { to } of next.get(file) ?? []) reached.add(to) // a Set also visits what is added on the way
  return reached
}

/** Breadth first from a file back to itself. @returns {Edge[]} empty when no way leads back */
function shortestWayRound(/** @type {string} */ start, /** @type {Map<string, Edge[]>} */ next) {
  /** @type {Map<string, Edge>} */
  const reachedBy = new Map()
  const queue = [start]
  for (const file of queue) {
    for (const edge of next.get(file) ?? []) {
      if (reachedBy.has(edge.to)) continue
      reachedBy.set(edge.to, edge)
      if (edge.to === start) return wayTo(start, start, reachedBy)
      queue.push(edge.to)
    }
  }
  return []
}

/** @returns {Edge[]} */
function wayTo(/** @type {string} */ file, /** @type {string} */ start, /** @type {Map<string, Edge>} */ reachedBy) {
  const edge = reachedBy.get(file)
  if (edge === undefined) return []
  return edge.from === start ? [edge] : [...wayTo(edge.from, start, reachedBy), edge]
}

/** Map.groupBy came with Node 21. @template T @param {T[]} items @param {(item: T) => string} keyOf @returns {Map<string, T[]>} */
function groupBy(items, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item])
  return groups
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const findings = checkLayers(fileURLToPath(new URL('..', import.meta.url)))
  for (const { file, line, message } of findings) process.stdout.write(`${file}:${line}: ${message}\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}

// The plan of the house, checked: imports point downward, a room is entered through its door, nothing goes in circles, nothing lies unused.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

/**
 * The floors, lowest first. A room imports from lower floors only. Rooms of one floor do not know each other, but those on top may import
 * one another in one direction: the command and the test fixtures both start the composition root (src/index.ts, here `index`; its parts: `root`).
 */
export const FLOORS = [
  ['compat'],
  ['eth'],
  ['evm'],
  ['chain'],
  ['store'],
  ['stream'],
  ['rpc'],
  ['bundler', 'paymaster', 'wallet'],
  ['server'],
  ['root'],
  ['testing', 'cli', 'index'],
]

/** @typedef {{ file: string, line: number, message: string }} Finding what is wrong, where, and what to do */
/** @typedef {{ specifier: string, line: number, typeOnly: boolean }} Import */
/** @typedef {{ path: string, imports: Import[] }} Source a file with its path relative to the root, always with slashes */
/** @typedef {{ from: string, to: string, line: number }} Edge one source file importing another */

/** Checks a whole tree. @returns {Finding[]} in the order of files and lines */
export function checkHouse(/** @type {string} */ root) {
  const sources = SOURCE_FOLDERS.flatMap((folder) => sourcesIn(root, folder))
  const known = new Set(sources.map(({ path }) => path))
  const edges = sources.flatMap((source) => edgesOf(source, known))
  const manifest = readManifest(root)
  const findings = [
    ...sources.flatMap(misplaced),
    ...edges.flatMap(pastTheDoor),
    ...edges.flatMap(upward),
    ...edges.flatMap(intoTests),
    ...sources.flatMap((source) => outOfTheHouse(source, manifest)),
    ...cycles(edges.filter(({ from, to }) => isShipped(from) && isShipped(to))),
    ...unused(sources, edges, manifest),
  ]
  return findings.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line))
}

const SOURCE_FOLDERS = ['src', 'test', 'examples', 'bench', 'scripts', 'contracts']
/** What these import counts as used: they are tools of the repository, not tests. */
const TOOL_FOLDERS = ['scripts/', 'contracts/', 'bench/']
const SOURCE_FILE = /\.(ts|mts|mjs|js)$/
const TEST_FILE = /\.(test|fixture)\.ts$/
/** AssemblyScript: its decorators on functions are no TypeScript, and its imports carry no extension. And what pages/ was built to. */
const FOREIGN = [join('src', 'evm', 'runtime'), join('src', 'store', 'writer'), join('src', 'server', 'pages')]
const FIXTURE = /\.fixture\.ts$/
const TOP = FLOORS.length - 1

// --- rules -----------------------------------------------------------------------------------------------------------------------------

/** @returns {Finding[]} */
function misplaced(/** @type {Source} */ { path }) {
  const room = roomOf(path)
  if (room === undefined || floorOf(room) >= 0) return []
  const names = FLOORS.flat().filter((name) => name !== 'index' && name !== 'compat')
  return [{ file: path, line: 1, message: `"${room}" is not a room of the house: put the file into one of ${names.join(', ')}` }]
}

/** @returns {Finding[]} */
function pastTheDoor(/** @type {Edge} */ { from, to, line }) {
  const room = roomOf(to)
  if (room === undefined || room === roomOf(from) || isDoor(to) || from.startsWith('scripts/')) return []
  if (FIXTURE.test(to) && !isShipped(from)) return [] // a fixture is not shipped, so no index.ts can hand it out
  const door = specifierFrom(from, `src/${room}/index.ts`)
  return [{ file: from, line, message: `goes past the door of ${room}/ (${to}): import from '${door}', and export there what is missing` }]
}

/** @returns {Finding[]} */
function upward(/** @type {Edge} */ { from, to, line }) {
  const [user, used] = [roomOf(from), roomOf(to)]
  if (!isShipped(from) || user === undefined || used === undefined || user === used) return []
  const [lower, higher] = [floorOf(user), floorOf(used)]
  if (lower < 0 || higher < lower || (lower === TOP && higher === TOP)) return []
  const relation = higher === lower ? 'its neighbour' : 'the higher room'
  const remedy =
    higher === lower ? 'let them meet through a port of a lower room' : `declare what ${user} needs as a port in ${user} and inject it`
  return [{ file: from, line, message: `${user} imports ${relation} ${used}: ${remedy}, or move the noun down` }]
}

/** @returns {Finding[]} */
function intoTests(/** @type {Edge} */ { from, to, line }) {
  if (!isShipped(from) || (to.startsWith('src/') && !TEST_FILE.test(to))) return []
  if (to.startsWith('contracts/')) return []
  return [{ file: from, line, message: `imports ${to}, which is not shipped: code in src/ uses only src/ and contracts/` }]
}

/** Packages: what is shipped may only need what is installed with it. @returns {Finding[]} */
function outOfTheHouse(/** @type {Source} */ { path, imports }, /** @type {Manifest} */ { name, dependencies }) {
  if (!isShipped(path)) return []
  return imports.flatMap(({ specifier, line, typeOnly }) => {
    if (isRelative(specifier) || isBuiltin(specifier)) return []
    const wanted = packageOf(specifier)
    if (wanted === name) return [{ file: path, line, message: `imports its own package by name: import the room's index.ts by path` }]
    if (typeOnly || dependencies.has(wanted)) return []
    return [
      { file: path, line, message: `imports "${wanted}", which is not among the dependencies of package.json: do without it, or add it` },
    ]
  })
}

/** One finding per knot of files that all lead to each other, naming a shortest way round. @returns {Finding[]} */
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
    const remedy = 'move what both need into a third file (a file never needs the door of its own room)'
    return [{ file: start, line: first.line, message: `import cycle: ${round} → ${start}: ${remedy}` }]
  })
}

/** @returns {Finding[]} */
function unused(/** @type {Source[]} */ sources, /** @type {Edge[]} */ edges, /** @type {Manifest} */ { entries }) {
  const next = groupBy(edges, ({ from }) => from)
  const isRoot = (/** @type {string} */ path) => isShipped(path) && (isDoor(path) || path === 'src/compat.ts' || entries.has(path))
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
  if (users.some(isShipped)) return `only files that are themselves unused use it (${user}): import them from the room or delete them`
  return `only tests use it: delete it, or rename it to ${path.replace(/\.ts$/, '.fixture.ts')} if it serves them`
}

// --- the plan --------------------------------------------------------------------------------------------------------------------------

/** @returns {string | undefined} `eth` for src/eth/receipt.ts, `index` for src/index.ts, undefined outside of src/ */
function roomOf(/** @type {string} */ path) {
  return /^src\/([^/.]+)/.exec(path)?.[1]
}

function floorOf(/** @type {string} */ room) {
  return FLOORS.findIndex((rooms) => rooms.includes(room))
}

/** The ways into a room from outside: its index.ts; the two files at the top of src/; the command's entry. */
function isDoor(/** @type {string} */ path) {
  return /^src\/([^/]+\/)?index\.ts$/.test(path) || path === 'src/compat.ts' || path === 'src/cli/main.ts'
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
    if (FOREIGN.some((path) => join(folder, entry.name).endsWith(path))) return []
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
  return imports.flatMap(({ specifier, line }) => {
    if (!isRelative(specifier)) return []
    const target = posix.normalize(posix.join(posix.dirname(path), specifier))
    const to = known.has(target) ? target : target.replace(/\.(m?)js$/, '.$1ts')
    return known.has(to) || roomOf(to) !== undefined ? [{ from: path, to, line }] : []
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
  const findings = checkHouse(fileURLToPath(new URL('..', import.meta.url)))
  for (const { file, line, message } of findings) process.stdout.write(`${file}:${line}: ${message}\n`)
  process.exitCode = findings.length === 0 ? 0 : 1
}

// `node scripts/run.mjs test/evm/fuzz/run.ts [arguments]`: compiles a TypeScript program of the tests with its imports, and runs it.
// Node 20 does not run TypeScript, and a long run in a test runner takes twice the time.
import './version.mjs'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, binOf, buildRuntime, install } from './setup.mjs'

const [entry, ...args] = process.argv.slice(2)
if (entry === undefined) throw new Error('no program given: node scripts/run.mjs <file.ts> [arguments]')
install()
buildRuntime()
// Below node_modules, so that the packages that the program imports are found.
const out = join(ROOT, 'node_modules', '.cache', 'run', String(process.pid))
mkdirSync(out, { recursive: true })
process.on('exit', () => rmSync(out, { recursive: true, force: true }))
const config = join(out, 'tsconfig.json')
const options = {
  noEmit: false,
  noEmitOnError: false,
  allowJs: false,
  checkJs: false,
  rootDir: ROOT,
  outDir: out,
  sourceMap: true,
  paths: {},
}
writeFileSync(
  config,
  JSON.stringify({
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: options,
    files: [join(ROOT, entry)],
    include: [join(ROOT, 'src', '**', '*.d.ts')],
  }),
)
writeFileSync(join(out, 'package.json'), '{ "type": "module" }')
const { status } = spawnSync(process.execPath, [binOf('typescript', 'tsc'), '-p', config], { cwd: ROOT, stdio: ['ignore', 2, 2] })
if (status !== 0) process.stderr.write('pocketchain: the type check failed (npm test reports it too); running anyway\n')
process.setSourceMapsEnabled(true)
process.argv = [process.argv[0] ?? 'node', entry, ...args]
await import(pathToFileURL(join(out, entry.replace(/\.ts$/, '.js'))).href)

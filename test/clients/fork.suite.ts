import { execFile, execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Hex } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { bytecode } from '../../examples/contract/counter.mjs'
import { nodeBinary } from '../../scripts/nodebinary.mjs'
import { ROOT } from '../../scripts/setup.mjs'
import { ForkedChain, send } from '../fork/upstream.fixture.ts'

// Hardhat 3 on a fork of another pocketchain: as a client of the fork, and with a fork of its own that reads from ours.

const SETUP = new URL('../../scripts/setup.mjs', import.meta.url).href
const FOLDER = join(ROOT, 'test', 'clients', 'hardhat3')
const INCREMENT = '0xd09de08a'

describe('Hardhat 3', () => {
  let node: string
  let env: NodeJS.ProcessEnv
  beforeAll(() => {
    // Hardhat 3 needs Node 22.13.
    node = Number(process.versions.node.split('.')[0]) < 24 ? nodeBinary(24) : process.execPath
    env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}`, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' }
    const program = `import { install } from ${JSON.stringify(SETUP)}; install(${JSON.stringify(FOLDER)})`
    execFileSync(node, ['--input-type=module', '--eval', program], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  })

  it.each([
    ['as a client of a fork of an op chain', 'local', 'op'],
    ['as a client of a fork of an l1 chain', 'local', 'l1'],
    ['with a fork of the fork', 'forked', 'l1'],
  ] as const)('reads and changes the state of the forked chain %s', async (_, network, chainType) => {
    await using chain = await ForkedChain.start({ chainType })
    const counter = (await send(chain.upstream, { data: bytecode }))['contractAddress'] as Hex
    for (let i = 0; i < 2; i++) await send(chain.upstream, { to: counter, data: INCREMENT })
    const height = Number(await chain.upstream.ask('eth_blockNumber'))
    const fork = await chain.fork()
    const hardhat = createRequire(join(FOLDER, 'package.json')).resolve('hardhat/package.json')
    const { bin } = createRequire(import.meta.url)(hardhat) as { readonly bin: string | { readonly hardhat: string } }
    const script = join(dirname(hardhat), typeof bin === 'string' ? bin : bin.hardhat)
    const settings = { ...env, NODE_URL: fork.url, COUNTER: counter, NETWORK: network, BEFORE: String(height - 1) }
    const { stdout } = await promisify(execFile)(node, [script, 'run', 'scripts/onfork.js'], { cwd: FOLDER, env: settings })
    expect(stdout.trim().split('\n').at(-1)).toBe('[2,3,77,3,1]')
  })
})

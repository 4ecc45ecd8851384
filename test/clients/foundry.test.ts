import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { PocketchainOptions } from '../../src/index.ts'
import { CAST, FORGE, compiledForgeProject } from '../foundry.fixture.ts'
import { startNode } from '../node.fixture.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const NODES: readonly (readonly [title: string, options: PocketchainOptions, sends: number])[] = [
  // Longer than a block: nonces are promised, sealed, and promised again.
  ['preconf with --latest promised', { cadence: 'preconf', latest: 'promised' }, 10],
  ['native', { cadence: 'native' }, 3],
  ['instant', { cadence: 'instant' }, 3],
]

describe.each(NODES)('cast under %s', (_, options, sends) => {
  it.for([
    ['a private key', ['--private-key', KEY]],
    ['an unlocked account', ['--unlocked', '--from', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266']],
  ] as const)(`sends ${sends} transactions one after another with %s`, async ([, signer], context) => {
    if (CAST === null) context.skip('needs the package @foundry-rs/cast')
    await using running = await startNode(options)
    const cast = async (...args: readonly string[]) => {
      const { stdout } = await promisify(execFile)(CAST!, [...args, '--rpc-url', running.url])
      return stdout.trim()
    }
    for (let sent = 0; sent < sends; sent++) {
      const receipt = JSON.parse(await cast('send', '--json', ...signer, BOB, '--value', '1')) as { readonly status: string }
      expect(receipt.status).toBe('0x1')
    }
    expect(await cast('balance', BOB)).toBe(`${10_000n * 10n ** 18n + BigInt(sends)}`)
    expect(await cast('nonce', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')).toBe(`${sends}`)
  })
})

it('without --latest promised the second cast send under preconf is refused with the remedy', async (context) => {
  if (CAST === null) context.skip('needs the package @foundry-rs/cast')
  await using running = await startNode({ clock: 'manual' })
  const { node } = running
  const send = () => promisify(execFile)(CAST!, ['send', '--async', '--private-key', KEY, BOB, '--value', '1', '--rpc-url', running.url])
  await send()
  await node.request({ method: 'pocketchain_tick', params: [200] })
  await expect(send()).rejects.toThrow(
    "nonce too low: next nonce 1 (1 of them is promised, not sealed), tx nonce 0; read the nonce at 'pending'",
  )
})

it('forge broadcasts a script and creates a contract straight after it with --latest promised', async (context) => {
  if (FORGE === null) context.skip('needs the package @foundry-rs/forge')
  using project = await compiledForgeProject()
  await using running = await startNode({ latest: 'promised' })
  const signer = ['--rpc-url', running.url, '--private-key', KEY, '--broadcast']
  // forge script runs on the state of the latest sealed block, so it comes first.
  expect(await project.forge('script', 'script/Seven.s.sol', ...signer)).toContain('ONCHAIN EXECUTION COMPLETE & SUCCESSFUL')
  await project.forge('create', 'Counter', ...signer, '--constructor-args', '1')
  expect(await running.ask('eth_getTransactionCount', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', 'pending')).toBe('0x8')
})

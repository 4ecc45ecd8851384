import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CAST, FORGE, compiledForgeProject } from '../foundry.fixture.ts'
import type { ForgeProject } from '../foundry.fixture.ts'
import { ALICE, ALICE_KEY, BOB, REFERENCE, SEQUENTIAL, command, timed } from './peer.fixture.ts'
import type { Peer } from './peer.fixture.ts'

// cast and forge, each command a process of its own, one after another.

let project: ForgeProject
beforeAll(async () => {
  project = await compiledForgeProject()
})
afterAll(() => project[Symbol.dispose]())

const SIGNERS = [
  ['a private key', ['--private-key', ALICE_KEY]],
  ['an unlocked account', ['--unlocked', '--from', ALICE]],
] as const

describe.skipIf(CAST === null || FORGE === null).each([...SEQUENTIAL, REFERENCE])('Foundry with $title', ({ start }) => {
  it.for(SIGNERS)('cast sends ten transactions with %s', async ([, signer], { annotate }) => {
    await using peer = await start()
    const { took } = await timed(async () => {
      for (let sent = 0; sent < 10; sent++) {
        const receipt = JSON.parse(await cast(peer, 'send', '--json', ...signer, BOB, '--value', '1')) as { readonly status: string }
        expect(receipt.status).toBe('0x1')
      }
    })
    await annotate(`ten cast send: ${took}`)
    expect(await cast(peer, 'nonce', ALICE)).toBe('10')
  })

  it.for(SIGNERS)('forge creates four contracts straight after a transaction with %s', async ([, signer], { annotate }) => {
    await using peer = await start()
    await cast(peer, 'send', ...signer, BOB, '--value', '1')
    const addresses = new Set<string>()
    const { took } = await timed(async () => {
      for (let start = 0; start < 4; start++) {
        const output = await project.forge('create', 'Counter', ...rpc(peer), ...signer, '--broadcast', '--json', '--constructor-args', `${start}`)
        const { deployedTo } = JSON.parse(output) as { readonly deployedTo: string }
        addresses.add(deployedTo)
        expect(await cast(peer, 'call', deployedTo, 'count()(uint256)')).toBe(`${start}`)
      }
    })
    await annotate(`four forge create: ${took}`)
    expect(addresses.size).toBe(4)
  })

  it.for([
    ['seven transactions', []],
    ['seven transactions with --slow', ['--slow']],
  ] as const)('forge script broadcasts %s once the block of an earlier transaction is sealed', async ([, flags], { annotate }) => {
    await using peer = await start()
    await cast(peer, 'send', '--private-key', ALICE_KEY, BOB, '--value', '1')
    // forge script runs the script on the state at the number of the latest block.
    await expect.poll(() => peer.ask('eth_getBlockTransactionCountByNumber', '0x1'), { timeout: 5_000 }).not.toBeNull()
    const args = ['script/Seven.s.sol', ...rpc(peer), '--private-key', ALICE_KEY, '--broadcast', ...flags]
    const { result, took } = await timed(() => project.forge('script', ...args))
    await annotate(`forge script ${flags.join(' ')}: ${took}`)
    expect(result).toContain('ONCHAIN EXECUTION COMPLETE & SUCCESSFUL')
    expect(await cast(peer, 'nonce', ALICE)).toBe('8')
  })

  it('forge script sends with --unlocked and resumes without sending again', async () => {
    await using peer = await start()
    const args = ['script/Seven.s.sol', ...rpc(peer), '--unlocked', '--sender', ALICE, '--broadcast']
    await project.forge('script', ...args)
    await project.forge('script', ...args, '--resume')
    expect(await cast(peer, 'nonce', ALICE)).toBe('7')
  })
})

describe.skipIf(CAST === null || FORGE === null)('forge script while an earlier transaction is promised, not sealed', () => {
  const { start } = command('preconf with --latest promised and blocks of a minute', '--latest', 'promised', '--block-time', '60')
  const args = ['script/Seven.s.sol', '--private-key', ALICE_KEY, '--broadcast']

  it('stops at its simulation, which reads the nonce at the number of the sealed block', async () => {
    await using peer = await start()
    await cast(peer, 'send', '--private-key', ALICE_KEY, BOB, '--value', '1')
    await expect(project.forge('script', ...args, ...rpc(peer))).rejects.toThrow('which does not contain any code')
  })

  it.for([['--skip-simulation'], ['--skip-simulation', '--slow']])('broadcasts seven transactions with %j', async (flags) => {
    await using peer = await start()
    await cast(peer, 'send', '--private-key', ALICE_KEY, BOB, '--value', '1')
    await project.forge('script', ...args, ...rpc(peer), ...flags)
    expect(await cast(peer, 'nonce', ALICE)).toBe('8')
  })
})

async function cast({ url }: Peer, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(CAST!, [...args, '--rpc-url', url])
  return stdout.trim()
}

function rpc({ url }: Peer): readonly string[] {
  return ['--rpc-url', url]
}

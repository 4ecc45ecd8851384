import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ANVIL } from '../anvil.fixture.ts'
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
        const output = await project.forge(
          'create',
          'Counter',
          ...rpc(peer),
          ...signer,
          '--broadcast',
          '--json',
          '--constructor-args',
          `${start}`,
        )
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

  it.for([
    ['--skip-simulation', []],
    ['--skip-simulation and --slow', ['--slow']],
  ] as const)('broadcasts seven transactions with %s', async ([, flags]) => {
    await using peer = await start()
    await cast(peer, 'send', '--private-key', ALICE_KEY, BOB, '--value', '1')
    await project.forge('script', ...args, ...rpc(peer), '--skip-simulation', ...flags)
    expect(await cast(peer, 'nonce', ALICE)).toBe('8')
  })
})

describe.skipIf(CAST === null || FORGE === null || ANVIL === null)('cast with --chain-type l1 --compat anvil', () => {
  const COUNTER = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
  /** The hashes of blocks and transactions depend on fees and times. */
  const VARYING = /(?<=[hH]ash: +)0x[0-9a-f]{64}/g
  const NODES = [command('', '--cadence', 'instant', '--chain-type', 'l1', '--compat', 'anvil'), REFERENCE]
  const peers: Peer[] = []
  /** by node: hash of the last transaction, a call of increment() in block 3 */
  const hashes: string[] = []

  beforeAll(async () => {
    for (const { start } of NODES) {
      const peer = await start()
      const key = ['--private-key', ALICE_KEY]
      await project.forge('create', 'Counter', ...rpc(peer), ...key, '--broadcast', '--constructor-args', '40')
      await cast(peer, 'send', ...key, COUNTER, 'increment()')
      const sent = JSON.parse(await cast(peer, 'send', ...key, COUNTER, 'increment()', '--json')) as { readonly transactionHash: string }
      peers.push(peer)
      hashes.push(sent.transactionHash)
    }
  })
  afterAll(async () => {
    for (const peer of peers) await peer[Symbol.asyncDispose]()
  })

  it.for(
    [
      ['block-number'],
      ['chain-id'],
      ['chain'],
      ['nonce', ALICE],
      ['nonce', ALICE, '--block', '1'],
      ['balance', BOB, '--ether'],
      ['code', COUNTER],
      ['codesize', COUNTER],
      ['codehash', COUNTER],
      ['storage', COUNTER, '0'],
      ['storage', COUNTER, '0', '--block', '1'],
      ['implementation', COUNTER],
      ['call', COUNTER, 'count()(uint256)'],
      ['call', COUNTER, 'count()(uint256)', '--block', '2'],
      ['call', COUNTER, 'count()(uint256)', '--override-state-diff', `${COUNTER}:0:77`],
      ['call', COUNTER, 'increment()', '--trace'],
      ['access-list', COUNTER, 'increment()'],
      ['storage-root', COUNTER],
      ['tx', 'HASH', 'nonce'],
      ['tx', 'HASH', 'input'],
      ['receipt', 'HASH', 'status'],
      ['receipt', 'HASH', 'gasUsed'],
      ['receipt', 'HASH', 'blockNumber'],
      ['block', '3', '--field', 'gasUsed'],
      ['block', 'latest', '--field', 'number'],
      ['logs', '--from-block', '0', '--address', COUNTER],
      ['logs', '--from-block', '0', '--to-block', 'latest', 'Incremented(address indexed,uint256)', ALICE],
      ['logs', '--from-block', '50', '--to-block', '99'],
      ['run', 'HASH'],
      ['run', 'HASH', '--quick'],
      ['rpc', 'eth_getTransactionCount', ALICE, 'latest'],
      ['call', COUNTER, 'nothing()'],
      ['send', COUNTER, 'nothing()', '--private-key', ALICE_KEY],
    ].map((args) => [args.join(' '), args] as const),
  )('cast %s prints what it prints with anvil', async ([, args]) => {
    const [ours, theirs] = await Promise.all(
      peers.map(async (peer, index) => {
        const command = args.map((arg) => (arg === 'HASH' ? hashes[index]! : arg))
        const output = await cast(peer, ...command).catch(({ stderr }: { readonly stderr: string }) => stderr)
        return output.replaceAll(VARYING, 'HASH')
      }),
    )
    expect(ours).toBe(theirs)
  })
})

async function cast({ url }: Peer, ...args: readonly string[]): Promise<string> {
  // Not in this repository: cast compiles Solidity sources that it finds.
  const { stdout } = await promisify(execFile)(CAST!, [...args, '--rpc-url', url], { cwd: tmpdir() })
  return stdout.trim()
}

function rpc({ url }: Peer): readonly string[] {
  return ['--rpc-url', url]
}

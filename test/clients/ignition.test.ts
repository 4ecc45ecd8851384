import { buildModule, deploy } from '@nomicfoundation/ignition-core'
import type { Artifact } from '@nomicfoundation/ignition-core'
import { parseAbi } from 'viem'
import { expect, it } from 'vitest'
import { abi, bytecode } from '../../examples/contract/counter.mjs'
import { startNode } from '../node.fixture.ts'
import { ALICE, BOB } from './peer.fixture.ts'

it('Hardhat Ignition deploys a contract and sends three transactions after it with --latest promised', async () => {
  await using running = await startNode({ latest: 'promised', cadence: { kind: 'preconf', blockTimeMs: 1_000, flashblockMs: 200 } })
  const counter: Artifact = {
    _format: 'hh3-artifact-1',
    contractName: 'Counter',
    sourceName: 'Counter.sol',
    abi: parseAbi(abi),
    bytecode,
    deployedBytecode: '0x',
    linkReferences: {},
    deployedLinkReferences: {},
  }
  const ignitionModule = buildModule('Counting', (m) => {
    const counter = m.contract('Counter')
    const first = m.call(counter, 'increment', [], { id: 'first' })
    const second = m.call(counter, 'increment', [], { id: 'second', after: [first] })
    m.send('pay', BOB, 5n, undefined, { after: [second] })
    return { counter }
  })
  const deployed = await deploy({
    ignitionModule,
    artifactResolver: { loadArtifact: async () => counter, getBuildInfo: async () => undefined },
    provider: { request: ({ method, params = [] }) => running.ask(method, ...(params as readonly unknown[])) },
    deploymentParameters: {},
    accounts: [ALICE, BOB],
  })
  expect(deployed).toMatchObject({ type: 'SUCCESSFUL_DEPLOYMENT' })
  expect(await running.ask('eth_getTransactionCount', ALICE, 'latest')).toBe('0x4')
})

import { describe, expect, test } from 'vitest'
import { CADENCES } from '../../src/chain/index.ts'
import type { CadenceKind } from '../../src/chain/index.ts'
import { Address, Hash, Hex } from '../../src/eth/index.ts'
import { ALICE, LOGGER, LOGGER_INIT_CODE, testNode } from '../../src/rpc/node.fixture.ts'
import type { TestNode } from '../../src/rpc/node.fixture.ts'

const FRIEND = Address.from('0x00000000000000000000000000000000000f41e7')
const TOPIC = Hash.fromBigint(0x70b1cn)

/** Steps by which a cadence includes and seals a transaction; the rest of the scenario is the same for all cadences. */
const STEPS: Readonly<
  Record<CadenceKind, { readonly appear: (node: TestNode) => Promise<unknown>; readonly seal: (node: TestNode) => Promise<unknown> }>
> = {
  preconf: { appear: ({ clock }) => clock.advance(200), seal: ({ clock }) => clock.advance(2_000) },
  native: { appear: ({ clock }) => clock.advance(200), seal: ({ clock }) => clock.advance(200) },
  instant: { appear: async () => undefined, seal: async () => undefined },
  manual: { appear: ({ ask }) => ask('evm_mine'), seal: async () => undefined },
}

/** Reads the results of an application's transactions at the given tag. */
async function look({ ask }: TestNode, hashes: readonly Hash[], tag: 'pending' | 'latest') {
  const receipts = await Promise.all(hashes.map((hash) => ask('eth_getTransactionReceipt', hash)))
  return {
    receipts: receipts.map(sealedForm),
    logs: rows(await ask('eth_getLogs', { address: LOGGER, fromBlock: '0x0', toBlock: tag })).map(sealedForm),
    code: await ask('eth_getCode', LOGGER, tag),
    nonce: await ask('eth_getTransactionCount', ALICE, tag),
    balances: [await ask('eth_getBalance', ALICE, tag), await ask('eth_getBalance', FRIEND, tag)],
  }
}

/** Removes the block hash, the only field that a pre-confirmed object lacks. */
function sealedForm(value: unknown): unknown {
  const copy = { ...object(value) }
  delete copy['blockHash']
  if (Array.isArray(copy['logs'])) copy['logs'] = copy['logs'].map(sealedForm)
  return copy
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Readonly<Record<string, unknown>> // JSON
  throw new Error(`an object was expected, not ${JSON.stringify(value)}`)
}

function rows(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new Error(`a list was expected, not ${JSON.stringify(value)}`)
}

describe.each<CadenceKind>(['preconf', 'native', 'instant', 'manual'])('an application under %s', (kind) => {
  const { appear, seal } = STEPS[kind]

  test('deploys, calls, pays and reads; the first results equal the sealed ones', async () => {
    const node = await testNode({ cadence: CADENCES[kind] })
    const { ask, sign, bugs, chain } = node
    const raw = (fields: Parameters<typeof sign>[0]): [Hash, Hex] => {
      const tx = sign(fields)
      return [tx.hash, Hex.fromBytes(tx.raw)]
    }

    const [deployed, deployment] = raw({ to: null, data: LOGGER_INIT_CODE })
    expect(await ask('eth_sendRawTransaction', deployment)).toBe(deployed)
    await appear(node)
    expect(object(await ask('eth_getTransactionReceipt', deployed))).toMatchObject({ status: '0x1', contractAddress: LOGGER })

    const [called, call] = raw({ to: LOGGER, data: Hex.toBytes(TOPIC), value: 0n })
    const [paid, payment] = raw({ to: FRIEND, value: 123n, gas: 21_000n })
    for (const each of [call, payment]) {
      await ask('eth_sendRawTransaction', each)
      if (kind !== 'preconf' && kind !== 'native') await appear(node)
    }
    await appear(node)

    const hashes = [deployed, called, paid]
    const first = await look(node, hashes, 'pending')
    expect(first.receipts.map((receipt) => object(receipt)['status'])).toEqual(['0x1', '0x1', '0x1'])
    expect(first.logs.map((log) => object(log)['topics'])).toEqual([[TOPIC]])
    expect(object(first.receipts[1])['logs']).toEqual(first.logs)
    expect([first.nonce, first.balances[1], first.code]).toEqual(['0x3', '0x7b', '0x600035602a60005260206000a100'])

    await seal(node)
    expect(await look(node, hashes, 'latest')).toEqual(first)
    expect(await look(node, hashes, 'pending')).toEqual(first)
    for (const hash of hashes) {
      const receipt = object(await ask('eth_getTransactionReceipt', hash))
      const block = object(await ask('eth_getBlockByHash', receipt['blockHash'], false))
      expect(rows(block['transactions'])).toContain(hash)
      expect(block['number']).toBe(receipt['blockNumber'])
    }
    expect(await ask('eth_call', { to: LOGGER, data: TOPIC }, 'latest')).toBe('0x')
    expect(bugs).toEqual([])
    await chain.stop()
  })

  test('receives every head and every log once, in order', async () => {
    const node = await testNode({ cadence: CADENCES[kind] })
    const { ask, sign, rpc, chain, bugs } = node
    const heads: unknown[] = []
    const logs: unknown[] = []
    const endHeads = await rpc.subscribe(['newHeads'], (head) => heads.push(object(head)['number']))
    const endLogs = await rpc.subscribe(['logs', { address: LOGGER }], (log) => logs.push(rows(object(log)['topics'])[0]))
    await ask('eth_sendRawTransaction', Hex.fromBytes(sign({ to: null, data: LOGGER_INIT_CODE }).raw))
    for (let topic = 1n; topic <= 4n; topic++) {
      await ask('eth_sendRawTransaction', Hex.fromBytes(sign({ to: LOGGER, data: Hex.toBytes(Hash.fromBigint(topic)), value: 0n }).raw))
      await appear(node)
    }
    await seal(node)
    expect(heads).toEqual(Array.from({ length: Number(await ask('eth_blockNumber')) }, (_, index) => Hex.fromQuantity(index + 1)))
    expect(logs).toEqual([1n, 2n, 3n, 4n].map(Hash.fromBigint))
    await endHeads()
    await endLogs()
    expect(bugs).toEqual([])
    await chain.stop()
  })
})

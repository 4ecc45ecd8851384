import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commitmentToVersionedHash, fromRlp, toRlp } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { Hex } from '../../src/eth/index.ts'
import { BLOBS, cellProofs } from '../../src/evm/blobs/blobs.fixture.ts'
import { createPocketchain } from '../../src/index.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import { startNode } from '../node.fixture.ts'

const ALICE = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const [first, second] = BLOBS
type Part = (typeof BLOBS)[number]

/** Signs a blob transaction: the envelope that blocks have. */
function envelope(parts: readonly Part[], nonce = 0): Promise<Hex> {
  const blobVersionedHashes = parts.map(({ commitment }) => commitmentToVersionedHash({ commitment }))
  const fees = { gas: 100_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, maxFeePerBlobGas: 10n ** 10n }
  return ALICE.signTransaction({ type: 'eip4844', chainId: 31_337, nonce, to: BOB, value: 1n, ...fees, blobVersionedHashes })
}

/** The network form, with the sidecar of `parts`. */
async function withBlobs(parts: readonly Part[], sidecar: readonly Part[] = parts, nonce = 0): Promise<Hex> {
  const body = fromRlp(`0x${(await envelope(parts, nonce)).slice(4)}`)
  const list = (key: keyof Part) => sidecar.map((part) => part[key])
  return `0x03${toRlp([body, list('blob'), list('commitment'), list('proof')]).slice(2)}` as Hex
}

/** The network form since EIP-7594, with these proofs of the cells of the first blob. */
async function withCells(proofs: readonly Hex[], nonce = 0): Promise<Hex> {
  const body = fromRlp(`0x${(await envelope([first], nonce)).slice(4)}`)
  return `0x03${toRlp([body, '0x01', [first.blob], [first.commitment], proofs]).slice(2)}`
}

const REFUSED: readonly (readonly [string, () => Promise<Hex>, RegExp])[] = [
  ['without its sidecar', () => envelope([first]), /^missing sidecar in blob transaction: /],
  [
    'with swapped proofs',
    () =>
      withBlobs(
        [first, second],
        [
          { ...first, proof: second.proof },
          { ...second, proof: first.proof },
        ],
      ),
    /^KZG verification error: invalid KZG proof$/,
  ],
  ['with the sidecar of another', () => withBlobs([first], [second]), /^blob 0: computed hash 0x01\w+ mismatches transaction one 0x01\w+$/],
  ['with a changed blob', () => withBlobs([first], [{ ...first, blob: second.blob }]), /^KZG verification error: invalid KZG proof$/],
  [
    'with an invalid point',
    () => withBlobs([first], [{ ...first, proof: `0x${'ff'.repeat(48)}` }]),
    /^KZG verification error: proof 0 is no point of the group G1$/,
  ],
  [
    'with a field element above the modulus',
    () => withBlobs([first], [{ ...first, blob: `0x${'ff'.repeat(32)}${first.blob.slice(66)}` }]),
    /^KZG verification error: blob 0 has a field element/,
  ],
  ['with swapped proofs of cells', () => withCells(cellProofs().toReversed()), /^KZG verification error: invalid KZG proof$/],
]

describe('a blob transaction of a client', () => {
  it.each(REFUSED)('is refused %s, and nothing changes', async (_, make, message) => {
    await using node = await createPocketchain({ chainType: 'l1', clock: 'manual' })
    const ask = (method: string, ...params: unknown[]) => node.request({ method, params })
    const raw = await make()
    for (const [method, ...more] of [
      ['eth_sendRawTransaction'],
      ['eth_sendRawTransactionSync'],
      ['eth_sendRawTransactionConditional', {}],
    ] as const)
      await expect(ask(method, raw, ...more)).rejects.toMatchObject({ code: -32_000, message: expect.stringMatching(message) })
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await ask('eth_getTransactionCount', ALICE.address, 'pending')).toBe('0x0')
  })

  it('is refused with the code of anvil under its profile', async () => {
    await using node = await createPocketchain({ chainType: 'l1', compat: 'anvil' })
    const refused = node.request({ method: 'eth_sendRawTransaction', params: [await envelope([first])] })
    await expect(refused).rejects.toMatchObject({ code: -32_003, message: expect.stringContaining('missing sidecar') })
  })

  it('is mined with its blobs, of which the block has the hashes', async () => {
    await using node = await createPocketchain({ chainType: 'l1', clock: 'manual' })
    const ask = (method: string, ...params: unknown[]) => node.request({ method, params })
    const hash = await ask('eth_sendRawTransaction', await withBlobs([first, second]))
    await ask('pocketchain_tick', 2_000)
    expect(await ask('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', type: '0x3', blobGasUsed: '0x40000' })
    expect(await ask('eth_getRawTransactionByHash', hash)).toBe(await envelope([first, second]))
  })

  it('is mined with proofs of cells', async () => {
    await using node = await createPocketchain({ chainType: 'l1', cadence: 'instant' })
    const hash = await node.request({ method: 'eth_sendRawTransaction', params: [await withCells(cellProofs())] })
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({
      status: '0x1',
      blobGasUsed: '0x20000',
    })
  })

  it('is refused on an OP chain for its type', async () => {
    await using node = await createPocketchain({ chainId: 31_337 })
    for (const raw of [await envelope([first]), await withBlobs([first])])
      await expect(node.request({ method: 'eth_sendRawTransaction', params: [raw] })).rejects.toThrow('transaction type not supported')
  })

  it('is refused before Cancun for its type, and later with more blobs than a block may have for their number', async () => {
    await using old = await createPocketchain({ chainType: 'l1', hardfork: 'shanghai' })
    const refused = old.request({ method: 'eth_sendRawTransaction', params: [await envelope([first])] })
    await expect(refused).rejects.toThrow('transaction type not supported')
    await using node = await createPocketchain({ chainType: 'l1' })
    const raw = await envelope(new Array<Part>(22).fill(first))
    await expect(node.request({ method: 'eth_sendRawTransaction', params: [raw] })).rejects.toThrow('exceeds block blob gas limit')
  })
})

describe('a blob transaction of a block has no blobs, and goes on', () => {
  it('in a reorg and a state file', async () => {
    await using node = await createPocketchain({ chainType: 'l1', cadence: 'instant' })
    const ask = (method: string, ...params: unknown[]) => node.request({ method, params })
    const hash = await ask('eth_sendRawTransaction', await withBlobs([first]))
    await ask('anvil_reorg', 1, [[await envelope([second]), 0]])
    const block = (await ask('eth_getBlockByNumber', 'latest', false)) as { transactions: string[] }
    expect(block.transactions).toHaveLength(1)
    expect(block.transactions).not.toContain(hash)
    const stateFile = Hex.toBytes((await ask('anvil_dumpState', true)) as Hex)
    await using other = await createPocketchain({ chainType: 'l1', cadence: 'instant', stateFile })
    expect(await other.request({ method: 'eth_getTransactionByHash', params: block.transactions })).toMatchObject({ type: '0x3' })
  })

  it('in a data directory', async () => {
    const data = await mkdtemp(join(tmpdir(), 'blobs-'))
    try {
      let hash: unknown
      {
        await using node = await createPocketchain({ chainType: 'l1', data, clock: 'manual' })
        hash = await node.request({ method: 'eth_sendRawTransaction', params: [await withBlobs([first])] })
        await node.request({ method: 'pocketchain_tick', params: [200] })
      }
      await using node = await createPocketchain({ chainType: 'l1', data, clock: 'manual' })
      await node.request({ method: 'pocketchain_tick', params: [2_000] })
      expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1', type: '0x3' })
    } finally {
      await rm(data, { recursive: true })
    }
  })
})

describe.skipIf(ANVIL === null)('beside anvil, over HTTP', () => {
  it('the same transactions are refused', { timeout: 60_000 }, async () => {
    await using anvil = await startAnvil()
    await using node = await startNode({ chainType: 'l1', compat: 'anvil' })
    for (const [name, make] of [
      ...REFUSED,
      ['valid', () => withBlobs([first, second])] as const,
      ['valid, for cells', () => withCells(cellProofs(), 1)] as const,
    ]) {
      const raw = await make()
      const codes = await Promise.all([anvil.url, node.url].map((url) => refusalOf(url, raw)))
      expect(codes, name).toEqual(name.startsWith('valid') ? [undefined, undefined] : [-32_003, -32_003])
    }
  })
})

async function refusalOf(url: string, raw: Hex): Promise<number | undefined> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] })
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const { error } = (await response.json()) as { error?: { code: number } } // a JSON-RPC response
  return error?.code
}

import { HDNodeWallet, JsonRpcProvider } from 'ethers'
import { createPublicClient, createWalletClient, http } from 'viem'
import type { Hex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'
import { describe, expect, it } from 'vitest'
import { WORDS, startNode } from '../node.fixture.ts'
import type { RunningNode } from '../node.fixture.ts'

// viem, ethers and the wallet on a chain with faults, in real time. CHAOS_SECONDS=600 runs it for ten minutes.

const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 15)
/** An outcome that is older than all faults together: stalls, late seals, delays and fail-overs. */
const PATIENCE_MS = 30_000
const BOB = '0x00000000000000000000000000000000000b0b00'

interface Tally {
  included: number
  /** number of transactions that the ledger lists as dropped or retracted and the node does not have */
  gone: number
  /** refused, because a retracted transaction with the same nonce was promised again before */
  refused: number
}

const NONCE_TAKEN = /nonce (too low|has already been used)|already known|underpriced/i

/** Returns null for a nonce that was taken between reading and sending it. */
async function sent<T>(send: () => Promise<T>): Promise<T | null> {
  try {
    return await send()
  } catch (error) {
    if (NONCE_TAKEN.test((error as Error).message)) return null
    throw error
  }
}

/** Throws unless the node itself reports that the transaction is gone. */
async function assertGone({ ask }: RunningNode, hash: string): Promise<void> {
  const [receipt, { status }, { promises }] = (await Promise.all([
    ask('eth_getTransactionReceipt', hash),
    ask('base_transactionStatus', hash),
    ask('pocketchain_promises', { hash, limit: 1 }),
  ])) as [unknown, { status: string }, { promises: readonly { readonly outcome: string }[] }]
  expect([receipt, status]).toEqual([null, 'Unknown'])
  expect(['dropped', 'retracted']).toContain(promises[0]?.outcome)
}

async function viemLoop(running: RunningNode, isOver: () => boolean): Promise<Tally> {
  const account = mnemonicToAccount(WORDS, { addressIndex: 1 })
  const settings = { chain: foundry, transport: http(running.url), pollingInterval: 50 }
  const [wallet, client] = [createWalletClient({ account, ...settings }), createPublicClient(settings)]
  const tally = { included: 0, gone: 0, refused: 0 }
  while (!isOver()) {
    const nonce = await client.getTransactionCount({ address: account.address, blockTag: 'pending' })
    await count(tally, running, await sent(() => wallet.sendTransaction({ to: BOB, value: 1n, nonce, gas: 21_000n })))
  }
  return tally
}

async function ethersLoop(running: RunningNode, isOver: () => boolean): Promise<Tally> {
  const provider = new JsonRpcProvider(running.url, 31_337, { staticNetwork: true, polling: true, pollingInterval: 50 })
  const wallet = HDNodeWallet.fromPhrase(WORDS, undefined, "m/44'/60'/0'/0/2").connect(provider)
  const tally = { included: 0, gone: 0, refused: 0 }
  while (!isOver()) {
    const nonce = await provider.getTransactionCount(wallet.address, 'pending')
    const response = await sent(() => wallet.sendTransaction({ to: BOB, value: 1n, nonce, gasLimit: 21_000n }))
    await count(tally, running, response === null ? null : (response.hash as Hex))
  }
  provider.destroy()
  return tally
}

async function count(tally: Tally, running: RunningNode, hash: Hex | null): Promise<void> {
  if (hash === null) tally.refused++
  else if ((await receiptOf(running, hash)) === null) tally.gone++
  else tally.included++
}

/** Returns the receipt, or null for a transaction that the node has dropped. Throws when neither is true after a long time. */
async function receiptOf(running: RunningNode, hash: Hex): Promise<{ readonly status: string } | null> {
  const startMs = performance.now()
  for (;;) {
    const receipt = (await running.ask('eth_getTransactionReceipt', hash)) as { readonly status: string } | null
    if (receipt !== null) return receipt
    const { status } = (await running.ask('base_transactionStatus', hash)) as { status: string }
    if (status === 'Unknown' && (await running.ask('eth_getTransactionReceipt', hash)) === null) {
      await assertGone(running, hash)
      return null
    }
    if (performance.now() - startMs > PATIENCE_MS) throw new Error(`${hash} is neither included nor gone after ${PATIENCE_MS} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Batches of the wallet, by their final status. */
async function walletLoop({ node }: RunningNode, isOver: () => boolean): Promise<ReadonlyMap<number, number>> {
  const provider = node.wallet.provider('https://app.example')
  await provider.request({ method: 'eth_requestAccounts' })
  const counts = new Map<number, number>()
  while (!isOver()) {
    const calls = [
      { to: BOB, value: '0x1' },
      { to: BOB, value: '0x2' },
    ]
    const params = [{ version: '2.0.0', chainId: '0x7a69', atomicRequired: true, calls }]
    const { id } = (await provider.request({ method: 'wallet_sendCalls', params })) as { id: string } // EIP-5792
    const startMs = performance.now()
    for (;;) {
      const { status, capabilities } = (await provider.request({ method: 'wallet_getCallsStatus', params: [id] })) as Status
      if (status !== 100) {
        counts.set(status, (counts.get(status) ?? 0) + 1)
        if (status !== 200) expect(capabilities.status.reason).toMatch(/^(dropped|replaced|reverted|refused)$/)
        break
      }
      if (performance.now() - startMs > PATIENCE_MS) throw new Error(`batch ${id} has no outcome: ${JSON.stringify(capabilities)}`)
    }
  }
  provider.close()
  return counts
}

interface Status {
  readonly status: number
  readonly capabilities: { readonly status: { readonly reason: string | null } }
}

describe('under --chaos rough', () => {
  it(
    'viem, ethers and the wallet see every outcome, and the node has no error of its own',
    { timeout: SECONDS * 1_000 + 90_000 },
    async () => {
      await using running = await startNode({ chaos: 'rough', seed: 'clients', wallet: { policy: 'approve' } })
      const endMs = performance.now() + SECONDS * 1_000
      const isOver = () => performance.now() > endMs
      const [viem, ethers, wallet] = await Promise.all([
        viemLoop(running, isOver),
        ethersLoop(running, isOver),
        walletLoop(running, isOver),
      ])
      const { totals } = running.node.promises
      console.log(
        `viem ${JSON.stringify(viem)}, ethers ${JSON.stringify(ethers)}, batches ${JSON.stringify([...wallet])}, promises ${JSON.stringify(totals)}`,
      )
      expect(viem.included).toBeGreaterThan(0)
      expect(ethers.included).toBeGreaterThan(0)
      expect(wallet.get(200)).toBeGreaterThan(0)
      expect(totals.retracted).toBeGreaterThan(0)
    },
  )
})

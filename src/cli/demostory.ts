import { Address, Hex } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import type { Pocketchain } from '../index.ts'
import type { Server } from '../server/index.ts'
import type { CallsStatus } from '../wallet/index.ts'
import { AppSocket } from './appsocket.ts'
import { PURSE, purchase, setStage } from './demostage.ts'
import type { Stage } from './demostage.ts'
import { formatEther } from './ether.ts'
import type { Hand } from './hand.ts'
import type { Narrator } from './narrator.ts'

/** Who takes part. */
export interface Company {
  readonly node: Pocketchain
  readonly server: Server
  readonly hand: Hand
  readonly narrator: Narrator
}

/**
 * An app asks for a batch of two calls, a sponsor pays, the chain pre-confirms and seals. The app is on the socket that every app uses. Throws Error,
 * and RpcError for what is refused to the app.
 */
export async function playDemo(company: Company): Promise<void> {
  const { node, narrator, server } = company
  narrator.begin('sponsor')
  server.ca() // made now, or what is in the way is told here
  const before = await depositOf(node)
  narrator.done(`${sponsorUrl(server)}, ${formatEther(before)} ETH deposited at the EntryPoint`)
  narrator.begin('customer')
  const stage = await setStage(node)
  const { customer, symbol } = stage
  narrator.done(`${Address.checksum(customer)}, a new key: ${PURSE} ${symbol} and no ether, so it can pay no fee`)
  const app = await AppSocket.open(`${server.wsUrl}/wallet`, DEMO_ORIGIN)
  try {
    await connect(company, app, stage)
    const done = await preconfirmed(company, app, await sendBatch(company, app, stage))
    await sealed(company, app, done)
    await settle(company, stage, done, before)
  } finally {
    app.close()
  }
}

/** The site that asks, as a browser would name it. */
export const DEMO_ORIGIN = 'https://shop.example'

// --- the steps ------------------------------------------------------------------------------------------------------

async function connect({ node, narrator }: Company, app: AppSocket, { customer }: Stage): Promise<void> {
  narrator.begin('connect')
  await app.request('eth_requestAccounts')
  const chainId = Hex.fromQuantity(node.chain.config.chainId)
  const capabilities = (await app.request('wallet_getCapabilities', customer, [chainId])) as Capabilities // what the method answers
  const { atomic, paymasterService } = capabilities[chainId] ?? {}
  if (paymasterService?.supported !== true) throw new Error('the wallet says that it supports no sponsor for this account')
  narrator.done(`${DEMO_ORIGIN} may use the account; the wallet says: atomic ${atomic?.status}, paymasterService supported`)
}

interface Capabilities {
  readonly [chainId: string]: {
    readonly atomic?: { readonly status: string }
    readonly paymasterService?: { readonly supported: boolean }
  }
}

/** Answers the id of the batch. */
async function sendBatch({ node, hand, server, narrator }: Company, app: AppSocket, stage: Stage): Promise<string> {
  narrator.begin('quote')
  hand.onAsked(() => {
    if (narrator.current !== 'quote') return
    narrator.done('stub, estimate, final: the sponsor signed for the batch before anybody was asked')
    narrator.begin('approve')
  })
  const batch = {
    version: '2.0.0',
    from: stage.customer,
    chainId: Hex.fromQuantity(node.chain.config.chainId),
    atomicRequired: true,
    calls: purchase(stage),
    capabilities: { paymasterService: { url: sponsorUrl(server) } },
  }
  const { id } = (await app.request('wallet_sendCalls', batch)) as { readonly id: string } // what the method answers
  narrator.done(`batch ${id}`)
  return id
}

async function preconfirmed({ node, narrator }: Company, app: AppSocket, id: string): Promise<Done> {
  narrator.begin('pre-confirmed')
  const places = new Map<string, string>()
  const leave = node.chain.head.subscribe((event) => {
    if (event.kind !== 'block' || event.sealed) return
    const place = `flashblock ${event.block.header.number}.${event.flashblock.index}`
    for (const { hash } of event.block.transactions.slice(event.firstTransaction)) places.set(hash, place)
  })
  const status = await statusOf(app, id)
  leave()
  const [receipt] = status.receipts ?? []
  const { userOperation } = status.capabilities
  if (status.status !== 200 || receipt === undefined || userOperation === undefined)
    throw new Error(`the batch came to status ${status.status}: ${status.capabilities.status.message ?? 'it says no more'}`)
  const { transactionHash, blockNumber } = receipt
  const operationHash = userOperation.userOpHash
  const place = places.get(transactionHash) ?? `block ${Number(blockNumber)}`
  narrator.done(`${place}, status 200`, `operation   ${operationHash}`, `transaction ${transactionHash}`)
  return { transactionHash, operationHash }
}

interface Done {
  readonly transactionHash: Hash
  readonly operationHash: Hash
}

/** For a batch that waits the wallet waits, too: this asks every second or two. */
async function statusOf(app: AppSocket, id: string): Promise<Status> {
  for (;;) {
    const status = (await app.request('wallet_getCallsStatus', id)) as Status // what the method answers
    if (status.status !== 100) return status
  }
}

type Status = CallsStatus & { readonly capabilities: { readonly userOperation?: { readonly userOpHash: Hash } } }

/** A receipt has the hash of its block as soon as that is sealed; news of blocks come as to any app. */
async function sealed({ narrator }: Company, app: AppSocket, { transactionHash }: Done): Promise<void> {
  narrator.begin('sealed')
  await app.request('eth_subscribe', 'newHeads')
  for (;;) {
    const news = nextEvent(app)
    const receipt = (await app.request('eth_getTransactionReceipt', transactionHash)) as Receipt | null // what the method answers
    if (receipt !== null && BigInt(receipt.blockHash) !== 0n)
      return narrator.done(`block ${Number(receipt.blockNumber)}, ${receipt.blockHash}`)
    await news
  }
}

interface Receipt {
  readonly blockHash: Hash
  readonly blockNumber: Hex
}

function nextEvent(app: AppSocket): Promise<void> {
  return new Promise((resolve) => {
    const leave = app.listen(() => {
      leave()
      resolve()
    })
  })
}

/** Who paid: the ledger of the sponsor, the event of the EntryPoint and the deposit there must say the same. */
async function settle({ node, narrator }: Company, { customer }: Stage, { operationHash }: Done, before: bigint): Promise<void> {
  narrator.begin('paid')
  await node.sponsor.settled()
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const { entries } = (await ask('pocketchain_sponsorLedger', { sender: customer })) as Ledger // what the method answers
  const entry = entries.find(({ userOpHash }) => userOpHash === operationHash)
  const charged = (await ask('eth_getUserOperationReceipt', operationHash)) as { readonly actualGasCost: Hex } | null // what the method answers
  const cost = BigInt(charged?.actualGasCost ?? '0x0')
  const paid = before - (await depositOf(node))
  if (entry?.state !== 'settled' || BigInt(entry.cost ?? '0x0') !== cost || paid !== cost)
    throw new Error(`the chain charged ${cost} wei, the deposit fell by ${paid}, and the ledger says ${entry?.state}: ${entry?.cost}`)
  const held = BigInt((await ask('eth_getBalance', customer, 'latest')) as Hex) // what the method answers
  if (held !== 0n) throw new Error(`the customer holds ${held} wei; it began with none`)
  narrator.done(
    'customer 0 wei',
    `sponsor  ${cost.toLocaleString('en-US')} wei (${formatEther(cost)} ETH), under the policy ${JSON.stringify(entry.policy)}:`,
    'ledger, receipt and deposit agree',
  )
}

interface Ledger {
  readonly entries: readonly {
    readonly userOpHash: Hash
    readonly state: string
    readonly cost: Hex | null
    readonly policy: string | null
  }[]
}

/** Wei of the sponsor at the EntryPoint that batches of the wallet go through. */
async function depositOf(node: Pocketchain): Promise<bigint> {
  const { paymasters } = (await node.request({ method: 'pocketchain_sponsorStatus' })) as SponsorStatus // what the method answers
  return BigInt(paymasters.find(({ version }) => version === '0.8')?.deposit ?? '0x0')
}

interface SponsorStatus {
  readonly paymasters: readonly { readonly version: string; readonly deposit: Hex }[]
}

/** As an app names it: https alone will do. */
function sponsorUrl({ paymaster }: Server): string {
  if (paymaster === null) throw new Error('the server of the demo has no sponsor')
  return paymaster.url
}

import { Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { Pocketchain } from '../../index.ts'
import type { Server } from '../../server/index.ts'
import type { CallsStatus, Provider } from '../../wallet/index.ts'
import { CUSTOMER_TOKENS, deployToken, purchaseCalls } from './token.ts'
import type { DemoAccounts } from './token.ts'
import { formatEther } from '../values.ts'
import { grouped } from '../terminal.ts'
import type { Approver } from './approver.ts'
import type { StepLog } from './steplog.ts'

/** The parts of a demo. */
interface DemoContext {
  readonly node: Pocketchain
  readonly server: Server
  readonly approver: Approver
  readonly log: StepLog
}

/**
 * An app sends a batch of two calls by its EIP-1193 provider, a sponsor pays, the chain pre-confirms and seals. Throws Error, and RpcError if a request of
 * the app is refused.
 */
export async function runSteps(context: DemoContext): Promise<void> {
  const { node, log, server } = context
  log.begin('sponsor')
  server.ca() // created here, so that an error belongs to this step
  const before = await depositOf(node)
  log.done(`${sponsorUrl(server)}, ${formatEther(before)} ETH deposited at the EntryPoint`)
  log.begin('customer')
  const accounts = await deployToken(node)
  const { customer, symbol } = accounts
  log.done(`${Address.checksum(customer)}, a new key: ${CUSTOMER_TOKENS} ${symbol} and no ether, so it can pay no fee`)
  const app = node.wallet.provider(DEMO_ORIGIN)
  try {
    await connect(context, app, accounts)
    const batch = await preconfirmed(context, app, await sendBatch(context, app, accounts))
    await sealed(context, app, batch)
    await settle(context, accounts, batch, before)
  } finally {
    app.close()
  }
}

/** Origin of the app. */
const DEMO_ORIGIN = 'https://shop.example'

// --- the steps ------------------------------------------------------------------------------------------------------

async function connect({ node, log }: DemoContext, app: Provider, { customer }: DemoAccounts): Promise<void> {
  log.begin('connect')
  await app.request({ method: 'eth_requestAccounts' })
  const chainId = Hex.fromQuantity(node.chain.config.chainId)
  const capabilities = (await app.request({ method: 'wallet_getCapabilities', params: [customer, [chainId]] })) as Capabilities // result of the method
  const { atomic, paymasterService } = capabilities[chainId] ?? {}
  if (paymasterService?.supported !== true) throw new Error('the wallet does not report paymasterService for this account')
  log.done(`${DEMO_ORIGIN} may use the account; capabilities: atomic ${atomic?.status}, paymasterService supported`)
}

interface Capabilities {
  readonly [chainId: string]: {
    readonly atomic?: { readonly status: string }
    readonly paymasterService?: { readonly supported: boolean }
  }
}

async function sendBatch({ node, approver, server, log }: DemoContext, app: Provider, accounts: DemoAccounts): Promise<string> {
  log.begin('quote')
  approver.onAsked(() => {
    if (log.current !== 'quote') return
    log.done('stub, estimate, final: the sponsor signed for the batch before the user was asked')
    log.begin('approve')
  })
  const batch = {
    version: '2.0.0',
    from: accounts.customer,
    chainId: Hex.fromQuantity(node.chain.config.chainId),
    atomicRequired: true,
    calls: purchaseCalls(accounts),
    capabilities: { paymasterService: { url: sponsorUrl(server) } },
  }
  const { id } = (await app.request({ method: 'wallet_sendCalls', params: [batch] })) as { readonly id: string } // result of the method
  log.done(`batch ${id}`)
  return id
}

async function preconfirmed({ node, log }: DemoContext, app: Provider, id: string): Promise<ConfirmedBatch> {
  log.begin('pre-confirmed')
  const locations = new Map<string, string>()
  const unsubscribe = node.chain.head.subscribe((event) => {
    if (event.kind !== 'block' || event.sealed) return
    const location = `flashblock ${event.block.header.number}.${event.flashblock.index}`
    for (const { hash } of event.block.transactions.slice(event.firstTransaction)) locations.set(hash, location)
  })
  const status = await statusOf(app, id)
  unsubscribe()
  const [receipt] = status.receipts ?? []
  const { userOperation } = status.capabilities
  if (status.status !== 200 || receipt === undefined || userOperation === undefined)
    throw new Error(`the batch has status ${status.status}: ${status.capabilities.status.message ?? 'no message'}`)
  const { transactionHash, blockNumber } = receipt
  const operationHash = userOperation.userOpHash
  const location = locations.get(transactionHash) ?? `block ${Number(blockNumber)}`
  log.done(`${location}, status 200`, `operation   ${operationHash}`, `transaction ${transactionHash}`)
  return { transactionHash, operationHash }
}

interface ConfirmedBatch {
  readonly transactionHash: Hash
  readonly operationHash: Hash
}

/** Polls without a delay: the wallet answers when the status changes, or after a second or two. */
async function statusOf(app: Provider, id: string): Promise<Status> {
  for (;;) {
    const status = (await app.request({ method: 'wallet_getCallsStatus', params: [id] })) as Status // result of the method
    if (status.status !== 100) return status
  }
}

type Status = CallsStatus & { readonly capabilities: { readonly userOperation?: { readonly userOpHash: Hash } } }

/** The receipt has a block hash when the block is sealed; a newHeads event is the signal to read it again. */
async function sealed({ log }: DemoContext, app: Provider, { transactionHash }: ConfirmedBatch): Promise<void> {
  log.begin('sealed')
  await app.request({ method: 'eth_subscribe', params: ['newHeads'] })
  for (;;) {
    const event = nextEvent(app)
    const receipt = (await app.request({ method: 'eth_getTransactionReceipt', params: [transactionHash] })) as Receipt | null // result of the method
    if (receipt !== null && BigInt(receipt.blockHash) !== 0n) return log.done(`block ${Number(receipt.blockNumber)}, ${receipt.blockHash}`)
    await event
  }
}

interface Receipt {
  readonly blockHash: Hash
  readonly blockNumber: Hex
}

function nextEvent(app: Provider): Promise<void> {
  return new Promise((resolve) => {
    const listener = () => {
      app.removeListener('message', listener)
      resolve()
    }
    app.on('message', listener)
  })
}

/** Checks that the sponsor's ledger, the event of the EntryPoint and the deposit there agree. */
async function settle(
  { node, log }: DemoContext,
  { customer }: DemoAccounts,
  { operationHash }: ConfirmedBatch,
  before: bigint,
): Promise<void> {
  log.begin('paid')
  await node.sponsor.settled()
  const request = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  const { entries } = (await request('pocketchain_sponsorLedger', { sender: customer })) as Ledger // result of the method
  const entry = entries.find(({ userOpHash }) => userOpHash === operationHash)
  const charged = (await request('eth_getUserOperationReceipt', operationHash)) as { readonly actualGasCost: Hex } | null // result of the method
  const cost = BigInt(charged?.actualGasCost ?? '0x0')
  const paid = before - (await depositOf(node))
  if (entry?.state !== 'settled' || BigInt(entry.cost ?? '0x0') !== cost || paid !== cost)
    throw new Error(
      `the chain charged ${cost} wei, the deposit decreased by ${paid}, and the ledger entry is ${entry?.state} with ${entry?.cost}`,
    )
  const held = BigInt((await request('eth_getBalance', customer, 'latest')) as Hex) // result of the method
  if (held !== 0n) throw new Error(`the customer has ${held} wei instead of none`)
  log.done(
    'customer 0 wei',
    `sponsor  ${grouped(cost)} wei (${formatEther(cost)} ETH), under the policy ${JSON.stringify(entry.policy)}:`,
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

/** Deposit of the sponsor at the EntryPoint that the wallet uses, wei. */
async function depositOf(node: Pocketchain): Promise<bigint> {
  const { paymasters } = (await node.request({ method: 'pocketchain_sponsorStatus' })) as SponsorStatus // result of the method
  return BigInt(paymasters.find(({ version }) => version === '0.8')?.deposit ?? '0x0')
}

interface SponsorStatus {
  readonly paymasters: readonly { readonly version: string; readonly deposit: Hex }[]
}

/** The https URL, which a `paymasterService` requires. */
function sponsorUrl({ paymaster }: Server): string {
  if (paymaster === null) throw new Error('the server of the demo has no sponsor')
  return paymaster.url
}

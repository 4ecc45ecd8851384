import { Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import { CODE, Router, RpcError, isImageUri, memoryRecords, routesOf, tableOf, toRpcErrorBy } from '../jsonrpc/index.ts'
import type { Records, Rpc, RpcRequest } from '../jsonrpc/index.ts'
import { sponsorApi } from './api.ts'
import { DepositWatch } from './deposit.ts'
import { sponsorDeployments } from './deployment.ts'
import { Faults } from './faults.ts'
import { Ledger } from './ledger.ts'
import { FIRST_DEPOSIT, MOST_VALID_SECONDS, SPONSOR_ICON_CHARS, SPONSOR_NAME_CHARS, VALID_FOR_SECONDS } from './limits.ts'
import { SPONSOR_METHODS } from './methods.ts'
import type { SponsorApi } from './methods.ts'
import { SponsorNode } from './node.ts'
import { DEFAULT_POLICIES } from './policy.ts'
import type { PolicyJson } from './policy.ts'
import { parsePolicies } from './policyschema.ts'
import { Service } from './service.ts'
import type { PaymasterCaller } from './erc7677.ts'
import { Settlement } from './settlement.ts'
import { SetUp } from './setup.ts'

export interface PaymasterOptions {
  /** the node: ours, or any other */
  readonly rpc: Rpc
  /** signs what is sponsored; part of the code of the paymasters */
  readonly signer: PrivateKey
  /** pays deployments and deposits, and may withdraw them; part of the code of the paymasters */
  readonly owner: PrivateKey
  /** where the ledger is kept: in memory */
  readonly records?: Records
  /** what wallets show: 'Pocketchain' */
  readonly name?: string
  /** what wallets show, a data: URI: none */
  readonly icon?: string | null
  /** the first that grants an operation pays for it: one that grants everything */
  readonly policies?: readonly PolicyJson[]
  /** how long a promise to pay holds, by the chain's clock: 300 */
  readonly validForSeconds?: number
  /** wei that a paymaster gets when the sponsor deploys it itself: 10 ether */
  readonly depositWei?: bigint
  /** gets a line when a deposit becomes low */
  readonly onNote?: (line: string) => void
  /** gets what breaks while nobody waits for it */
  readonly onError?: (error: unknown) => void
}

/** A gas sponsor (ERC-7677) without a socket. */
export interface Paymaster {
  /** One body of JSON-RPC over HTTP, batches too. Never rejects. An empty body: there is nothing to answer. */
  readonly handle: (body: Uint8Array, caller: PaymasterCaller) => Promise<{ readonly status: number; readonly body: string }>
  /** what the pocketchain_sponsor methods do */
  readonly api: () => Promise<SponsorApi>
  /** The pocketchain_sponsor methods. Throws RpcError. */
  readonly control: (request: RpcRequest) => Promise<unknown>
  /** When everything up to the chain's head has been looked at. */
  readonly settled: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Throws RangeError for options that cannot be, DecodeError for keys that are none, and UnreadableLedger for records of another version. */
export function createPaymaster(options: PaymasterOptions): Paymaster {
  const { rpc, records = memoryRecords(), onNote = nothing, onError = nothing } = options
  let policies = parsePolicies(options.policies ?? DEFAULT_POLICIES)
  const sponsor = { name: nameOf(options), icon: iconOf(options) }
  const validForSeconds = secondsOf(options)
  const node = new SponsorNode(rpc)
  const [owner, signer] = [Secp256k1.address(options.owner), Secp256k1.address(options.signer)]
  const deployments = sponsorDeployments(owner, signer)
  const ledger = new Ledger(records, { onError })
  const depositWei = depositOf(options)
  const setUp = new SetUp(node, { owner: { address: owner, key: options.owner }, deployments, depositWei })
  const deposits = new DepositWatch(node, { deployments, reservedOf: (paymaster: Address) => ledger.reservedOf(paymaster), onLow: onNote })
  const faults = new Faults()
  const shared = { node, setUp, deposits, faults, ledger, sponsor, validForSeconds, policies: () => policies }
  const look = (): void => void deposits.look((version) => setUp.isStanding(version)).catch(onError)
  const watch = new Watch(async () => {
    const chainId = await node.chainId()
    const entryPoints = deployments.map(({ entryPoint }) => entryPoint)
    const paymasters = deployments.map(({ address }) => address)
    return new Settlement({ rpc, ledger, chainId, entryPoints, paymasters, onError, onHead: look })
  })
  // What was promised before may have been used meanwhile.
  if (ledger.hasOpen) watch.settlement().catch(onError)
  const service = new Service({ ...shared, signer: options.signer, onError, watching: () => watch.settlement() })
  const implementation = sponsorApi({ ...shared, deployments, owner, signer, setPolicies: (set) => void (policies = set) })
  const api = async () => implementation
  const find = tableOf(routesOf(SPONSOR_METHODS, { api }))
  const router = new Router<null>({ find, toRpcError: toRpcErrorBy({ onBug: onError }) })
  return {
    handle: (body, caller) => service.handle(body, caller),
    api,
    control: async ({ method, params }) => router.call(method, params, null, false),
    settled: async () => (await watch.settlement()).settled(),
    close: () => watch.close(),
  }
}

/** The chain is watched from the first promise on. */
class Watch {
  readonly #make: () => Promise<Settlement>
  #settlement: Promise<Settlement> | null = null
  #isClosed = false

  constructor(make: () => Promise<Settlement>) {
    this.#make = make
  }

  /** When it has looked at what happened before. Rejects when the node does not answer, and then tries again when asked again. */
  settlement(): Promise<Settlement> {
    if (this.#isClosed) throw new RpcError(CODE.server, 'the sponsor is closed')
    if (this.#settlement !== null) return this.#settlement
    const started = this.#make().then(async (settlement) => {
      if (!this.#isClosed) await settlement.start()
      return settlement
    })
    started.catch(() => (this.#settlement = null))
    return (this.#settlement = started)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const settlement = await this.#settlement?.catch(() => null)
    await settlement?.close()
  }
}

function nameOf({ name = 'Pocketchain' }: PaymasterOptions): string {
  if (name !== '' && name.length <= SPONSOR_NAME_CHARS) return name
  throw new RangeError(`a sponsor's name must have 1 to ${SPONSOR_NAME_CHARS} characters, not ${name.length}`)
}

/** Wallets show no icon that they would have to fetch (ERC-7677). */
function iconOf({ icon = null }: PaymasterOptions): string | null {
  if (icon === null || (icon.length <= SPONSOR_ICON_CHARS && isImageUri(icon))) return icon
  throw new RangeError(
    `a sponsor's icon must be a data: URI of a PNG, JPEG, GIF, WebP, AVIF or SVG, encoded, with at most ${SPONSOR_ICON_CHARS} characters, such as data:image/png;base64,…, not ${icon.slice(0, 40)}`,
  )
}

function secondsOf({ validForSeconds = VALID_FOR_SECONDS }: PaymasterOptions): number {
  if (Number.isSafeInteger(validForSeconds) && validForSeconds >= 1 && validForSeconds <= MOST_VALID_SECONDS) return validForSeconds
  throw new RangeError(`validForSeconds must be a whole number from 1 to ${MOST_VALID_SECONDS}, not ${validForSeconds}`)
}

function depositOf({ depositWei = FIRST_DEPOSIT }: PaymasterOptions): bigint {
  if (typeof depositWei === 'bigint' && depositWei >= 0n && depositWei >> 256n === 0n) return depositWei
  throw new RangeError(`depositWei must be wei as a bigint, 0n or more, not ${String(depositWei)}`)
}

function nothing(): void {}

import { Secp256k1 } from '../eth/index.ts'
import type { Address, PrivateKey } from '../eth/index.ts'
import { CODE, Router, RpcError, isImageUri, memoryRecords, routesOf, tableOf, toRpcErrorBy } from '../jsonrpc/index.ts'
import type { Records, Rpc, RpcRequest } from '../jsonrpc/index.ts'
import { sponsorApi } from './api.ts'
import { DepositMonitor } from './deposit.ts'
import { sponsorDeployments } from './deployment.ts'
import { FaultInjector } from './faults.ts'
import { Ledger } from './ledger.ts'
import { FIRST_DEPOSIT, MAX_VALID_SECONDS, SPONSOR_ICON_CHARS, SPONSOR_NAME_CHARS, VALID_FOR_SECONDS } from './limits.ts'
import { SPONSOR_METHODS } from './methods.ts'
import type { SponsorApi } from './methods.ts'
import { SponsorNode } from './node.ts'
import { DEFAULT_POLICIES } from './policy.ts'
import type { PolicyJson } from './policy.ts'
import { parsePolicies } from './policyschema.ts'
import { Service } from './service.ts'
import type { PaymasterCaller } from './erc7677.ts'
import { Settlement } from './settlement.ts'
import { PaymasterDeployer } from './deployer.ts'

export interface PaymasterOptions {
  /** this node, or another */
  readonly rpc: Rpc
  /** signs sponsored operations; part of the paymasters' code */
  readonly signer: PrivateKey
  /** pays deployments and deposits, and may withdraw deposits; part of the paymasters' code */
  readonly owner: PrivateKey
  /** storage of the ledger: in memory */
  readonly records?: Records
  /** shown by wallets: 'Pocketchain' */
  readonly name?: string
  /** a `data:` URI, shown by wallets; none by default */
  readonly icon?: string | null
  /** the first policy that grants an operation pays for it: one that grants everything */
  readonly policies?: readonly PolicyJson[]
  /** validity of a signature in seconds of the chain's clock, 300 by default */
  readonly validForSeconds?: number
  /** initial deposit of a paymaster that the sponsor deploys, in wei; 10 ether by default */
  readonly depositWei?: bigint
  /** receives a line when a deposit becomes low */
  readonly onNote?: (line: string) => void
  /** receives errors of background tasks */
  readonly onError?: (error: unknown) => void
}

/** A gas sponsor (ERC-7677) without a socket. */
export interface Paymaster {
  /** Handles one JSON-RPC body over HTTP, also a batch. Never rejects. The body is empty for notifications. */
  readonly handle: (body: Uint8Array, caller: PaymasterCaller) => Promise<{ readonly status: number; readonly body: string }>
  /** the implementation of the pocketchain_sponsor methods */
  readonly api: () => Promise<SponsorApi>
  /** Handles the pocketchain_sponsor methods. Throws RpcError. */
  readonly control: (request: RpcRequest) => Promise<unknown>
  /** Resolves once all blocks up to the chain's head are processed. */
  readonly settled: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Throws RangeError for invalid options, DecodeError for invalid keys, UnreadableLedger for records of another version. */
export function createPaymaster(options: PaymasterOptions): Paymaster {
  const { rpc, records = memoryRecords(), onNote = ignore, onError = ignore } = options
  let policies = parsePolicies(options.policies ?? DEFAULT_POLICIES)
  const sponsor = { name: nameOf(options), icon: iconOf(options) }
  const validForSeconds = secondsOf(options)
  const node = new SponsorNode(rpc)
  const [owner, signer] = [Secp256k1.address(options.owner), Secp256k1.address(options.signer)]
  const deployments = sponsorDeployments(owner, signer)
  const ledger = new Ledger(records, { onError })
  const depositWei = depositOf(options)
  const deployer = new PaymasterDeployer(node, { owner: { address: owner, key: options.owner }, deployments, depositWei })
  const deposits = new DepositMonitor(node, {
    deployments,
    reservedOf: (paymaster: Address) => ledger.reservedOf(paymaster),
    onLow: onNote,
  })
  const faults = new FaultInjector()
  const shared = { node, deployer, deposits, faults, ledger, sponsor, validForSeconds, policies: () => policies }
  const look = (): void => void deposits.checkDeployed((version) => deployer.isDeployed(version)).catch(onError)
  const settlement = new LazySettlement(async () => {
    const chainId = await node.chainId()
    const entryPoints = deployments.map(({ entryPoint }) => entryPoint)
    const paymasters = deployments.map(({ address }) => address)
    return new Settlement({ rpc, ledger, chainId, entryPoints, paymasters, onError, onHead: look })
  })
  // Earlier reservations may have been used since.
  if (ledger.hasOpen) settlement.started().catch(onError)
  const service = new Service({ ...shared, signer: options.signer, onError, ensureWatching: () => settlement.started() })
  const implementation = sponsorApi({ ...shared, deployments, owner, signer, setPolicies: (set) => void (policies = set) })
  const api = async () => implementation
  const find = tableOf(routesOf(SPONSOR_METHODS, { api }))
  const router = new Router<null>({ find, toRpcError: toRpcErrorBy({ onBug: onError }) })
  return {
    handle: (body, caller) => service.handle(body, caller),
    api,
    control: async ({ method, params }) => router.call(method, params, null, false),
    settled: async () => (await settlement.started()).settled(),
    close: () => settlement.close(),
  }
}

/** Starts the settlement with the first reservation. */
class LazySettlement {
  readonly #make: () => Promise<Settlement>
  #settlement: Promise<Settlement> | null = null
  #isClosed = false

  constructor(make: () => Promise<Settlement>) {
    this.#make = make
  }

  /** Resolves once the blocks of the past are processed. Rejects if the node does not respond; the next call tries again. */
  started(): Promise<Settlement> {
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

/** Wallets do not fetch icons (ERC-7677). */
function iconOf({ icon = null }: PaymasterOptions): string | null {
  if (icon === null || (icon.length <= SPONSOR_ICON_CHARS && isImageUri(icon))) return icon
  throw new RangeError(
    `a sponsor's icon must be a data: URI of a PNG, JPEG, GIF, WebP, AVIF or SVG, encoded, with at most ${SPONSOR_ICON_CHARS} characters, such as data:image/png;base64,…, not ${icon.slice(0, 40)}`,
  )
}

function secondsOf({ validForSeconds = VALID_FOR_SECONDS }: PaymasterOptions): number {
  if (Number.isSafeInteger(validForSeconds) && validForSeconds >= 1 && validForSeconds <= MAX_VALID_SECONDS) return validForSeconds
  throw new RangeError(`validForSeconds must be a whole number from 1 to ${MAX_VALID_SECONDS}, not ${validForSeconds}`)
}

function depositOf({ depositWei = FIRST_DEPOSIT }: PaymasterOptions): bigint {
  if (typeof depositWei === 'bigint' && depositWei >= 0n && depositWei >> 256n === 0n) return depositWei
  throw new RangeError(`depositWei must be wei as a bigint, 0n or more, not ${String(depositWei)}`)
}

function ignore(): void {}

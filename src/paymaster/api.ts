import { Address, Hex } from '../eth/index.ts'
import type { DepositMonitor } from './deposit.ts'
import type { SponsorDeployment } from './deployment.ts'
import { quantityOrNull } from './entry.ts'
import type { Entry } from './entry.ts'
import type { FaultInjector } from './faults.ts'
import type { Ledger } from './ledger.ts'
import type { LedgerQuery, SponsorApi } from './methods.ts'
import type { SponsorNode } from './node.ts'
import { policyJson } from './policy.ts'
import type { Policy } from './policy.ts'
import type { LedgerEntry, LedgerPage, PaymasterStatus, PolicyStatus, SponsorStatus } from './results.ts'
import type { PaymasterDeployer } from './deployer.ts'

interface SponsorParts {
  readonly node: SponsorNode
  readonly deployer: PaymasterDeployer
  readonly deposits: DepositMonitor
  readonly faults: FaultInjector
  readonly ledger: Ledger
  readonly deployments: readonly SponsorDeployment[]
  readonly owner: Address
  readonly signer: Address
  readonly sponsor: { readonly name: string; readonly icon: string | null }
  readonly validForSeconds: number
  readonly policies: () => readonly Policy[]
  readonly setPolicies: (policies: readonly Policy[]) => void
}

/** The operator's methods, JSON-ready. All throw RpcError. */
export function sponsorApi(parts: SponsorParts): SponsorApi {
  return {
    status: () => status(parts),
    ledger: (query) => ledgerPage(parts, query),
    setFault: (fault) => {
      parts.faults.set(fault)
      return parts.faults.current
    },
    setPolicies: async (policies) => {
      if (policies !== undefined) parts.setPolicies(policies)
      return policiesJson(parts)
    },
    deposit: (version, wei) => parts.deployer.deposit(version, wei),
  }
}

async function status(parts: SponsorParts): Promise<SponsorStatus> {
  const { owner, signer, sponsor, validForSeconds, faults, ledger, deployments } = parts
  const paymasters = await Promise.all(deployments.map((each) => paymasterJson(parts, each)))
  const { reserved, settled } = ledger.totals
  return {
    name: sponsor.name,
    icon: sponsor.icon,
    owner: Address.checksum(owner),
    signer: Address.checksum(signer),
    validForSeconds,
    fault: faults.current,
    paymasters,
    policies: await policiesJson(parts),
    counts: ledger.counts,
    totals: { reserved: Hex.fromQuantity(reserved), settled: Hex.fromQuantity(settled) },
  }
}

async function paymasterJson({ node, deposits }: SponsorParts, deployment: SponsorDeployment): Promise<PaymasterStatus> {
  const { version, entryPoint, address } = deployment
  const [deployed, now] = await Promise.all([node.hasCode(address), deposits.read(deployment)])
  return {
    version,
    entryPoint: Address.checksum(entryPoint),
    address: Address.checksum(address),
    deployed,
    deposit: Hex.fromQuantity(now.deposit),
    reserved: Hex.fromQuantity(now.reserved),
    isLow: now.isLow,
  }
}

async function policiesJson({ node, ledger, policies: all }: SponsorParts): Promise<readonly PolicyStatus[]> {
  const { timestamp } = await node.now()
  return all().map((policy) => {
    const { reserved, settled, today, users, left } = ledger.budget(policy, timestamp)
    const use = { reserved: Hex.fromQuantity(reserved), settled: Hex.fromQuantity(settled), today: Hex.fromQuantity(today), users }
    return { ...policyJson(policy), use, left: left === null ? null : Hex.fromQuantity(left) }
  })
}

// --- the ledger -------------------------------------------------------------------------------------------------------

function ledgerPage({ ledger, deployer }: SponsorParts, { limit, before, sender, state }: LedgerQuery): LedgerPage {
  const query = {
    ...(limit === undefined ? null : { limit }),
    ...(before === undefined ? null : { before }),
    ...(sender === undefined ? null : { sender }),
    ...(state === undefined ? null : { state }),
  }
  const { entries, next } = ledger.entries(query)
  return { entries: entries.map((entry) => entryJson(entry, deployer)), next }
}

function entryJson(entry: Entry, deployer: PaymasterDeployer): LedgerEntry {
  const { id, at, state, stage, version, policy, validUntil, place, success, reason, message, reasons, callCount } = entry
  return {
    id,
    at,
    state,
    stage,
    version,
    entryPoint: Address.checksum(entry.entryPoint),
    paymaster: Address.checksum(entry.paymaster ?? deployer.of(version).address),
    policy,
    sender: Address.checksum(entry.sender),
    nonce: Hex.fromQuantity(entry.nonce),
    userOpHash: entry.userOpHash,
    calls: entry.calls?.map(({ to, value, selector }) => ({ to: Address.checksum(to), value: Hex.fromQuantity(value), selector })) ?? null,
    callCount,
    maxCost: quantityOrNull(entry.maxCost),
    cost: quantityOrNull(entry.cost),
    maxFeePerGas: quantityOrNull(entry.maxFeePerGas),
    maxPriorityFeePerGas: quantityOrNull(entry.maxPriorityFeePerGas),
    gasUsed: quantityOrNull(entry.gasUsed),
    validUntil,
    transactionHash: place?.transactionHash ?? null,
    blockNumber: place === null ? null : Hex.fromQuantity(place.blockNumber),
    success,
    reason,
    message,
    reasons,
  }
}

import { Address } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { AccountLabel, CallView, ChainLabel, Draft, FeeView, Preview } from '../question.ts'

/** Questions in the form that the wallet's methods create, for the tests of the queue. */
export const ORIGIN = 'http://localhost:3000'
export const OTHER = 'http://evil.example'
export const ALICE = Address.from('0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266')
export const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
export const TOKEN = Address.from('0x5fbdb2315678afecb367f032d93f642f64180aa3')
export const ETHER = 10n ** 18n

export const CHAIN: ChainLabel = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null }

export const ACCOUNTS: readonly AccountLabel[] = [
  { address: ALICE, name: 'Account 1', balance: '0x0' },
  { address: BOB, name: 'Account 2', balance: null },
]

const QUIET: Preview = { status: 'success', error: null, failedCall: null, changes: [], allowances: [] }
const FREE: FeeView = {
  gas: '0x5208',
  maxFeePerGas: '0x0',
  maxPriorityFeePerGas: '0x0',
  l1Fee: '0x0',
  expected: '0x0',
  most: '0x0',
  sponsor: null,
}

export function connectDraft(origin = ORIGIN, accounts = ACCOUNTS): Draft {
  return { kind: 'connect', origin, method: 'eth_requestAccounts', warnings: [], chain: CHAIN, accounts }
}

export function signDraft(origin = ORIGIN, text = 'hello'): Draft {
  const digest = `0x${'5a'.repeat(32)}` as Hash // 32 bytes
  const signed = { account: ALICE, chain: CHAIN, scheme: 'personal_sign', message: '0x68656c6c6f', text, typedData: null, digest } as const
  return { kind: 'sign', origin, method: 'personal_sign', warnings: [], ...signed }
}

export function upgradeDraft(origin = ORIGIN): Draft {
  const upgrade = {
    account: ALICE,
    chain: CHAIN,
    delegate: TOKEN,
    delegateName: 'Account',
    delegateBefore: null,
    deploys: false,
    batchId: '0x1',
  }
  return { kind: 'upgrade', origin, method: 'wallet_sendCalls', warnings: [], ...upgrade }
}

/** Sends `values` wei, one call each. */
export function batchDraft(values: readonly bigint[], preview: Partial<Preview> = {}, fee: Partial<FeeView> = {}): Draft {
  const spending = { account: ALICE, chain: CHAIN, calls: values.map(callOf), preview: { ...QUIET, ...preview }, fee: { ...FREE, ...fee } }
  return {
    kind: 'batch',
    origin: ORIGIN,
    method: 'wallet_sendCalls',
    warnings: [],
    batchId: '0x1',
    atomic: true,
    execution: 'delegated',
    ...spending,
  }
}

export function sendDraft(value: bigint, preview: Partial<Preview> = {}, fee: Partial<FeeView> = {}): Draft {
  const spending = { account: ALICE, chain: CHAIN, calls: [callOf(value)], preview: { ...QUIET, ...preview }, fee: { ...FREE, ...fee } }
  return { kind: 'send', origin: ORIGIN, method: 'eth_sendTransaction', warnings: [], ...spending }
}

function callOf(value: bigint): CallView {
  const unknown = { label: null, signature: null, args: null, summary: null }
  return { to: BOB, value: `0x${value.toString(16)}`, data: '0x', gasLimitOverride: null, ...unknown }
}

/** The error of a promise that must reject. */
export async function refusalOf(sent: Promise<unknown>): Promise<{ code: number; message: string; reason: unknown }> {
  const answer: unknown = await sent.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(answer instanceof RpcError)) throw new Error(`expected a refusal, got ${JSON.stringify(answer)} ${String(answer)}`)
  return { code: answer.code, message: answer.message, reason: (answer.data as { reason?: unknown } | undefined)?.reason }
}

/** The error of a function that must throw. */
export function refusalBy(run: () => unknown): Promise<{ code: number; message: string; reason: unknown }> {
  return refusalOf(Promise.resolve().then(run))
}

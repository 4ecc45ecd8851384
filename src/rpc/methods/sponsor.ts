import { CODE } from '../errors.ts'
import { optional, required } from '../method.ts'
import type { JsonSchema, Method } from '../method.ts'
import { rowsOf, told } from '../neighbour.ts'
import { ADDRESS, BOOLEAN, BYTES, HASH, QUANTITY, STRING, listOf, orNull, record } from '../results.ts'

const row = rowsOf('sponsor')

const NUMBER: JsonSchema = { type: 'integer', minimum: 0 }
const VERSION: JsonSchema = { enum: ['0.6', '0.7', '0.8'] }
const AMOUNT: JsonSchema = { title: 'wei, decimal or hexadecimal', type: 'string' }

const FAULT = record(
  'fault',
  { kind: { enum: ['refuse', 'http-500', 'slow', 'wrong-signature', 'expired', 'differ', 'empty-deposit'] } },
  { delayMs: NUMBER, times: NUMBER },
)

const POLICY_FIELDS = {
  chains: listOf(NUMBER),
  entryPoints: listOf(ADDRESS),
  contracts: listOf(record('contract', { address: ADDRESS }, { selectors: listOf(STRING) })),
  senders: listOf(ADDRESS),
  perOperation: AMOUNT,
  perUser: AMOUNT,
  perDay: AMOUNT,
  total: AMOUNT,
  until: { title: 'ISO date or Unix seconds', type: ['string', 'integer'] },
}
const POLICY = record('policy', { name: STRING }, { ...POLICY_FIELDS, apiKeys: listOf(STRING) })
const USE = record('use', { reserved: QUANTITY, settled: QUANTITY, today: QUANTITY, users: NUMBER })
const POLICY_SHOWN = record(
  'policy and what is used of it',
  { name: STRING, use: USE, left: orNull(QUANTITY) },
  { ...POLICY_FIELDS, apiKeys: { title: 'how many', ...NUMBER } },
)
const POLICY_EXAMPLE = { name: 'everything', use: { reserved: '0x0', settled: '0x0', today: '0x0', users: 0 }, left: null }

const PAYMASTER = record('paymaster', {
  version: VERSION,
  entryPoint: ADDRESS,
  address: ADDRESS,
  deployed: BOOLEAN,
  deposit: QUANTITY,
  reserved: QUANTITY,
  isLow: BOOLEAN,
})

const STATE: JsonSchema = { enum: ['reserved', 'included', 'settled', 'expired', 'refused'] }

const ENTRY = record('decision', {
  id: NUMBER,
  at: { title: 'Unix time in milliseconds', ...NUMBER },
  state: STATE,
  stage: { enum: ['stub', 'final'] },
  version: VERSION,
  entryPoint: ADDRESS,
  paymaster: ADDRESS,
  policy: orNull(STRING),
  sender: ADDRESS,
  nonce: QUANTITY,
  userOpHash: orNull(HASH),
  calls: orNull(listOf(record('call', { to: ADDRESS, value: QUANTITY, selector: orNull(BYTES) }))),
  callCount: { title: 'of which the first ones are shown', ...NUMBER },
  maxCost: orNull(QUANTITY),
  cost: orNull(QUANTITY),
  validUntil: orNull(NUMBER),
  transactionHash: orNull(HASH),
  blockNumber: orNull(QUANTITY),
  success: orNull(BOOLEAN),
  reason: orNull(STRING),
  message: orNull(STRING),
  reasons: listOf(record('reason', { policy: STRING, reason: STRING, message: STRING })),
})

const PAYMASTER_ADDRESS = '0x2222222222222222222222222222222222222222'
const OWNER = '0xd1111111111111111111111111111111111111d1'
const EP08 = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'
const TX_HASH = '0x3fbac8b19b59077cd29bbacc3815d73577b45a4d976cae80b04c98c793684c07'

/** What a person or a test tells the sponsor beside the node. Operations are sponsored elsewhere: `POST /paymaster`. */
export const SPONSOR_METHODS: readonly Method[] = [
  row({
    name: 'pocketchain_sponsorStatus',
    doc: 'The sponsor: its paymasters with their deposits, its policies with what is used of their budgets, and how many operations are in which state.',
    params: [],
    result: record('status', {
      name: STRING,
      icon: orNull(STRING),
      owner: ADDRESS,
      signer: ADDRESS,
      validForSeconds: NUMBER,
      fault: orNull(FAULT),
      paymasters: listOf(PAYMASTER),
      policies: listOf(POLICY_SHOWN),
      counts: record('counts', { reserved: NUMBER, included: NUMBER, settled: NUMBER, expired: NUMBER, refused: NUMBER }),
      totals: record('wei', { reserved: QUANTITY, settled: QUANTITY }),
    }),
    example: {
      params: [],
      result: {
        name: 'Pocketchain',
        icon: null,
        owner: OWNER,
        signer: OWNER,
        validForSeconds: 300,
        fault: null,
        paymasters: [
          {
            version: '0.8',
            entryPoint: EP08,
            address: PAYMASTER_ADDRESS,
            deployed: true,
            deposit: '0x56bc75e2d63100000',
            reserved: '0x0',
            isLow: false,
          },
        ],
        policies: [POLICY_EXAMPLE],
        counts: { reserved: 0, included: 0, settled: 0, expired: 0, refused: 0 },
        totals: { reserved: '0x0', settled: '0x0' },
      },
    },
  }),
  row({
    name: 'pocketchain_sponsorLedger',
    doc: 'Every decision of the sponsor, newest first: for whom, for which calls, at what cost, why refused; `before` is the `next` of the page before.',
    params: [optional('query', told(record('query', {}, { limit: NUMBER, before: NUMBER, sender: ADDRESS, state: STATE })))],
    result: record('page', { entries: listOf(ENTRY), next: orNull(NUMBER) }),
    example: { params: [{ limit: 10 }], result: { entries: [], next: null } },
  }),
  row({
    name: 'pocketchain_sponsorFault',
    doc: 'From now on the sponsor fails in this way, for so many requests or until it is told null, and answers what holds now.',
    params: [required('fault', told(orNull(FAULT)))],
    control: 'always',
    result: orNull(FAULT),
    example: { params: [{ kind: 'refuse', times: 1 }], result: { kind: 'refuse', times: 1 } },
  }),
  row({
    name: 'pocketchain_sponsorPolicies',
    doc: 'Takes these policies in the place of those there are, when given, until the node ends, and answers all of them; what was spent under a name stays spent.',
    params: [optional('policies', told(listOf(POLICY)))],
    control: 'with-arguments',
    result: listOf(POLICY_SHOWN),
    example: { params: [[{ name: 'everything' }]], result: [POLICY_EXAMPLE] },
  }),
  row({
    name: 'pocketchain_sponsorDeposit',
    doc: "Pays this many wei from the owner's account into the deposit of the paymaster of an EntryPoint version, which is deployed before if it does not stand.",
    params: [required('version', told(VERSION)), required('wei', told(QUANTITY))],
    control: 'always',
    result: HASH,
    errors: { [CODE.server]: "the owner's account cannot pay, or the chain lacks what is needed" },
    example: { params: ['0.8', '0xde0b6b3a7640000'], result: TX_HASH },
  }),
]

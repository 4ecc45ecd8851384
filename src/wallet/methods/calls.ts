import { Hex } from '../../eth/index.ts'
import { jsonSchema, optional, required, schema } from '../../jsonrpc/index.ts'
import { capabilitiesOf } from '../batches/capabilities.ts'
import { batchId, callsRequest } from '../batches/callsrequest.ts'
import { WALLET_CODE } from '../errors.ts'
import { CAPABILITY_CHAINS } from '../limits.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'
import { sendCalls } from '../batches/sendcalls.ts'
import { CALLS_STATUS_METHOD, UNKNOWN_BATCH } from './callsstatus.ts'
import { permittedAccount } from '../sites.ts'
import { isSponsorshipEnabled } from '../sponsorship/availability.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
const ID = '0x2c9f1d4be1a0d60d43e0d5b1b0d2c1a5f5a7f4b36e8c2d90a1b7c6d5e4f30211'
const SUPPORTED = jsonSchema.record('capability', { supported: schema.boolean.json })
const ATOMIC_STATUS = { enum: ['supported', 'ready', 'unsupported'] }
const CAPABILITIES = jsonSchema.record(
  'capabilities',
  { paymasterService: SUPPORTED, gasLimitOverride: SUPPORTED, auxiliaryFunds: SUPPORTED, flowControl: SUPPORTED },
  { atomic: jsonSchema.record('atomic', { status: ATOMIC_STATUS, supported: ATOMIC_STATUS }), atomicBatch: SUPPORTED },
)

const EXAMPLE = {
  paymasterService: { supported: true },
  gasLimitOverride: { supported: true },
  auxiliaryFunds: { supported: false },
  flowControl: { supported: false },
}

export const CALLS_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'wallet_sendCalls',
    doc: 'Asks the user to approve a batch of calls and submits it, as one transaction if it must be atomic; returns its id without waiting for a block (EIP-5792).',
    params: [required('batch', callsRequest)],
    result: jsonSchema.record('submitted batch', { id: schema.string.json, batchId: schema.string.json, status: { enum: ['pending'] } }),
    errors: {
      [-32000]: 'the version is not 2.0.0; or the node refuses the transaction',
      [WALLET_CODE.rejected]: 'the user refused the batch',
      [WALLET_CODE.unauthorized]:
        'the origin is not connected, or not to that account; or the private key of the account is public and the chain is a real one; or a sponsor is named and sponsorship is switched off',
      [WALLET_CODE.unsupportedMethod]: 'the url of the paymasterService is invalid, not https, or cannot be reached',
      [WALLET_CODE.paymaster]: 'the paymasterService refuses, fails, or its response is invalid; data.cause is its own error',
      [WALLET_CODE.unsupportedCapability]:
        'a required capability that the wallet lacks; or a sponsor on a chain, or for an account, that does not support one',
      [WALLET_CODE.unsupportedChain]: 'the wallet does not have the chain, or the calls must be atomic and the chain lacks EIP-7702',
      [WALLET_CODE.duplicateId]: 'the origin has submitted a batch with that id for that account',
      [WALLET_CODE.batchTooLarge]: 'too many calls, or too much call data',
      [WALLET_CODE.upgradeRejected]: 'the calls must be atomic, and the user refused to make the account a smart account',
      [WALLET_CODE.atomicityUnsupported]: 'the calls must be atomic, and the account delegates to code that the wallet does not support',
    },
    example: {
      params: [
        {
          version: '2.0.0',
          from: ALICE,
          chainId: '0x7a69',
          atomicRequired: true,
          calls: [
            { to: BOB, value: '0x1' },
            { to: BOB, value: '0x2' },
          ],
          capabilities: { paymasterService: { url: 'https://127.0.0.1:8545/paymaster/rpc' } },
        },
      ],
      result: { id: ID, batchId: ID, status: 'pending' },
    },
    handler: (wallet, [batch], caller) => sendCalls(wallet, batch, caller),
  }),
  CALLS_STATUS_METHOD,
  walletMethod({
    name: 'wallet_showCallsStatus',
    doc: "Returns null for a batch of the origin; the wallet's page lists it with its status.",
    params: [required('id', batchId)],
    result: { type: 'null' },
    errors: UNKNOWN_BATCH,
    example: { params: [ID], result: null },
    handler: ({ batches }, [id], { origin }) => {
      batches.assertKnown(id, origin)
      return null
    },
  }),
  walletMethod({
    name: 'wallet_getCapabilities',
    doc: 'Returns the capabilities of an account by chain id, and under 0x0 those of every requested chain. Unknown chains are left out.',
    params: [optional('account', schema.address), optional('chain ids', schema.arrayOf(schema.quantity, CAPABILITY_CHAINS))],
    result: { type: 'object', additionalProperties: CAPABILITIES },
    errors: { [WALLET_CODE.unauthorized]: 'the origin is not connected, or not to that account' },
    example: {
      params: [ALICE, ['0x7a69']],
      result: {
        '0x0': EXAMPLE,
        '0x7a69': { atomic: { status: 'ready', supported: 'ready' }, atomicBatch: { supported: true }, ...EXAMPLE },
      },
    },
    handler: (wallet, [account, chainIds], { origin }) => {
      const { sites, chains, settings, onError } = wallet
      const permitted = permittedAccount(sites.get(origin), account)
      const wanted = chainIds === undefined ? null : new Set(chainIds.map((id) => Hex.fromQuantity(id)))
      const requested = chains.list().filter(({ chainId }) => wanted === null || wanted.has(Hex.fromQuantity(chainId)))
      return capabilitiesOf(requested, permitted, { settings, isSponsorshipEnabled: isSponsorshipEnabled(wallet, origin), onError })
    },
  }),
]

import { Hex } from '../../eth/index.ts'
import { invalidParams, jsonSchema, optional, schema } from '../../jsonrpc/index.ts'
import { isOptional } from '../batches/callsrequest.ts'
import { connect } from '../connecting.ts'
import type { WalletContext } from '../context.ts'
import { WALLET_CODE, unsupportedCapability } from '../errors.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const ACCOUNTS = jsonSchema.listOf(schema.address.json)
const ERRORS = {
  [WALLET_CODE.rejected]: 'the user refused, or the approval request timed out',
  [WALLET_CODE.unauthorized]: 'the wallet has no accounts',
}

/** ERC-7846. */
const connection = schema.object({ version: schema.maybe(schema.string), capabilities: schema.maybe(schema.anything) })

export const CONNECT_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'eth_requestAccounts',
    doc: 'Asks the user to connect the origin and returns the accounts it may use, the selected one first; without an approval request if the origin is connected.',
    params: [],
    result: ACCOUNTS,
    errors: ERRORS,
    example: { params: [], result: [ALICE] },
    handler: (wallet, _, caller) => connect(wallet, 'eth_requestAccounts', caller),
  }),
  walletMethod({
    name: 'eth_accounts',
    doc: 'Returns the accounts that the origin may use, the selected one first; an empty list before it is connected.',
    params: [],
    result: ACCOUNTS,
    example: { params: [], result: [ALICE] },
    handler: ({ sites }, _, { origin }) => sites.get(origin).accounts,
  }),
  walletMethod({
    name: 'eth_coinbase',
    doc: 'Returns the selected account, null before the origin is connected.',
    params: [],
    result: schema.nullable(schema.address).json,
    example: { params: [], result: ALICE },
    handler: ({ sites }, _, { origin }) => sites.get(origin).accounts[0] ?? null,
  }),
  walletMethod({
    name: 'wallet_connect',
    doc: 'Connects as eth_requestAccounts does and returns the accounts with their capabilities, and the chains, the selected one first (ERC-7846).',
    params: [optional('connection', connection)],
    result: jsonSchema.record('connection', {
      accounts: jsonSchema.listOf(jsonSchema.record('account', { address: schema.address.json, capabilities: { type: 'object' } })),
      chainIds: jsonSchema.listOf(schema.quantity.json),
    }),
    errors: {
      ...ERRORS,
      [WALLET_CODE.unsupportedCapability]: 'a required capability: this method supports none',
    },
    example: {
      params: [{ version: '1' }],
      result: { accounts: [{ address: ALICE, capabilities: {} }], chainIds: ['0x7a69'] },
    },
    handler: async (wallet, [request], caller) => {
      if (request?.version !== undefined && request.version !== '1') {
        throw invalidParams(`wallet_connect has version "1", not ${JSON.stringify(request.version)}`, { reason: 'version' })
      }
      refuseCapabilities(request?.capabilities)
      const accounts = await connect(wallet, 'wallet_connect', caller)
      return {
        accounts: accounts.map((address) => ({ address, capabilities: {} })),
        chainIds: chainIds(wallet, caller.origin),
      }
    },
  }),
  walletMethod({
    name: 'wallet_disconnect',
    doc: 'Revokes the permissions of the origin (ERC-7846).',
    params: [],
    result: { type: 'null' },
    example: { params: [], result: null },
    handler: ({ sites }, _, { origin }) => {
      sites.disconnect(origin)
      return null
    },
  }),
]

/** Throws RpcError 5700 for a required capability of ERC-7846: the wallet has none. */
function refuseCapabilities(capabilities: unknown): void {
  if (capabilities === undefined) return
  if (typeof capabilities !== 'object' || capabilities === null)
    throw invalidParams('capabilities is an object', { reason: 'capabilities' })
  for (const [name, value] of Object.entries(capabilities)) {
    if (value === undefined || value === null || isOptional(value)) continue
    const text = 'The wallet does not support a capability that was not marked as optional'
    throw unsupportedCapability(name, `${text}: wallet_connect has no ${name.slice(0, 100)}`)
  }
}

function chainIds({ sites, chains }: WalletContext, origin: string): readonly Hex[] {
  const { chainId: selected } = sites.get(origin)
  return [selected, ...chains.list().flatMap(({ chainId }) => (chainId === selected ? [] : [chainId]))].map((id) => Hex.fromQuantity(id))
}

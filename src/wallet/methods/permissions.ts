import { Hash, Hex, objectFields } from '../../eth/index.ts'
import { invalidParams, jsonSchema, required, schema } from '../../jsonrpc/index.ts'
import { connect } from '../connecting.ts'
import { WALLET_CODE } from '../errors.ts'
import { walletMethod } from '../method.ts'
import type { WalletMethod } from '../method.ts'
import type { Site } from '../sites.ts'

/** The permissions. Each is granted and revoked with the other, since accounts are used on a chain. */
const NAMES = ['eth_accounts', 'endowment:permitted-chains'] as const

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
/** MetaMask's form (EIP-2255). */
const PERMISSION = jsonSchema.record('permission', {
  id: schema.hash.json,
  invoker: schema.string.json,
  parentCapability: { enum: NAMES },
  caveats: jsonSchema.listOf(jsonSchema.record('caveat', { type: schema.string.json, value: { type: 'array' } })),
  date: { type: 'integer' },
})
const EXAMPLE = [
  {
    id: `0x${'5f'.repeat(32)}`,
    invoker: 'http://localhost:3000',
    parentCapability: 'eth_accounts',
    caveats: [{ type: 'restrictReturnedAccounts', value: [ALICE] }],
    date: 1_767_225_600_000,
  },
]

export const PERMISSION_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'wallet_requestPermissions',
    doc: 'Asks the user which accounts the origin may use, also if it is connected already (EIP-2255).',
    params: [required('permissions', schema.anything)],
    result: jsonSchema.listOf(PERMISSION),
    errors: {
      [WALLET_CODE.rejected]: 'the user refused, or the approval request timed out',
      [WALLET_CODE.unauthorized]: 'the wallet has no accounts',
    },
    example: { params: [{ eth_accounts: {} }], result: EXAMPLE },
    handler: async (wallet, [permissions], caller) => {
      assertNames(permissions)
      await connect(wallet, 'wallet_requestPermissions', caller, true)
      return permissionsOf(wallet.sites.get(caller.origin))
    },
  }),
  walletMethod({
    name: 'wallet_getPermissions',
    doc: 'Returns the permissions of the origin, an empty list before it is connected (EIP-2255).',
    params: [],
    result: jsonSchema.listOf(PERMISSION),
    example: { params: [], result: EXAMPLE },
    handler: ({ sites }, _, { origin }) => permissionsOf(sites.get(origin)),
  }),
  walletMethod({
    name: 'wallet_revokePermissions',
    doc: 'Revokes the permissions of the origin, as MetaMask does.',
    params: [required('permissions', schema.anything)],
    result: { type: 'null' },
    example: { params: [{ eth_accounts: {} }], result: null },
    handler: ({ sites }, [permissions], { origin }) => {
      assertNames(permissions)
      sites.disconnect(origin)
      return null
    },
  }),
]

/** `{ eth_accounts: {} }`. Throws RpcError -32602. */
function assertNames(permissions: unknown): void {
  const names: readonly string[] = Object.keys(objectFields(permissions))
  const unknown = names.find((name) => !NAMES.some((known) => known === name))
  if (unknown !== undefined) {
    throw invalidParams(`there is no permission "${unknown.slice(0, 100)}", there are ${NAMES.join(', ')}`, {
      reason: 'unknown-permission',
    })
  }
  if (names.length > 0) return
  throw invalidParams('invalid argument 0 (permissions): expected an object that names a permission, such as { eth_accounts: {} }', {
    reason: 'no-permission',
  })
}

function permissionsOf({ origin, accounts, chainId, connectedAt }: Site) {
  if (accounts.length === 0) return []
  const permission = (parentCapability: (typeof NAMES)[number], type: string, value: readonly string[]) => ({
    id: Hash.keccak(new TextEncoder().encode(`${parentCapability} ${connectedAt} ${origin}`)),
    invoker: origin,
    parentCapability,
    caveats: [{ type, value }],
    date: connectedAt ?? 0,
  })
  return [
    permission('eth_accounts', 'restrictReturnedAccounts', accounts),
    permission('endowment:permitted-chains', 'restrictNetworkSwitching', [Hex.fromQuantity(chainId)]),
  ]
}

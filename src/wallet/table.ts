import type { Chapter } from '../jsonrpc/index.ts'
import type { WalletMethod } from './method.ts'
import { ASSET_METHODS } from './methods/assets.ts'
import { CALLS_METHODS } from './methods/calls.ts'
import { CHAIN_ID_METHODS } from './methods/chainid.ts'
import { CHAIN_METHODS } from './methods/chains.ts'
import { CONNECT_METHODS } from './methods/connect.ts'
import { PERMISSION_METHODS } from './methods/permissions.ts'
import { SEND_METHODS } from './methods/send.ts'
import { SIGN_METHODS } from './methods/sign.ts'
import { SUBSCRIBE_METHODS } from './methods/subscribe.ts'

/** Every method that the wallet answers itself, by subject. */
export const CHAPTERS: readonly Chapter<WalletMethod>[] = [
  { title: 'Connecting', methods: CONNECT_METHODS },
  { title: 'Permissions', methods: PERMISSION_METHODS },
  { title: 'Chains', methods: [...CHAIN_ID_METHODS, ...CHAIN_METHODS] },
  { title: 'Signing', methods: SIGN_METHODS },
  { title: 'Sending', methods: [...SEND_METHODS, ...CALLS_METHODS] },
  { title: 'Subscriptions', methods: SUBSCRIBE_METHODS },
  { title: 'Assets', methods: ASSET_METHODS },
]

export const METHODS: ReadonlyMap<string, WalletMethod> = new Map(
  CHAPTERS.flatMap(({ methods }) => methods.map((row) => [row.name, row] as const)),
)

export { DEFAULT_MNEMONIC, VERSION, createPocketchain } from './node/index.ts'
export type {
  BundlerChoices,
  ChainType,
  DevAccount,
  ForkOptions,
  ForkProgress,
  ForkStatus,
  Pocketchain,
  PocketchainOptions,
  SponsorChoices,
  WalletChoices,
} from './node/index.ts'
export type { Server } from './server/index.ts'
export type { Wallet } from './wallet/index.ts'

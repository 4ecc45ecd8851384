import { Hex } from '../../eth/index.ts'
import { CODE, RpcError, required, schema } from '../../jsonrpc/index.ts'
import { answeringUrls, uncheckedUrls } from '../chains/chainprobe.ts'
import { assertSameSymbol, chainId, proposal, proposedChain } from '../chains/chainproposal.ts'
import { switchChain } from '../chains/chainswitch.ts'
import { chainWarnings } from '../chains/chainwarnings.ts'
import type { ChainInfo, WalletChain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import type { WalletContext } from '../context.ts'
import { WALLET_CODE, unrecognizedChain } from '../errors.ts'
import { CHAINS } from '../limits.ts'
import { walletMethod } from '../method.ts'
import type { Asker, WalletMethod } from '../method.ts'
import { permittedAccount } from '../sites.ts'

const ADD = 'wallet_addEthereumChain'
const SWITCH = 'wallet_switchEthereumChain'

export const CHAIN_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: ADD,
    doc: 'Asks the person to add a chain and then to switch to it; null whether or not they switch (EIP-3085). Each rpc that answers must name the same chain id; one on this computer is asked only after the person has agreed.',
    params: [required('chain', proposal)],
    result: { type: 'null' },
    errors: {
      [WALLET_CODE.rejected]: 'the person refused to add it',
      [WALLET_CODE.unauthorized]: 'the origin is not connected (no rpc is asked before), or the method is switched off',
      [WALLET_CODE.unrecognizedChain]:
        'an rpc says another chain id or leads into a private network, or none answers; with an rpc on this computer, after the person has agreed',
      [CODE.limitExceeded]: 'the wallet holds as many chains as it can',
    },
    example: {
      params: [
        {
          chainId: '0x14a34',
          chainName: 'Base Sepolia',
          nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
          rpcUrls: ['https://sepolia.base.org'],
          blockExplorerUrls: ['https://sepolia.basescan.org'],
        },
      ],
      result: null,
    },
    handler: async (wallet, [proposed], asker) => {
      assertConnected(wallet, asker)
      const chain = await addChain(wallet, proposed, asker)
      await offerSwitch(wallet, chain, asker)
      return null
    },
  }),
  walletMethod({
    name: SWITCH,
    doc: 'Asks the person to put the origin on another chain that the wallet has; null, and the event chainChanged (EIP-3326).',
    params: [required('chain', schema.object({ chainId }))],
    result: { type: 'null' },
    errors: {
      [WALLET_CODE.rejected]: 'the person refused',
      [WALLET_CODE.unauthorized]: 'the origin is not connected, or the method is switched off',
      [WALLET_CODE.unrecognizedChain]: 'the wallet does not have it; add it with wallet_addEthereumChain',
    },
    example: { params: [{ chainId: '0x7a69' }], result: null },
    handler: async (wallet, [asked], asker) => {
      permittedAccount(wallet.sites.get(asker.origin))
      await switchChain(wallet, SWITCH, knownChain(wallet.chains, asked.chainId), asker)
      return null
    },
  }),
]

/**
 * Before anything is looked up: whether a chain is known, and whether an rpc answers, is nothing for an origin that the person has not let
 * in. Throws RpcError 4100, in the words of interface 7.2.
 */
function assertConnected({ sites }: WalletContext, { origin }: Asker): void {
  if (sites.get(origin).accounts.length > 0) return
  const message = `Requested method not supported: ${origin} is not connected; ask with eth_requestAccounts first`
  throw new RpcError(WALLET_CODE.unauthorized, message, { reason: 'not-connected', origin })
}

/** Asked although the wallet has it: the origin need not learn that, and the url may be a new one. */
async function addChain(wallet: WalletContext, proposed: ChainInfo, asker: Asker): Promise<WalletChain> {
  const { chains, approvals } = wallet
  const { origin, signal } = asker
  assertFits(chains, proposed)
  const unchecked = uncheckedUrls(chains, proposed)
  const info = { ...proposed, rpcUrls: await answeringUrls(chains, proposed, signal, unchecked) }
  const known = chains.get(info.chainId) !== null
  const warnings = chainWarnings(chains, info, unchecked)
  const draft = { kind: 'addChain', origin, method: ADD, warnings, proposed: proposedChain(info), known } as const
  await approvals.ask(unchecked.length === 0 ? draft : { ...draft, unchecked }, { signal })
  assertStillFits(wallet, info, asker)
  if (unchecked.length === 0) return chains.add(info)
  const checked = info.rpcUrls.filter((url) => !unchecked.includes(url))
  const rpcUrls = await answeringUrls(chains, info, signal, checked)
  assertStillFits(wallet, info, asker)
  return chains.add({ ...info, rpcUrls })
}

/** While it waited the origin may have been disconnected, and another question may have added the chain or filled the wallet. */
function assertStillFits(wallet: WalletContext, info: ChainInfo, asker: Asker): void {
  assertConnected(wallet, asker)
  assertFits(wallet.chains, info)
}

function assertFits(chains: Chains, proposed: ChainInfo): void {
  assertSameSymbol(chains, proposed)
  if (chains.isFull && chains.get(proposed.chainId) === null) throw tooManyChains()
}

/** The chain was added, so that is what the app is told; not to switch is the person's good right. */
async function offerSwitch(wallet: WalletContext, chain: WalletChain, asker: Asker): Promise<void> {
  try {
    await switchChain(wallet, ADD, chain, asker)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
  }
}

function knownChain(chains: Chains, id: number): WalletChain {
  const chain = chains.get(id)
  if (chain !== null) return chain
  const asked = Hex.fromQuantity(id)
  const help = `the wallet does not have ${asked} (${id}); add it with wallet_addEthereumChain`
  throw unrecognizedChain(help, { reason: 'unknown-chain', asked, answered: null })
}

function tooManyChains(): RpcError {
  const message = `the wallet holds ${CHAINS} chains, which is all it can`
  return new RpcError(CODE.limitExceeded, message, { reason: 'too-many-chains', limit: CHAINS })
}

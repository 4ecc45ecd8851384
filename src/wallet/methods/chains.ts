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
import type { ProviderCaller, WalletMethod } from '../method.ts'
import { permittedAccount } from '../sites.ts'

const ADD = 'wallet_addEthereumChain'
const SWITCH = 'wallet_switchEthereumChain'

export const CHAIN_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: ADD,
    doc: 'Asks the user to add a chain and then to switch to it; returns null whether or not they switch (EIP-3085). Each rpc that responds must report the same chain id; one on this computer is requested only after the approval.',
    params: [required('chain', proposal)],
    result: { type: 'null' },
    errors: {
      [WALLET_CODE.rejected]: 'the user refused to add it',
      [WALLET_CODE.unauthorized]: 'the origin is not connected (no rpc is requested before), or the method is switched off',
      [WALLET_CODE.unrecognizedChain]:
        'an rpc reports another chain id or is in a private network, or none responds; with an rpc on this computer, after the approval',
      [CODE.limitExceeded]: 'the wallet has the maximum number of chains',
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
    handler: async (wallet, [proposed], caller) => {
      assertConnected(wallet, caller)
      const chain = await addChain(wallet, proposed, caller)
      await offerSwitch(wallet, chain, caller)
      return null
    },
  }),
  walletMethod({
    name: SWITCH,
    doc: 'Asks the user to switch the origin to another chain of the wallet; returns null, and emits chainChanged (EIP-3326).',
    params: [required('chain', schema.object({ chainId }))],
    result: { type: 'null' },
    errors: {
      [WALLET_CODE.rejected]: 'the user refused',
      [WALLET_CODE.unauthorized]: 'the origin is not connected, or the method is switched off',
      [WALLET_CODE.unrecognizedChain]: 'the wallet does not have it; add it with wallet_addEthereumChain',
    },
    example: { params: [{ chainId: '0x7a69' }], result: null },
    handler: async (wallet, [{ chainId: id }], caller) => {
      permittedAccount(wallet.sites.get(caller.origin))
      await switchChain(wallet, SWITCH, knownChain(wallet.chains, id), caller)
      return null
    },
  }),
]

/**
 * Comes before any lookup: an origin that is not connected must not learn which chains the wallet has, nor whether an rpc responds. Throws RpcError 4100
 * with the message of interface 7.2.
 */
function assertConnected({ sites }: WalletContext, { origin }: ProviderCaller): void {
  if (sites.get(origin).accounts.length > 0) return
  const message = `Requested method not supported: ${origin} is not connected; ask with eth_requestAccounts first`
  throw new RpcError(WALLET_CODE.unauthorized, message, { reason: 'not-connected', origin })
}

/** Creates a question even if the wallet has the chain: the origin must not learn that, and the url may be new. */
async function addChain(wallet: WalletContext, proposed: ChainInfo, caller: ProviderCaller): Promise<WalletChain> {
  const { chains, approvals } = wallet
  const { origin, signal } = caller
  assertFits(chains, proposed)
  const unchecked = uncheckedUrls(chains, proposed)
  const info = { ...proposed, rpcUrls: await answeringUrls(chains, proposed, signal, unchecked) }
  const known = chains.get(info.chainId) !== null
  const warnings = chainWarnings(chains, info, unchecked)
  const draft = { kind: 'addChain', origin, method: ADD, warnings, proposed: proposedChain(info), known } as const
  assertStillFits(wallet, info, caller)
  await approvals.ask(unchecked.length === 0 ? draft : { ...draft, unchecked }, { signal })
  assertStillFits(wallet, info, caller)
  if (unchecked.length === 0) return chains.add(info)
  const checked = info.rpcUrls.filter((url) => !unchecked.includes(url))
  const rpcUrls = await answeringUrls(chains, info, signal, checked)
  assertStillFits(wallet, info, caller)
  return chains.add({ ...info, rpcUrls })
}

/** While an rpc or the answer was awaited, the origin may have been disconnected, and another question may have added a chain. */
function assertStillFits(wallet: WalletContext, info: ChainInfo, caller: ProviderCaller): void {
  assertConnected(wallet, caller)
  assertFits(wallet.chains, info)
}

function assertFits(chains: Chains, proposed: ChainInfo): void {
  assertSameSymbol(chains, proposed)
  if (chains.isFull && chains.get(proposed.chainId) === null) throw tooManyChains()
}

/** The chain was added, so the request succeeds even if the user rejects the switch. */
async function offerSwitch(wallet: WalletContext, chain: WalletChain, caller: ProviderCaller): Promise<void> {
  try {
    await switchChain(wallet, ADD, chain, caller)
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
  const message = `the wallet has ${CHAINS} chains, the maximum`
  return new RpcError(CODE.limitExceeded, message, { reason: 'too-many-chains', limit: CHAINS })
}

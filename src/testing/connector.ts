/** The used part of an EIP-1193 provider: `wallet.provider(origin)`, or one announced by EIP-6963. */
export interface ConnectorProvider {
  request(request: { readonly method: string; readonly params?: unknown }): Promise<unknown>
  on(event: string, listener: Listener): unknown
  removeListener(event: string, listener: Listener): unknown
}

type Listener = (value: unknown) => void

/** The wallet of the connector. */
export type ConnectorOptions = WithProvider | WithWallet

/** An existing provider. */
interface WithProvider {
  readonly provider: ConnectorProvider
}

/** The wallet of a fixture or of `createPocketchain`, for the app of this origin, `http://localhost:3000` by default. */
interface WithWallet {
  readonly wallet: { provider(origin: string): ConnectorProvider }
  readonly origin?: string
}

type Address = `0x${string}`

/** The used part of a chain in the wagmi configuration. */
interface ConfiguredChain {
  readonly id: number
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: { readonly default: { readonly http: readonly string[] } }
  readonly blockExplorers?: { readonly [name: string]: { readonly url: string } } | undefined
}

/** The used part of the parameter of wagmi's `CreateConnectorFn`. */
interface ConnectorConfig<C extends ConfiguredChain> {
  readonly chains: readonly C[]
  readonly emitter: {
    emit(event: 'change', data: { accounts?: readonly Address[]; chainId?: number }): unknown
    emit(event: 'disconnect'): unknown
    emit(event: 'message', data: { type: string; data?: unknown }): unknown
  }
}

/** EIP-3085's parameter, without the id, as wagmi's switchChain takes it. */
interface ChainParameter {
  readonly chainName?: string | undefined
  readonly nativeCurrency?: ConfiguredChain['nativeCurrency'] | undefined
  readonly rpcUrls?: readonly string[] | undefined
  readonly blockExplorerUrls?: readonly string[] | undefined
  readonly iconUrls?: readonly string[] | undefined
}

interface ConnectParameters<WithCapabilities extends boolean> {
  readonly chainId?: number | undefined
  readonly isReconnecting?: boolean | undefined
  readonly withCapabilities?: WithCapabilities | boolean | undefined
}

type Connected<WithCapabilities extends boolean> = WithCapabilities extends true
  ? readonly { address: Address; capabilities: Record<string, unknown> }[]
  : readonly Address[]

const DEFAULT_ORIGIN = 'http://localhost:3000'
const UNRECOGNIZED_CHAIN = 4902

/**
 * Returns a connector for wagmi's `createConfig({ connectors: [pocketchainConnector({ wallet })] })`. Unlike wagmi's mock connector it has approvals,
 * batches and the error codes of wallets. Errors of the wallet are thrown unchanged.
 */
export function pocketchainConnector(options: ConnectorOptions) {
  const provider = providerOf(options)
  return <C extends ConfiguredChain>(config: ConnectorConfig<C>) => {
    const request = (method: string, ...params: unknown[]): Promise<unknown> => provider.request({ method, params })
    const accounts = async (): Promise<readonly Address[]> => (await request('eth_accounts')) as Address[] // result of the method
    const chainId = async (): Promise<number> => Number(await request('eth_chainId'))
    // Parameter types of EIP-1193.
    const handlers: Readonly<Record<string, Listener>> = {
      accountsChanged: (changed) => connector.onAccountsChanged(changed as string[]),
      chainChanged: (changed) => connector.onChainChanged(changed as string),
      disconnect: () => connector.onDisconnect(),
      message: (message) => connector.onMessage(message as { type: string; data?: unknown }),
    }
    let isListening = false
    const setListening = (wanted: boolean): void => {
      if (isListening === wanted) return
      isListening = wanted
      for (const [event, listener] of Object.entries(handlers)) {
        if (wanted) provider.on(event, listener)
        else provider.removeListener(event, listener)
      }
    }

    const connector = {
      id: 'dev.pocketchain',
      name: 'pocketchain',
      type: 'pocketchain',
      rdns: 'dev.pocketchain',

      /** Requests accounts unless some are permitted, then switches the chain if another one is requested. */
      async connect<WithCapabilities extends boolean = false>(parameters: ConnectParameters<WithCapabilities> = {}) {
        const { chainId: wanted, isReconnecting = false, withCapabilities = false } = parameters
        const seen = await (isReconnecting ? accounts() : (request('eth_requestAccounts') as Promise<readonly Address[]>))
        setListening(true)
        const before = await chainId()
        const after = wanted === undefined || wanted === before ? before : (await connector.switchChain({ chainId: wanted })).id
        const shown = withCapabilities ? seen.map((address) => ({ address, capabilities: {} })) : seen
        return { accounts: shown as Connected<WithCapabilities>, chainId: after } // which of the two was decided by the same flag
      },

      async disconnect(): Promise<void> {
        setListening(false)
        await request('wallet_revokePermissions', { eth_accounts: {} })
      },

      getAccounts: accounts,
      getChainId: chainId,
      getProvider: (): Promise<ConnectorProvider> => Promise.resolve(provider),

      isAuthorized: async (): Promise<boolean> => (await accounts()).length > 0,

      /** Adds a chain that the wallet lacks from the configuration; adding and switching are approved separately. */
      async switchChain({
        chainId: id,
        addEthereumChainParameter = {},
      }: {
        chainId: number
        addEthereumChainParameter?: ChainParameter | undefined
      }): Promise<C> {
        const chain = config.chains.find((each) => each.id === id)
        if (chain === undefined) throw new Error(`chain ${id} is not among the chains of the wagmi configuration; add it to createConfig`)
        const wanted = `0x${id.toString(16)}`
        try {
          await request('wallet_switchEthereumChain', { chainId: wanted })
        } catch (error) {
          if (codeOf(error) !== UNRECOGNIZED_CHAIN) throw error
          await request('wallet_addEthereumChain', { ...addChainParameter(chain, addEthereumChainParameter), chainId: wanted })
          if ((await chainId()) !== id) await request('wallet_switchEthereumChain', { chainId: wanted })
        }
        config.emitter.emit('change', { chainId: id })
        return chain
      },

      onAccountsChanged(changed: string[]): void {
        if (changed.length === 0) connector.onDisconnect()
        else config.emitter.emit('change', { accounts: changed as Address[] }) // addresses of the wallet
      },
      onChainChanged(changed: string): void {
        config.emitter.emit('change', { chainId: Number(changed) })
      },
      onDisconnect(): void {
        setListening(false)
        config.emitter.emit('disconnect')
      },
      onMessage(message: { type: string; data?: unknown }): void {
        config.emitter.emit('message', message)
      },
    }
    return connector
  }
}

/** Throws TypeError for other arguments: the types do not hold in JavaScript. */
function providerOf(options: Partial<WithProvider & WithWallet> = {}): ConnectorProvider {
  const { provider, wallet, origin = DEFAULT_ORIGIN } = options
  const found = provider ?? wallet?.provider(origin)
  if (found !== undefined) return found
  throw new TypeError('pocketchainConnector expects { wallet } of a node or fixture, or { provider } of an EIP-1193 wallet')
}

function addChainParameter(chain: ConfiguredChain, overrides: ChainParameter): ChainParameter {
  const explorers = Object.values(chain.blockExplorers ?? {}).map(({ url }) => url)
  return {
    chainName: chain.name,
    nativeCurrency: chain.nativeCurrency,
    rpcUrls: chain.rpcUrls.default.http,
    ...(explorers.length === 0 ? {} : { blockExplorerUrls: explorers }),
    ...Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined)),
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

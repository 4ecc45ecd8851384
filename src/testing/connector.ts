/** An EIP-1193 provider as the connector uses one: `wallet.provider(origin)`, or what EIP-6963 announced. */
export interface ConnectorProvider {
  request(request: { readonly method: string; readonly params?: unknown }): Promise<unknown>
  on(event: string, listener: Listener): unknown
  removeListener(event: string, listener: Listener): unknown
}

type Listener = (value: unknown) => void

/** Where the connector finds the wallet. */
export type ConnectorOptions =
  /** one that is there already */
  | { readonly provider: ConnectorProvider }
  /** the wallet of a fixture, or `createPocketchain().wallet`, as the app of this origin (`http://localhost:3000` unless said) sees it */
  | { readonly wallet: { provider(origin: string): ConnectorProvider }; readonly origin?: string }

type Address = `0x${string}`

/** A chain of wagmi's configuration: what of it the connector needs. */
interface ConfiguredChain {
  readonly id: number
  readonly name: string
  readonly nativeCurrency: { readonly name: string; readonly symbol: string; readonly decimals: number }
  readonly rpcUrls: { readonly default: { readonly http: readonly string[] } }
  readonly blockExplorers?: { readonly [name: string]: { readonly url: string } } | undefined
}

/** What wagmi hands to a connector: `CreateConnectorFn`'s parameter, as far as it is used. */
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
 * A connector for wagmi's `createConfig({ connectors: [pocketchainConnector({ wallet })] })`. Unlike wagmi's mock it is a wallet: it asks, batches,
 * and refuses with the codes an app meets elsewhere. Errors of the wallet reach wagmi as they are.
 */
export function pocketchainConnector(options: ConnectorOptions) {
  const provider = providerOf(options)
  return <C extends ConfiguredChain>(config: ConnectorConfig<C>) => {
    const ask = (method: string, ...params: unknown[]): Promise<unknown> => provider.request({ method, params })
    const accounts = async (): Promise<readonly Address[]> => (await ask('eth_accounts')) as Address[] // the wallet's own answer
    const chainId = async (): Promise<number> => Number(await ask('eth_chainId'))
    // What EIP-1193 says each of them brings.
    const heard: Readonly<Record<string, Listener>> = {
      accountsChanged: (changed) => connector.onAccountsChanged(changed as string[]),
      chainChanged: (changed) => connector.onChainChanged(changed as string),
      disconnect: () => connector.onDisconnect(),
      message: (message) => connector.onMessage(message as { type: string; data?: unknown }),
    }
    let isListening = false
    const listen = (wanted: boolean): void => {
      if (isListening === wanted) return
      isListening = wanted
      for (const [event, listener] of Object.entries(heard)) {
        if (wanted) provider.on(event, listener)
        else provider.removeListener(event, listener)
      }
    }

    const connector = {
      id: 'dev.pocketchain',
      name: 'pocketchain',
      type: 'pocketchain',
      rdns: 'dev.pocketchain',

      /** Asks to see accounts unless the wallet shows some already; then to switch the chain when another one is wanted. */
      async connect<WithCapabilities extends boolean = false>(parameters: ConnectParameters<WithCapabilities> = {}) {
        const { chainId: wanted, isReconnecting = false, withCapabilities = false } = parameters
        const seen = await (isReconnecting ? accounts() : (ask('eth_requestAccounts') as Promise<readonly Address[]>))
        listen(true)
        const before = await chainId()
        const after = wanted === undefined || wanted === before ? before : (await connector.switchChain({ chainId: wanted })).id
        const shown = withCapabilities ? seen.map((address) => ({ address, capabilities: {} })) : seen
        return { accounts: shown as Connected<WithCapabilities>, chainId: after } // which of the two was decided by the same flag
      },

      async disconnect(): Promise<void> {
        listen(false)
        await ask('wallet_revokePermissions', { eth_accounts: {} })
      },

      getAccounts: accounts,
      getChainId: chainId,
      getProvider: (): Promise<ConnectorProvider> => Promise.resolve(provider),

      isAuthorized: async (): Promise<boolean> => (await accounts()).length > 0,

      /** A chain that the wallet lacks is added first, from the configuration; each is a question of its own. */
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
          await ask('wallet_switchEthereumChain', { chainId: wanted })
        } catch (error) {
          if (codeOf(error) !== UNRECOGNIZED_CHAIN) throw error
          await ask('wallet_addEthereumChain', { ...proposalOf(chain, addEthereumChainParameter), chainId: wanted })
          if ((await chainId()) !== id) await ask('wallet_switchEthereumChain', { chainId: wanted })
        }
        config.emitter.emit('change', { chainId: id })
        return chain
      },

      onAccountsChanged(changed: string[]): void {
        if (changed.length === 0) connector.onDisconnect()
        else config.emitter.emit('change', { accounts: changed as Address[] }) // as the wallet writes them
      },
      onChainChanged(changed: string): void {
        config.emitter.emit('change', { chainId: Number(changed) })
      },
      onDisconnect(): void {
        listen(false)
        config.emitter.emit('disconnect')
      },
      onMessage(message: { type: string; data?: unknown }): void {
        config.emitter.emit('message', message)
      },
    }
    return connector
  }
}

function providerOf(options: ConnectorOptions): ConnectorProvider {
  return 'provider' in options ? options.provider : options.wallet.provider(options.origin ?? DEFAULT_ORIGIN)
}

function proposalOf(chain: ConfiguredChain, over: ChainParameter): ChainParameter {
  const explorers = Object.values(chain.blockExplorers ?? {}).map(({ url }) => url)
  return {
    chainName: chain.name,
    nativeCurrency: chain.nativeCurrency,
    rpcUrls: chain.rpcUrls.default.http,
    ...(explorers.length === 0 ? {} : { blockExplorerUrls: explorers }),
    ...Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined)),
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

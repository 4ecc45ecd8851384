import { Hex } from '../eth/index.ts'
import {
  CODE,
  Router,
  RpcError,
  copyJson,
  defineMethods,
  invalidParams,
  optional,
  required,
  routesOf,
  schema,
  tableOf,
} from '../jsonrpc/index.ts'
import type { Method, Schema } from '../jsonrpc/index.ts'
import type { ActivityView } from './activity/activities.ts'
import { POLICIES } from './approvals/rules.ts'
import type { WalletChain } from './chains/chain.ts'
import type { WalletContext } from './context.ts'
import { WALLET_CODE, unauthorized, walletErrors } from './errors.ts'
import { ACTIVITY_PAGE, CHOSEN_ACCOUNTS, ORIGIN_CHARS, STATE_BATCHES } from './limits.ts'
import type { ProviderCaller } from './method.ts'
import type { Choice, Question } from './question.ts'
import { readParams } from './request.ts'
import type { AnswerRequest, ProviderRequest } from './request.ts'
import { LOCAL_ORIGIN } from './sites.ts'

/** Answers questions and administers the wallet. For callers with the control credential, or in process. */
export interface Control {
  /** One of CONTROL_METHODS. Throws RpcError; -32601 for another name. `signal`: aborted when the caller disconnects. */
  readonly request: (request: ProviderRequest, options?: { readonly signal?: AbortSignal | null }) => Promise<unknown>
  /**
   * Calls `listener` with the pending questions, in the order of `Approvals.pending`, immediately and after changes; changes in one microtask are one call.
   * Returns the function that unsubscribes.
   */
  readonly subscribe: (listener: (pending: readonly Question[]) => void) => () => void
  /**
   * Calls `listener` with the question of each request that waits for an answer, also if the question was pending before. Returns the function
   * that unsubscribes.
   */
  readonly subscribeRequests: (listener: (question: Question) => void) => () => void
  /** Calls `listener` with each activity that is new or has changed. Returns the function that unsubscribes. */
  readonly subscribeActivity: (listener: (changed: readonly ActivityView[]) => void) => () => void
}

export function createControl(wallet: WalletContext, answer: AnswerRequest): Control {
  const find = tableOf(routesOf(CONTROL_METHODS.values(), { ...wallet, answer }))
  const router = new Router<ProviderCaller>({
    find: (name) => {
      if (CONTROL_METHODS.has(name)) return find(name)
      throw new RpcError(CODE.methodNotFound, `the method ${name.slice(0, 100)} is no control method of the wallet`)
    },
    readParams,
    toRpcError: walletErrors(wallet.onError),
  })
  return {
    request: async ({ method, params }, { signal = null } = {}) =>
      copyJson(await router.call(method, params, { origin: LOCAL_ORIGIN, signal }, false)),
    subscribe: (listener) => subscribePending(wallet, listener),
    subscribeRequests: (listener) => subscribeRequests(wallet, listener),
    subscribeActivity: (listener) => wallet.activities.subscribe(listener),
  }
}

/** The context of the control methods. */
interface ControlContext extends WalletContext {
  /** answers a request of an app */
  readonly answer: AnswerRequest
}

const controlMethod = defineMethods<ControlContext, ProviderCaller>()

function subscribePending({ approvals, onError }: WalletContext, listener: (pending: readonly Question[]) => void): () => void {
  let isDue = false
  let isOver = false
  const notify = () => {
    isDue = false
    if (isOver) return
    try {
      listener(approvals.pending)
    } catch (error) {
      onError(error)
    }
  }
  const end = approvals.subscribe(() => {
    if (isDue) return
    isDue = true
    queueMicrotask(notify)
  })
  notify()
  return () => {
    isOver = true
    end()
  }
}

/** In a microtask: without the requests that a rule or the policy answers immediately. */
function subscribeRequests({ approvals, onError }: WalletContext, listener: (question: Question) => void): () => void {
  return approvals.subscribe(({ type, question }) => {
    if (type !== 'asked' && type !== 'joined') return
    queueMicrotask(() => {
      try {
        if (approvals.find(question.id) !== null) listener(question)
      } catch (error) {
        onError(error)
      }
    })
  })
}

// --- the methods ----------------------------------------------------------------------------------------------------

const ID = '0f1e2d3c4b5a69788796a5b4c3d2e1f0'
const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const ORIGIN = 'http://localhost:3000'
const NULL = { type: 'null' }
const QUESTIONS = {
  type: 'array',
  items: { title: 'approval request', type: 'object', required: ['id', 'kind', 'origin', 'method', 'createdAt', 'replaces', 'warnings'] },
}

const CHOICE: Schema<Choice> = choiceSchema()
const POLICY = schema.oneOf(...POLICIES)

const ERROR_CODE: Schema<number> = {
  json: { title: 'error code', type: 'integer' },
  parse: (value, path) => {
    if (typeof value === 'number' && Number.isSafeInteger(value)) return value
    throw schema.mismatch(path, 'an integer', value)
  },
}

/** Scheme, host and port, as in an Origin header. */
const WEB_ORIGIN: Schema<string> = {
  json: { title: 'origin', type: 'string', pattern: '^[a-z][a-z0-9+.-]*://[^/\\s]+$', maxLength: ORIGIN_CHARS },
  parse: (value, path) => {
    if (typeof value === 'string' && value.length <= ORIGIN_CHARS && /^[a-z][a-z0-9+.-]*:\/\/[^/\s]+$/.test(value)) return value
    throw schema.mismatch(path, `an origin such as ${ORIGIN}`, value)
  },
}

const PAGE_SIZE: Schema<number> = {
  json: { type: 'integer', minimum: 1, maximum: ACTIVITY_PAGE },
  parse: (value, path) => {
    const number = schema.integer.parse(value, path)
    if (number >= 1 && number <= ACTIVITY_PAGE) return number
    throw schema.refused(path, `a page has 1 to ${ACTIVITY_PAGE} activities`)
  },
}

const ACTIVITY_QUERY = schema.object({
  id: schema.maybe(schema.string),
  account: schema.maybe(schema.address),
  origin: schema.maybe(schema.string),
  before: schema.maybe(schema.string),
  limit: schema.maybe(PAGE_SIZE),
})

const PROVIDER_REQUEST = schema.object({ method: schema.string, params: schema.maybe(schema.anything) })

/** They need the control credential. */
export const CONTROL_METHODS: ReadonlyMap<string, Method<ControlContext, ProviderCaller>> = new Map(
  [
    controlMethod({
      name: 'pocketchain_approvals',
      doc: 'The pending approval requests: one of each site in turn, those of one site oldest first; the first one stays the first until it is answered or withdrawn.',
      params: [],
      result: QUESTIONS,
      example: { params: [], result: [] },
      handler: ({ approvals }) => approvals.pending,
    }),
    controlMethod({
      name: 'pocketchain_approve',
      doc: 'Approves the approval request with this id; of one to connect the accounts to show may be chosen, the first is selected.',
      params: [required('id', schema.string), optional('choice', CHOICE)],
      result: NULL,
      example: { params: [ID, { accounts: [ALICE] }], result: null },
      handler: ({ approvals }, [id, choice]) => nothing(approvals.approve(id, choice)),
    }),
    controlMethod({
      name: 'pocketchain_reject',
      doc: 'Refuses the approval request with this id; the app gets its own code (4001, for an upgrade 5750) unless another is named.',
      params: [required('id', schema.string), optional('code', ERROR_CODE), optional('message', schema.string)],
      result: NULL,
      example: { params: [ID, 4001, 'User rejected the request'], result: null },
      handler: ({ approvals }, [id, code, message]) => nothing(approvals.reject(id, code, message)),
    }),
    controlMethod({
      name: 'pocketchain_setApprovalPolicy',
      doc: 'The policy for approval requests that no rule answers, pending ones included: `ask` leaves them pending, `approve` and `reject` answer them.',
      params: [required('policy', POLICY)],
      result: NULL,
      example: { params: ['approve'], result: null },
      handler: ({ approvals }, [policy]) => nothing(approvals.setPolicy(policy)),
    }),
    controlMethod({
      name: 'pocketchain_walletState',
      doc: 'Accounts, chains, connected sites, the approval policy, whether sponsors may pay, the pending approval requests and the latest batches.',
      params: [],
      result: { type: 'object', required: ['accounts', 'chains', 'sites', 'policy', 'latencyMs', 'sponsorship', 'approvals', 'batches'] },
      example: {
        params: [],
        result: {
          accounts: [{ address: ALICE, name: 'Account 1', source: 'dev' }],
          chains: [{ chainId: '0x7a69', name: 'Pocketchain', isEmbedded: true }],
          sites: [{ origin: ORIGIN, accounts: [ALICE], chainId: '0x7a69', connectedAt: 1_763_760_000_000, sponsorship: true }],
          policy: 'ask',
          latencyMs: 0,
          sponsorship: true,
          approvals: [],
          batches: [],
        },
      },
      handler: stateOf,
    }),
    controlMethod({
      name: 'pocketchain_walletHead',
      doc: "The newest block of the wallet's first chain, and the newest flashblock of the open block after it; null under a cadence without flashblocks, or before the first one.",
      params: [],
      result: { type: 'object', required: ['block', 'flashblock'] },
      example: { params: [], result: { block: 436, flashblock: 3 } },
      handler: ({ chains }) => headOf(chains.default),
    }),
    controlMethod({
      name: 'pocketchain_walletActivity',
      doc: 'Returns the permissions, signatures and transactions of the wallet with their outcomes, newest first: of one account, of one site, or one activity by its id; `before` continues after `next` of the former page.',
      params: [optional('query', ACTIVITY_QUERY)],
      result: { type: 'object', required: ['activities', 'next'] },
      example: { params: [{ account: ALICE, limit: 20 }], result: { activities: [], next: null } },
      handler: ({ activities }, [{ id, ...query } = {}]) => {
        if (id === undefined) return activities.page(query)
        const found = activities.find(id)
        return { activities: found === null ? [] : [found], next: null }
      },
    }),
    controlMethod({
      name: 'pocketchain_walletTokens',
      doc: 'The tokens of an account on a chain, by default the first: those that sites suggested, and those that it has by its activities and the logs of the chain, with balances.',
      params: [required('account', schema.address), optional('chainId', schema.quantity)],
      result: { type: 'array', items: { type: 'object', required: ['token', 'type', 'symbol', 'decimals', 'balance', 'isWatched'] } },
      example: {
        params: [ALICE],
        result: [
          {
            token: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
            type: 'ERC20',
            symbol: 'USDC',
            decimals: 6,
            balance: '0xf4240',
            isWatched: true,
          },
        ],
      },
      handler: async ({ chains, activities }, [account, chainId]) => {
        const chain = chainOf(chains, chainId)
        const { holdingsOf } = await import('./activity/holdings.ts') // read on the page only
        return holdingsOf(chain, account, activities.all())
      },
    }),
    controlMethod({
      name: 'pocketchain_walletAllowances',
      doc: 'The allowances that calls of the activities gave and that an account still has on a chain, by default the first: each with its current amount, or as it was given if it could not be read, named as pocketchain_revokeAllowance does.',
      params: [required('account', schema.address), optional('chainId', schema.quantity)],
      result: { type: 'array', items: { type: 'object', required: ['activity', 'index', 'allowance'] } },
      example: {
        params: [ALICE],
        result: [
          {
            activity: ID,
            index: 0,
            allowance: {
              kind: 'erc20',
              token: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
              symbol: 'USDC',
              decimals: 6,
              spender: '0x000000000022d473030f116ddee9f6b43ac78ba3',
              spenderLabel: 'Permit2',
              amount: null,
              isSpent: false,
            },
          },
        ],
      },
      handler: async ({ chains, activities }, [account, chainId]) => {
        const chain = chainOf(chains, chainId)
        const { openAllowances } = await import('./activity/allowances.ts') // read on the page only
        return openAllowances(chain, account, activities.all())
      },
    }),
    controlMethod({
      name: 'pocketchain_revokeAllowance',
      doc: 'Takes back an allowance of an activity, named by its index there, by a transaction of the account; returns its hash.',
      params: [required('activity', schema.string), required('index', schema.integer)],
      result: schema.hash.json,
      errors: { [WALLET_CODE.unauthorized]: 'the account is not in the wallet, or its key is public and the chain is a real one' },
      example: { params: [ID, 0], result: `0x${'c9'.repeat(32)}` },
      handler: async (wallet, [activity, index]) => {
        const { revokeAllowance } = await import('./batches/revoke.ts') // loads the sending code on first use
        return revokeAllowance(wallet, activity, index)
      },
    }),
    controlMethod({
      name: 'pocketchain_walletRequest',
      doc: 'Performs a request in the name of an origin: for the approval page, which has the origin from the browser.',
      params: [required('origin', WEB_ORIGIN), required('request', PROVIDER_REQUEST)],
      result: {},
      errors: { 4100: 'as the provider answers that origin; so with every other code of the method' },
      example: { params: [ORIGIN, { method: 'eth_accounts' }], result: [ALICE] },
      handler: (wallet, [origin, request], { signal }) => {
        if (wallet.settings.admits?.(origin) === false) throw notAdmitted(origin)
        return wallet.answer(request, { origin, signal })
      },
    }),
    controlMethod({
      name: 'pocketchain_walletLink',
      doc: 'A new link to the approval page, valid once for one browser; the part after its # stays in the browser.',
      params: [],
      result: schema.string.json,
      errors: { [CODE.server]: 'no port is open, so there is no page' },
      example: {
        params: [],
        result:
          'http://127.0.0.1:8545/wallet?key=5f0d6c1b9a8e7d3c2b1a0f9e8d7c6b5a49382716f5e4d3c2b1a09f8e7d6c5b4a#secret=0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9',
      },
      handler: ({ settings: { approvalUrl = null } }) => {
        if (approvalUrl === null) throw new RpcError(CODE.server, 'this wallet has no page: no server serves it', { reason: 'no-page' })
        return approvalUrl()
      },
    }),
    controlMethod({
      name: 'pocketchain_disconnectSite',
      doc: 'Removes the permissions of an origin.',
      params: [required('origin', schema.string)],
      result: NULL,
      example: { params: [ORIGIN], result: null },
      handler: ({ sites }, [origin]) => {
        if (!sites.list().some((site) => site.origin === origin)) throw notConnected(origin)
        return nothing(sites.disconnect(origin))
      },
    }),
    controlMethod({
      name: 'pocketchain_setSponsorship',
      doc: 'Whether batches may be paid by a sponsor that a site names (paymasterService): for every site, or for one that is connected; while it is off they are answered with 4100.',
      params: [required('enabled', schema.boolean), optional('origin', schema.string)],
      result: NULL,
      errors: { [CODE.server]: 'the wallet was started without sponsorship' },
      example: { params: [false, ORIGIN], result: null },
      handler: ({ sites, settings }, [enabled, origin]) => {
        if (enabled && !settings.sponsorship) throw startedWithout()
        if (origin !== undefined && !sites.list().some((site) => site.origin === origin)) throw notConnected(origin)
        return nothing(sites.setSponsorship(enabled, origin ?? null))
      },
    }),
    controlMethod({
      name: 'pocketchain_downgradeAccount',
      doc: 'Takes the code off an account that was upgraded (EIP-7702), on a chain, by default the first; returns the hash of the transaction.',
      params: [required('account', schema.address), optional('chainId', schema.quantity)],
      result: schema.hash.json,
      errors: { [WALLET_CODE.unauthorized]: 'the account is not in the wallet, or its key is public and the chain is a real one' },
      example: { params: [ALICE], result: `0x${'c9'.repeat(32)}` },
      handler: async (wallet, [account, chainId]) => {
        const chain = chainOf(wallet.chains, chainId)
        const { downgrade } = await import('./batches/downgrade.ts') // loads the sending code on first use
        return downgrade(wallet, chain, account)
      },
    }),
  ].map((method) => [method.name, method]),
)

/** Throws RpcError -32602 for a chain that the wallet does not have. */
function chainOf(chains: WalletContext['chains'], chainId: bigint | undefined): WalletChain {
  const chain = chainId === undefined ? chains.default : chains.get(Number(chainId))
  if (chain === null) throw invalidParams(`the wallet has no chain ${chainId}`, { reason: 'unknown-chain' })
  return chain
}

/** The part of `pocketchain_info` that the head is read from. */
interface NodeInfo {
  readonly head: { readonly number: Hex }
  /** -1 before the first flashblock of the open block */
  readonly flashblockIndex: number
  readonly cadence: { readonly kind: string }
}

async function headOf({ rpc, isEmbedded }: WalletChain): Promise<{ readonly block: number; readonly flashblock: number | null }> {
  if (!isEmbedded) return { block: Number(await rpc.request({ method: 'eth_blockNumber', params: [] })), flashblock: null }
  const info = await rpc.request({ method: 'pocketchain_info', params: [] })
  const { head, flashblockIndex, cadence } = info as NodeInfo
  return { block: Number(head.number), flashblock: cadence.kind === 'preconf' && flashblockIndex >= 0 ? flashblockIndex : null }
}

/** The data of the page's overview. */
function stateOf({ keyring, chains, sites, approvals, batches, settings }: WalletContext): unknown {
  return {
    accounts: keyring.accounts,
    chains: chains.list().map(({ chainId, name, nativeCurrency, rpcUrls, blockExplorerUrls, isEmbedded }) => ({
      chainId: Hex.fromQuantity(chainId),
      name,
      nativeCurrency,
      rpcUrls,
      blockExplorerUrls,
      isEmbedded,
    })),
    sites: sites.list().map((site) => ({ ...site, chainId: Hex.fromQuantity(site.chainId) })),
    policy: approvals.policy,
    latencyMs: approvals.latencyMs,
    sponsorship: settings.sponsorship && sites.isSponsorshipOn,
    approvals: approvals.pending,
    batches: batches.latest(STATE_BATCHES),
  }
}

/** Omits absent keys, for exactOptionalPropertyTypes. */
function choiceSchema(): Schema<Choice> {
  const { json, parse } = schema.object({ accounts: schema.maybe(schema.arrayOf(schema.address, CHOSEN_ACCOUNTS)) })
  return {
    json,
    parse: (value, path) => {
      const { accounts } = parse(value, path)
      return accounts === undefined ? {} : { accounts }
    },
  }
}

/** The JSON-RPC result of a function without one. */
function nothing(done: void): null {
  return done ?? null
}

function notAdmitted(origin: string): RpcError {
  const why = `pages of ${origin} may not use this node; start it with --allow-origin to let them`
  return unauthorized({ reason: 'origin-not-admitted', origin }, why)
}

function startedWithout(): RpcError {
  const message = 'this wallet was started without sponsorship (the option sponsorship is false), and it cannot be switched on'
  return new RpcError(CODE.server, message, { reason: 'sponsorship-off' })
}

function notConnected(origin: string): RpcError {
  return invalidParams(`${origin.slice(0, ORIGIN_CHARS)} is not connected: see pocketchain_walletState for the sites that are`, {
    reason: 'unknown-site',
  })
}

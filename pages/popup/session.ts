import { failureOf, perform, walletData } from './actions.ts'
import type { ClientWallet } from './actions.ts'
import { decrypt, encrypt, publicKeyText, sharedKey } from './cipher.ts'
import { readMessage, readRequest } from './message.ts'
import type { Envelope, Incoming, PlainResponse } from './message.ts'

interface SessionOptions {
  readonly wallet: ClientWallet
  /** this page's keys for the origin of the app */
  readonly keys: CryptoKeyPair
  /** sends to the app's window and origin only */
  readonly post: (message: unknown) => void
  /** Called when no request is open, unless the last one was a handshake, which precedes another request. */
  readonly onIdle: () => void
  readonly now?: () => Date
}

/** The session with one app: decrypts its requests, performs them and encrypts the responses. */
export class PopupSession {
  readonly #options: SessionOptions
  #open = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** The number of requests without a response. */
  get open(): number {
    return this.#open
  }

  /** Handles a message, whose window and origin the caller has verified. Never throws. */
  async receive(data: unknown): Promise<void> {
    const message = readMessage(data)
    if (message === null || message.kind === 'config') return
    this.#open++
    // Without a shared key the failure is sent unencrypted, and the app begins a new session.
    const content = await (this.#open > OPEN_REQUESTS ? refuseMore() : this.#contentFor(message)).catch((error: unknown) => ({
      failure: failureOf(error),
    }))
    await this.#reply(message, content)
    this.#open--
    if (this.#open === 0 && message.kind === 'encrypted') this.#options.onIdle()
  }

  async #contentFor(message: Exclude<Incoming, { kind: 'config' }>): Promise<unknown> {
    const { keys, wallet } = this.#options
    const key = await sharedKey(keys.privateKey, message.sender).catch(refuseSession)
    const { action, chainId } =
      message.kind === 'handshake'
        ? { action: message.action, chainId: null }
        : readRequest(await decrypt(key, message.encrypted).catch(refuseSession))
    const result = await perform(wallet, action, chainId).then(
      (value): PlainResponse['result'] => ({ value }),
      (error: unknown): PlainResponse['result'] => ({ error: failureOf(error) }),
    )
    const data = await walletData(wallet).catch(() => undefined)
    const response: PlainResponse = data === undefined ? { result } : { result, data }
    return { encrypted: await encrypt(key, response) }
  }

  async #reply({ id, correlationId }: Envelope, content: unknown): Promise<void> {
    const { keys, post, now = () => new Date() } = this.#options
    const sender = await publicKeyText(keys.publicKey)
    post({ id: crypto.randomUUID(), requestId: id, correlationId, sender, content, timestamp: now() })
  }
}

/** Below the node's limit of 200 open requests per connection, which the user's answers share. */
const OPEN_REQUESTS = 50

function refuseMore(): Promise<never> {
  return Promise.reject(Object.assign(new Error(`${OPEN_REQUESTS} requests wait for an answer already`), { code: -32005 }))
}

/** The SDK ends its session on 4100 and connects anew the next time. */
function refuseSession(): never {
  throw Object.assign(new Error('the session is unknown to the wallet: connect again'), { code: 4100 })
}

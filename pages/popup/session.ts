import { failureOf, perform, walletData } from './actions.ts'
import type { ClientWallet } from './actions.ts'
import { decrypt, encrypt, publicKeyText, sharedKey } from './cipher.ts'
import { readMessage, readRequest } from './message.ts'
import type { Envelope, Incoming, PlainResponse } from './message.ts'

export interface SessionOptions {
  readonly wallet: ClientWallet
  /** ours, for the origin of the app */
  readonly keys: CryptoKeyPair
  /** to the app, and to nobody else */
  readonly post: (message: unknown) => void
  /** Called when everything that was asked is answered, unless a handshake just announced more. */
  readonly onIdle: () => void
  readonly now?: () => Date
}

/** One app at the other end of a popup: reads its requests, has the wallet do them, answers under the shared key. */
export class PopupSession {
  readonly #options: SessionOptions
  #open = 0

  constructor(options: SessionOptions) {
    this.#options = options
  }

  /** Requests that wait for their answer. */
  get open(): number {
    return this.#open
  }

  /** A message of the app; whoever calls has seen that it is from the app's window and origin. Never throws. */
  async receive(data: unknown): Promise<void> {
    const message = readMessage(data)
    if (message === null || message.kind === 'config') return
    this.#open++
    // Without a key nothing can be encrypted: the app is told so in the clear, and begins anew.
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

/** What waits takes room on the connection by which the person answers: the node does not read on when it is full (200). */
const OPEN_REQUESTS = 50

function refuseMore(): Promise<never> {
  return Promise.reject(Object.assign(new Error(`${OPEN_REQUESTS} requests wait for an answer already`), { code: -32005 }))
}

/** The SDK ends its session on 4100 and connects anew the next time. */
function refuseSession(): never {
  throw Object.assign(new Error('the wallet does not know this session: connect again'), { code: 4100 })
}

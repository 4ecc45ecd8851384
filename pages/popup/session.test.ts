import { beforeEach, describe, expect, test } from 'vitest'
import type { ClientWallet } from './actions.ts'
import { decrypt, encrypt, newKeyPair, publicKeyText, sharedKey } from './cipher.ts'
import { readMessage, readRequest } from './message.ts'
import type { Encrypted } from './message.ts'
import { PopupSession } from './session.ts'

const ORIGIN = 'https://app.example'
const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'

/** The fields of the session's messages that the tests check. */
interface Reply {
  readonly requestId: string
  readonly correlationId: unknown
  readonly sender: string
  readonly timestamp: Date
  readonly content: { readonly encrypted?: Encrypted; readonly failure?: { readonly code: number } }
}

let asked: [string, unknown][]
let replies: Reply[]
let idle: number
let isConnected: boolean
let keys: CryptoKeyPair
let app: CryptoKeyPair
let session: PopupSession

/** Answers like a wallet that has one account on chain 31337 and requires no approval. */
function answer(method: string): unknown {
  if (method === 'eth_requestAccounts') isConnected = true
  const answers: Readonly<Record<string, unknown>> = {
    eth_accounts: isConnected ? [ALICE] : [],
    eth_requestAccounts: [ALICE],
    eth_chainId: '0x7a69',
    wallet_getCapabilities: { '0x7a69': { atomic: { status: 'ready' } } },
    personal_sign: '0x51',
    eth_signTypedData_v4: '0x712',
    wallet_sendCalls: { id: '0x01' },
    wallet_switchEthereumChain: null,
  }
  if (Object.hasOwn(answers, method)) return answers[method]
  throw Object.assign(new Error('the wallet does not know this method'), { code: 4200, data: { reason: 'unknown-method' } })
}

const wallet: ClientWallet = {
  origin: ORIGIN,
  request: async (method, params) => {
    asked.push([method, params])
    return answer(method)
  },
  chains: async () => [
    { chainId: 31_337, name: 'Pocketchain', symbol: 'ETH', decimals: 18, rpcUrl: 'http://127.0.0.1:8545' },
    { chainId: 84_532, name: 'Base Sepolia', symbol: 'ETH', decimals: 18, rpcUrl: 'https://sepolia.base.org' },
  ],
}

async function handshake(method = 'handshake'): Promise<unknown> {
  return send({ handshake: { method, params: [] } })
}

async function request(method: string, params?: unknown, chainId = 31_337): Promise<unknown> {
  const key = await sharedKey(app.privateKey, await publicKeyText(keys.publicKey))
  return send({ encrypted: await encrypt(key, { action: { method, params }, chainId }) })
}

/** As the SDK: posts, and reads what comes back with its own key. */
async function send(content: unknown): Promise<unknown> {
  await session.receive({ id: 'a1', correlationId: 'c1', sender: await publicKeyText(app.publicKey), content, timestamp: new Date() })
  const reply = replies.at(-1)
  if (reply?.content.encrypted === undefined) return reply?.content
  const key = await sharedKey(app.privateKey, reply.sender)
  return JSON.parse(await decrypt(key, reply.content.encrypted))
}

beforeEach(async () => {
  asked = []
  replies = []
  idle = 0
  isConnected = false
  keys = await newKeyPair()
  app = await newKeyPair()
  session = new PopupSession({ wallet, keys, post: (message) => replies.push(message as Reply), onIdle: () => idle++ })
})

describe('a session', () => {
  test('begins with a handshake without a question or account data', async () => {
    expect(await handshake()).toEqual({ result: { value: null } })
    expect(asked.map(([method]) => method)).toEqual(['eth_accounts'])
    expect(replies[0]).toMatchObject({ requestId: 'a1', correlationId: 'c1', sender: await publicKeyText(keys.publicKey) })
    expect(replies[0]?.timestamp).toBeInstanceOf(Date)
    expect(idle).toBe(0)
  })

  test('returns chains, urls and capabilities to a connected app', async () => {
    await handshake()
    const answered = await request('wallet_connect', [{ version: '1', capabilities: {} }])
    expect(answered).toEqual({
      result: { value: { accounts: [{ address: ALICE, capabilities: {} }], chainIds: ['0x7a69', '0x14a34'] } },
      data: {
        chains: { 31_337: 'http://127.0.0.1:8545', 84_532: 'https://sepolia.base.org' },
        capabilities: { '0x7a69': { atomic: { status: 'ready' } } },
        nativeCurrencies: {
          31_337: { name: 'Pocketchain', symbol: 'ETH', decimal: 18 },
          84_532: { name: 'Base Sepolia', symbol: 'ETH', decimal: 18 },
        },
      },
    })
    expect(idle).toBe(1)
  })

  test.each(['eth_mine', 'constructor', 'toString', '__proto__'])(
    'forwards the error of the wallet for %s unchanged, and continues',
    async (method) => {
      expect(await request(method)).toMatchObject({
        result: { error: { code: 4200, message: 'the wallet does not know this method', data: { reason: 'unknown-method' } } },
      })
      expect(await request('eth_requestAccounts')).toMatchObject({ result: { value: [ALICE] } })
    },
  )

  test('from an unknown peer is refused unencrypted with 4100 and does not reach the wallet', async () => {
    const stranger = await newKeyPair()
    const key = await sharedKey(app.privateKey, await publicKeyText(stranger.publicKey))
    const content = { encrypted: await encrypt(key, { action: { method: 'eth_requestAccounts' }, chainId: 1 }) }
    expect(await send(content)).toMatchObject({ failure: { code: 4100 } })
    await session.receive({ id: 'a2', sender: 'zz', content: { handshake: { method: 'handshake' } } })
    expect(replies.at(-1)?.content.failure?.code).toBe(4100)
    expect(asked).toEqual([])
  })

  test('does not end while a request is pending', async () => {
    let approve = (): void => {}
    const waits = new Promise<void>((resolve) => (approve = resolve))
    const slow: ClientWallet = { ...wallet, request: async (method) => (method === 'personal_sign' ? waits : answer(method)) }
    session = new PopupSession({ wallet: slow, keys, post: (message) => replies.push(message as Reply), onIdle: () => idle++ })
    const first = request('personal_sign', ['0x00', ALICE])
    await request('eth_chainId')
    expect([session.open, idle]).toEqual([1, 0])
    approve()
    await first
    expect([session.open, idle]).toEqual([0, 1])
  })

  test('accepts at most fifty concurrent requests, and more after they are answered', async () => {
    let approve = (): void => {}
    const waits = new Promise<void>((resolve) => (approve = resolve))
    const slow: ClientWallet = { ...wallet, request: async (method) => (method === 'personal_sign' ? waits : answer(method)) }
    session = new PopupSession({ wallet: slow, keys, post: (message) => replies.push(message as Reply), onIdle: () => idle++ })
    const waiting = Array.from({ length: 50 }, () => request('personal_sign', ['0x00', ALICE]))
    await expect.poll(() => session.open).toBe(50)
    expect(await request('eth_chainId')).toMatchObject({ failure: { code: -32005 } })
    approve()
    await Promise.all(waiting)
    expect(await request('eth_chainId')).toMatchObject({ result: {} })
  })
})

describe('a request for a chain', () => {
  test("connects first, and switches to the app's chain if the wallet has it", async () => {
    await request('wallet_sendCalls', [{ version: '2.0.0', calls: [] }], 84_532)
    expect(asked.slice(0, 4)).toEqual([
      ['eth_requestAccounts', undefined],
      ['eth_chainId', undefined],
      ['wallet_switchEthereumChain', [{ chainId: '0x14a34' }]],
      ['wallet_sendCalls', [{ version: '2.0.0', calls: [] }]],
    ])
  })

  test('is forwarded unchanged for a chain that the wallet lacks, and refused by the wallet', async () => {
    await request('wallet_sendCalls', [{ chainId: '0x1' }], 1)
    expect(asked.map(([method]) => method).slice(0, 3)).toEqual(['eth_requestAccounts', 'eth_chainId', 'wallet_sendCalls'])
  })
})

describe('signing in', () => {
  test('signs a message of ERC-4361 for the origin that the browser reports', async () => {
    const signInWithEthereum = {
      nonce: 'abc12345',
      chainId: '0x14a34',
      statement: 'Come in.',
      domain: 'bank.example',
      issuedAt: '2026-01-01T00:00:00Z',
    }
    const answered = await request('wallet_connect', [{ version: '1', capabilities: { signInWithEthereum } }])
    const message = [
      'app.example wants you to sign in with your Ethereum account:',
      '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      '',
      'Come in.',
      '',
      'URI: https://app.example',
      'Version: 1',
      'Chain ID: 84532',
      'Nonce: abc12345',
      'Issued At: 2026-01-01T00:00:00Z',
    ].join('\n')
    expect(answered).toMatchObject({
      result: {
        value: {
          accounts: [{ address: ALICE, capabilities: { signInWithEthereum: { message, signature: '0x51' } } }],
          chainIds: ['0x7a69', '0x14a34'],
        },
      },
    })
  })

  test('wallet_sign accepts messages and typed data only', async () => {
    expect(await request('wallet_sign', [{ version: '1', type: '0x45', data: { message: 'hé' } }])).toMatchObject({
      result: { value: { signature: '0x51' } },
    })
    expect(asked).toContainEqual(['personal_sign', ['0x68c3a9', ALICE]])
    const data = { primaryType: 'Mail' }
    expect(await request('wallet_sign', [{ version: '1', type: '0x01', data }])).toMatchObject({
      result: { value: { signature: '0x712' } },
    })
    expect(asked).toContainEqual(['eth_signTypedData_v4', [ALICE, JSON.stringify(data)]])
    expect(await request('wallet_sign', [{ version: '1', type: '0x00', data: '0x' }])).toMatchObject({
      result: { error: { code: -32602 } },
    })
  })
})

describe('messages', () => {
  test('of other senders are ignored', async () => {
    for (const data of [null, 1, 'handshake', {}, { id: 1 }, { id: 'a', sender: 'b' }, { id: 'a', sender: 'b', content: {} }]) {
      expect(readMessage(data)).toBe(null)
      await session.receive(data)
    }
    expect(readMessage({ id: 'a', sender: 'b', content: { encrypted: { iv: 'x', cipherText: 'y' } } })).toBe(null)
    expect(replies).toEqual([])
  })

  test("with the app's metadata are accepted without a response", async () => {
    const config = { requestId: 'a1', data: { version: '2.5.10', metadata: { appName: 'App' } } }
    expect(readMessage(config)).toEqual({ kind: 'config' })
    await session.receive(config)
    expect(replies).toEqual([])
  })

  test('hold a request with a method', () => {
    expect(readRequest('{"action":{"method":"a","params":[1]},"chainId":5}')).toEqual({ action: { method: 'a', params: [1] }, chainId: 5 })
    expect(readRequest('{"action":{"method":"a"},"chainId":"0x5"}')).toEqual({ action: { method: 'a' }, chainId: null })
    expect(() => readRequest('{"method":"a"}')).toThrow(/a request is/)
  })

  test('that were altered are rejected', async () => {
    const key = await sharedKey(app.privateKey, await publicKeyText(keys.publicKey))
    const sealed = await encrypt(key, { n: 1 })
    expect(await decrypt(await sharedKey(keys.privateKey, await publicKeyText(app.publicKey)), sealed)).toBe('{"n":1}')
    new Uint8Array(sealed.cipherText)[0]! ^= 1
    await expect(decrypt(key, sealed)).rejects.toMatchObject({ name: 'OperationError' })
  })
})

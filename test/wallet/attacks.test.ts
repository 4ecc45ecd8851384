import { createConnection } from 'node:net'
import { concat, hashMessage, keccak256, parseAbi, encodeFunctionData, serializeTransaction, toHex } from 'viem'
import type { Hex } from 'viem'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, Server } from '../../src/index.ts'

// Attacks of sites on the wallet, over HTTP as a browser sends them. Attacks that need a browser are in test/browser/attacks*.test.ts.

const SITE = 'https://site.example'
const EP08 = '0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108'

interface Reply {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

let node: Pocketchain
let server: Server
let account = ''

beforeAll(async () => {
  node = await createPocketchain({ cadence: 'instant', onNote: () => {} })
  server = await node.listen({ tlsFolder: null })
  account = node.accounts[0]!.address // a node has ten
  await connect(SITE)
})
afterAll(() => node?.close())
beforeEach(() => expect(node.wallet.approvals.pending).toEqual([]))

async function send(body: unknown, headers: Readonly<Record<string, string>> = { origin: SITE }, path = '/wallet'): Promise<unknown> {
  const response = await fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.status === 200 ? response.json() : { error: { code: response.status, message: await response.text() } }
}

async function ask(
  method: string,
  params: readonly unknown[] = [],
  headers?: Readonly<Record<string, string>>,
  path?: string,
): Promise<Reply> {
  return (await send({ jsonrpc: '2.0', id: 1, method, params }, headers, path)) as Reply // a JSON-RPC response
}

async function connect(origin: string): Promise<void> {
  const asking = ask('eth_requestAccounts', [], { origin })
  ;(await node.wallet.approvals.next({ origin })).approve()
  expect((await asking).error).toBe(undefined)
}

/** Returns the warnings of the question, which is then rejected. */
async function warnings(method: string, params: readonly unknown[], origin = SITE): Promise<readonly string[]> {
  const asking = ask(method, params, { origin })
  const prompt = await node.wallet.approvals.next({ origin })
  const found = prompt.question.warnings.map(({ level, code }) => `${level} ${code}`)
  prompt.reject()
  expect((await asking).error?.code).toBe(4001)
  return found
}

describe('a site that tries to answer its own question', () => {
  it('fails in a batch, at the URL of the node, and with a guessed token', async () => {
    const asking = ask('personal_sign', ['0x6869', account])
    const { question } = await node.wallet.approvals.next()
    const call = (method: string, ...params: readonly unknown[]) => ({ jsonrpc: '2.0', id: method, method, params })
    const calls = [
      call('pocketchain_approvals'),
      call('pocketchain_approve', question.id),
      call('pocketchain_setApprovalPolicy', 'approve'),
      call('pocketchain_walletLink'),
      call('pocketchain_walletRequest', 'local', { method: 'eth_accounts' }),
    ]
    for (const [headers, path, code] of [
      [{ origin: SITE }, '/wallet', 4100],
      [{ origin: SITE, authorization: `Bearer ${'0'.repeat(64)}` }, '/wallet', 4100],
      [
        { origin: server.url, cookie: `pocketchain_wallet_${server.port}=${'0'.repeat(64)}`, 'x-pocketchain-page': '0'.repeat(64) },
        '/wallet',
        4100,
      ],
      [{ origin: 'http://localhost:3000' }, '/', -32601],
      [{}, '/', -32601],
    ] as const) {
      const answered = (await send(calls, headers, path)) as readonly Reply[]
      expect([path, answered.map(({ error }) => error?.code)]).toEqual([path, calls.map(() => code)])
      for (const { method, params } of calls) expect((await ask(method, params, headers, path)).error?.code).toBe(code)
    }
    expect(node.wallet.approvals.pending).toMatchObject([{ id: question.id }])
    expect(node.wallet.approvals.policy).toBe('ask')
    node.wallet.approvals.reject(question.id)
    expect((await asking).error?.code).toBe(4001)
  })
})

describe('an invalid Origin header', () => {
  it.each([
    ['two of them', ['Origin: https://site.example', 'Origin: https://other.example']],
    ['two in one', ['Origin: https://site.example, https://other.example']],
    ['with a user', ['Origin: https://site.example@other.example']],
    ['with a path', ['Origin: https://site.example/path']],
    ['of a file', ['Origin: file:///etc/passwd']],
    ['of a scheme alone', ['Origin: file://']],
    ['null', ['Origin: null']],
    ['none', []],
  ])('%s connects no site and causes no question', async (_, lines) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_requestAccounts', params: [] })
    const head = ['POST /wallet HTTP/1.1', `Host: 127.0.0.1:${server.port}`, 'Content-Type: application/json', 'Connection: close']
    const answer = await exchange([...head, ...lines, `Content-Length: ${body.length}`, '', body].join('\r\n'))
    expect(answer).toMatch(/^HTTP\/1\.1 403 |"code":4100/)
    expect(node.wallet.approvals.pending).toEqual([])
    expect(node.wallet.sites.list().map(({ origin }) => origin)).toEqual([SITE])
  })
})

describe('a message with the encoding of another object', () => {
  const transaction = serializeTransaction({ type: 'eip1559', chainId: 1, to: EP08, value: 1n, nonce: 0, gas: 21_000n, maxFeePerGas: 1n })

  it.each([
    ['a transaction', transaction],
    ['the hash of typed data with its prefix', `0x1901${'ab'.repeat(64)}`],
    ['an authorization (EIP-7702)', `0x05${'d8'.repeat(30)}`],
    ['a digest', `0x${'ab'.repeat(32)}`],
  ])('%s is signed only as a message, with a warning', async (_, message) => {
    const asking = ask('personal_sign', [message, account])
    const prompt = await node.wallet.approvals.next()
    expect(prompt.question.warnings.map(({ level }) => level)).toContain('caution')
    expect(prompt.question).toMatchObject({ digest: hashMessage({ raw: message as `0x${string}` }) })
    expect(prompt.question).not.toMatchObject({ digest: keccak256(message as `0x${string}`) })
    prompt.reject()
    expect((await asking).error?.code).toBe(4001)
  })

  const signIn = (domain: string) =>
    toHex(`${domain} wants you to sign in with your Ethereum account:\n${account}\n\nURI: https://${domain}\nVersion: 1\nChain ID: 31337`)

  it.each([
    'bank.example',
    'https://bank.example',
    'site.example:444',
    'login.site.example',
    'site.example.evil.example',
    'sitе.example', // the e is Cyrillic
    'site.example@bank.example',
    'bank.example@site.example',
  ])('a sign-in message for %s from another site is a danger', async (domain) => {
    expect(await warnings('personal_sign', [signIn(domain), account])).toContain('danger sign-in-domain')
  })

  it('a sign-in message for the requesting site has no warning', async () => {
    expect(await warnings('personal_sign', [signIn('site.example'), account])).not.toContain('danger sign-in-domain')
  })
})

/** EIP712Domain of the domains here. */
const DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

describe('typed data that authorizes others to act as the account', () => {
  const types = (name: string) => ({ EIP712Domain: DOMAIN, [name]: [{ name: 'sender', type: 'address' }] })

  it.each([
    ['a user operation', 'PackedUserOperation', { name: 'ERC4337', version: '1', chainId: 31_337, verifyingContract: EP08 }],
    ['a forwarded request', 'ForwardRequest', { name: 'Forwarder', version: '1', chainId: 31_337, verifyingContract: EP08 }],
  ])('%s is a danger', async (_, primaryType, domain) => {
    const data = { types: types(primaryType), primaryType, domain, message: { sender: account } }
    const found = await warnings('eth_signTypedData_v4', [account, data])
    expect(found.some((each) => each.startsWith('danger '))).toBe(true)
  })

  it.each([
    ['250 KB', 'x'.repeat(250_000)],
    ['60 levels', JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) as unknown],
    ['2 MB', 'x'.repeat(2_000_000)],
    ['2,000 levels', JSON.parse(`${'['.repeat(2_000)}${']'.repeat(2_000)}`) as unknown],
  ])('of %s is shown or rejected without a delay of other requests', async (size, value) => {
    const data = { types: { Note: [{ name: 'text', type: 'string' }] }, primaryType: 'Note', domain: {}, message: { text: value } }
    const asking = ask('eth_signTypedData_v4', [account, data])
    if (size === '250 KB') {
      ;(await node.wallet.approvals.next()).reject()
      expect((await asking).error?.code).toBe(4001)
    } else {
      expect([413, -32602, -32600]).toContain((await asking).error?.code)
    }
    expect(await ask('eth_chainId')).toMatchObject({ result: '0x7a69' })
  })
})

describe('typed data that hides other data from the user (ERC-7739)', () => {
  const abi = parseAbi(['function isValidSignature(bytes32, bytes) view returns (bytes4)'])
  const text = 'bank.example wants you to sign in with your Ethereum account:'

  it.each([
    ['a sign-in elsewhere', toHex(`\x19Ethereum Signed Message:\n${text.length}${text}`), 'danger sign-in-domain'],
    ['any typed data, such as a permit', concat(['0x1901', keccak256('0x01'), keccak256('0x02')]), 'danger nested-data'],
  ])('%s counts as signed by an upgraded account, and is a danger', async (_, prefixed, warning) => {
    await using own = await createPocketchain({ cadence: 'instant', onNote: () => {} })
    own.wallet.approvals.setPolicy('approve')
    const provider = own.wallet.provider(SITE)
    const [from] = (await provider.request({ method: 'eth_requestAccounts' })) as readonly Hex[]
    const calls = [{ to: EP08, value: '0x0' }]
    await provider.request({
      method: 'wallet_sendCalls',
      params: [{ version: '2.0.0', from, chainId: '0x7a69', atomicRequired: true, calls: [...calls, ...calls] }],
    })
    const data = {
      types: { EIP712Domain: DOMAIN, PersonalSign: [{ name: 'prefixed', type: 'bytes' }] },
      primaryType: 'PersonalSign',
      domain: { name: 'PocketAccount', version: '1', chainId: 31_337, verifyingContract: from },
      message: { prefixed },
    }
    own.wallet.approvals.setPolicy('ask')
    const asking = provider.request({ method: 'eth_signTypedData_v4', params: [from, data] })
    const prompt = await own.wallet.approvals.next()
    expect(prompt.question.warnings.map(({ level, code }) => `${level} ${code}`)).toContain(warning)
    prompt.approve()
    const args = [keccak256(prefixed), (await asking) as Hex] as const
    const call = { to: from, data: encodeFunctionData({ abi, functionName: 'isValidSignature', args }) }
    expect(await own.request({ method: 'eth_call', params: [call, 'latest'] })).toMatch(/^0x1626ba7e/)
  })
})

describe('code for the account (EIP-7702) that an app chooses', () => {
  const authorization = { chainId: '0x7a69', address: EP08, nonce: '0x0' }
  const call = { to: EP08, value: '0x0' }

  it.each([
    [
      'a transaction with an authorization',
      'eth_sendTransaction',
      () => [{ from: account, ...call, authorizationList: [authorization] }],
      -32602,
    ],
    [
      'a batch with an authorization',
      'wallet_sendCalls',
      () => [
        {
          version: '2.0.0',
          from: account,
          chainId: '0x7a69',
          atomicRequired: true,
          calls: [call],
          capabilities: { eip7702Auth: authorization },
        },
      ],
      5700,
    ],
    ['a signature for one', 'wallet_signAuthorization', () => [authorization], 4200],
    ['the same under its other name', 'eth_signAuthorization', () => [authorization], 4200],
  ])('%s is rejected without a question', async (_, method, params, code) => {
    expect((await ask(method, params())).error?.code).toBe(code)
    expect(node.wallet.approvals.pending).toEqual([])
    expect(await node.request({ method: 'eth_getCode', params: [account, 'latest'] })).toBe('0x')
  })

  it('a call of the account to itself is a danger', async () => {
    const found = await warnings('eth_sendTransaction', [{ from: account, to: account, data: '0xdeadbeef' }])
    expect(found.some((each) => each.startsWith('danger '))).toBe(true)
  })
})

/** Sends raw bytes, for requests that no client sends. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port: server.port }, () => socket.write(text))
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (answer += chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}

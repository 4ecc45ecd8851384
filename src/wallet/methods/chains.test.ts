import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient, custom, defineChain } from 'viem'
import { addChain } from 'viem/actions'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createRemoteRpc, memoryRecords } from '../../jsonrpc/index.ts'
import { Keyring } from '../keys/keyring.ts'
import type { Provider } from '../provider.ts'
import type { Question } from '../question.ts'
import { embeddedChain } from '../chains/chain.ts'
import { CHAINS } from '../limits.ts'
import type { Wallet } from '../wallet.ts'
import { ORIGIN, connected, openWallet, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
/** The chain to add, reached over HTTP as an external node is. */
const other = await startNode({ chainId: 777 })
const { url: otherUrl } = await other.listen()
const another = await startNode({ chainId: 778 })
const { url: anotherUrl } = await another.listen()

const OTHER = {
  chainId: '0x309',
  chainName: 'Other',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: [otherUrl],
  blockExplorerUrls: ['https://explorer.example'],
  iconUrls: ['https://icons.example/other.png', 'javascript:alert(1)'],
}

const add = (provider: Provider, ...params: readonly unknown[]) => provider.request({ method: 'wallet_addEthereumChain', params })
const switchTo = (provider: Provider, chainId: unknown) => provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
const currentOf = (provider: Provider) => provider.request({ method: 'eth_chainId' })

/** Returns the state that a refusal must not change. */
function registry({ chains, sites, approvals }: Wallet): unknown {
  return { chains: chains.list().map(({ chainId, rpcUrls }) => [chainId, rpcUrls]), sites: sites.list(), waiting: approvals.pending.length }
}

/** Approves the next question and returns it. */
async function approve(wallet: Wallet, kind: Question['kind']): Promise<Question> {
  const prompt = await wallet.approvals.next({ origin: ORIGIN })
  expect(prompt.question.kind).toBe(kind)
  prompt.approve()
  return prompt.question
}

/** The same request; the question to add the chain is approved. */
async function agreed(wallet: Wallet, pendingRequest: Promise<unknown>): Promise<unknown> {
  await Promise.all([approve(wallet, 'addChain'), pendingRequest])
  return pendingRequest
}

async function reject(wallet: Wallet, kind: Question['kind']): Promise<void> {
  const prompt = await wallet.approvals.next({ origin: ORIGIN })
  expect(prompt.question.kind).toBe(kind)
  prompt.reject()
}

/** An HTTP server with the test's own responses. */
async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly requests: () => number }> {
  let requests = 0
  const server = createServer((request, response) => {
    requests += 1
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests }
}

const saying = (body: string): Promise<{ readonly url: string; readonly requests: () => number }> =>
  serve((_, response) => response.end(body))

describe('wallet_addEthereumChain', () => {
  it('adds the chain after one question, switches after another, and returns null when it is the current one', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const events: unknown[] = []
    provider.on('chainChanged', (chainId) => events.push(chainId))
    const pendingRequest = add(provider, OTHER)
    const question = await approve(wallet, 'addChain')
    expect(question).toMatchObject({
      origin: ORIGIN,
      method: 'wallet_addEthereumChain',
      known: false,
      warnings: [{ code: 'unchecked-rpc', level: 'info', text: expect.stringContaining(new URL(otherUrl).host) as string }],
      unchecked: [otherUrl],
      proposed: {
        chainId: '0x309',
        chainName: 'Other',
        nativeCurrency: OTHER.nativeCurrency,
        rpcUrls: [otherUrl],
        blockExplorerUrls: ['https://explorer.example'],
        iconUrls: ['https://icons.example/other.png'],
      },
    })
    expect(await approve(wallet, 'switchChain')).toMatchObject({ from: { chainId: '0x7a69' }, to: { chainId: '0x309', name: 'Other' } })
    expect(await pendingRequest).toBeNull()
    expect(await currentOf(provider)).toBe('0x309')
    expect(events).toEqual(['0x309'])
    expect(await provider.request({ method: 'eth_getBlockByNumber', params: ['0x0', false] })).toMatchObject({
      hash: ((await other.request({ method: 'eth_getBlockByNumber', params: ['0x0', false] })) as { hash: string }).hash,
    })
  })

  it('returns null also if the user adds the chain but does not switch', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const pendingRequest = add(provider, OTHER)
    await approve(wallet, 'addChain')
    await reject(wallet, 'switchChain')
    expect(await pendingRequest).toBeNull()
    expect(await currentOf(provider)).toBe('0x7a69')
    expect(wallet.chains.get(777)).not.toBeNull()
  })

  it('works with viem’s addChain', async () => {
    const { wallet } = openWallet(node, { policy: 'approve' })
    const provider = wallet.provider(ORIGIN)
    await provider.request({ method: 'eth_requestAccounts' })
    const chain = defineChain({
      id: 777,
      name: 'Other',
      nativeCurrency: OTHER.nativeCurrency,
      rpcUrls: { default: { http: [otherUrl] } },
    })
    await addChain(createClient({ transport: custom(provider) }), { chain })
    expect(await currentOf(provider)).toBe('0x309')
  })

  it('creates a question for a known chain too, returns null, and adds no second entry', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    for (const known of [false, true]) {
      const pendingRequest = add(provider, OTHER)
      expect(await approve(wallet, 'addChain')).toMatchObject({ known })
      if (!known) await approve(wallet, 'switchChain')
      expect(await pendingRequest).toBeNull()
    }
    expect(wallet.chains.list().map(({ chainId }) => chainId)).toEqual([31_337, 777])
  })

  it('is kept after a restart, as is the selected chain of the site', async () => {
    const records = memoryRecords()
    const { wallet } = openWallet(node, { records })
    const pendingRequest = add(await connected(wallet), OTHER)
    await approve(wallet, 'addChain')
    await approve(wallet, 'switchChain')
    await pendingRequest
    await wallet.close()
    const { wallet: again } = openWallet(node, { records })
    expect(await currentOf(again.provider(ORIGIN))).toBe('0x309')
    expect(await again.provider(ORIGIN).request({ method: 'net_listening' })).toBe(true)
  })

  it('keeps the urls that responded, and shows unchecked ones as such', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const dead = await saying('no node')
    const pendingRequest = add(provider, { ...OTHER, rpcUrls: [dead.url, otherUrl] })
    const rpcUrls = [dead.url, otherUrl]
    expect(await approve(wallet, 'addChain')).toMatchObject({ proposed: { rpcUrls }, unchecked: rpcUrls })
    await approve(wallet, 'switchChain')
    await pendingRequest
    expect(wallet.chains.get(777)?.rpcUrls).toEqual([otherUrl])
  })

  it('fetches no icon and no explorer', async () => {
    const { wallet } = openWallet(node, { policy: 'approve' })
    const bait = await saying('')
    const provider = wallet.provider(ORIGIN)
    await provider.request({ method: 'eth_requestAccounts' })
    await add(provider, { ...OTHER, blockExplorerUrls: [bait.url], iconUrls: [bait.url] })
    expect(bait.requests()).toBe(0)
    expect(wallet.chains.get(777)?.blockExplorerUrls).toEqual([bait.url])
  })

  it('accepts null for optional urls, and unknown keys', async () => {
    const { wallet } = openWallet(node, { policy: 'approve' })
    const provider = wallet.provider(ORIGIN)
    await provider.request({ method: 'eth_requestAccounts' })
    await add(provider, { ...OTHER, blockExplorerUrls: null, iconUrls: null, faucets: ['x'] })
    expect(wallet.chains.get(777)).toMatchObject({ blockExplorerUrls: [], iconUrls: [] })
  })
})

describe('wallet_addEthereumChain warns of', () => {
  const warned = async (wallet: Wallet, provider: Provider, chain: object): Promise<readonly string[]> => {
    const pendingRequest = add(provider, { ...OTHER, ...chain })
    const { warnings } = await approve(wallet, 'addChain')
    await reject(wallet, 'switchChain')
    await pendingRequest
    return warnings.map(({ code }) => code)
  }

  it('another name or url of a known chain, and a name that another chain has', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    expect(await warned(wallet, provider, {})).toEqual(['unchecked-rpc'])
    const elsewhere = otherUrl.replace('127.0.0.1', 'localhost')
    expect(await warned(wallet, provider, { chainName: 'New name', rpcUrls: [elsewhere] })).toEqual([
      'chain-name-differs',
      'chain-rpc-changes',
      'unchecked-rpc',
    ])
    expect(wallet.chains.get(777)).toMatchObject({ name: 'Other', rpcUrls: [elsewhere, otherUrl] })
    expect(await warned(wallet, provider, { chainId: '0x30a', rpcUrls: [anotherUrl], chainName: 'other' })).toEqual([
      'chain-name-taken',
      'unchecked-rpc',
    ])
  })

  it('real money, and a host with confusable letters', async () => {
    const { wallet } = openWallet(node, {
      connect: () => ({ request: () => Promise.resolve('0x2105'), subscribe: () => Promise.reject(new Error('none')) }),
    })
    const provider = await connected(wallet)
    const base = { chainId: '0x2105', chainName: 'Base', rpcUrls: ['https://mainnet.bаse.org'] }
    expect(await warned(wallet, provider, base)).toEqual(['rpc-host-letters', 'real-chain'])
  })
})

describe('wallet_addEthereumChain is rejected without effect,', () => {
  it('4001: if the user rejects', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    const pendingRequest = add(provider, OTHER)
    await reject(wallet, 'addChain')
    expect(await refusal(pendingRequest)).toEqual({ code: 4001, message: 'User rejected the request', data: { reason: 'rejected' } })
    expect(registry(wallet)).toEqual(before)
    expect(await currentOf(provider)).toBe('0x7a69')
  })

  it('4100: before the origin is connected, and no rpc is requested', async () => {
    const { wallet } = openWallet(node)
    const bait = await saying('{"jsonrpc":"2.0","id":1,"result":"0x309"}')
    const before = registry(wallet)
    const error = await refusal(add(wallet.provider(ORIGIN), { ...OTHER, rpcUrls: [bait.url] }))
    expect(error).toMatchObject({ code: 4100, data: { reason: 'not-connected', origin: ORIGIN } })
    expect(error.message).toMatch(/^Requested method not supported/)
    expect(bait.requests()).toBe(0)
    expect(registry(wallet)).toEqual(before)
  })

  it('4100: for an origin that is not connected, whether or not the chain is known', async () => {
    const { wallet } = openWallet(node)
    const known = { ...OTHER, chainId: '0x7a69', nativeCurrency: { ...OTHER.nativeCurrency, symbol: 'OTHER' } }
    expect(await refusal(add(wallet.provider(ORIGIN), known))).toEqual(await refusal(add(wallet.provider(ORIGIN), OTHER)))
  })

  it('4100: if the method is switched off', async () => {
    const { wallet } = openWallet(node, { disabledMethods: ['wallet_addEthereumChain'] })
    const provider = await connected(wallet)
    const before = registry(wallet)
    const error = await refusal(add(provider, OTHER))
    expect([error.code, error.message]).toEqual([4100, 'Requested method not supported'])
    expect(registry(wallet)).toEqual(before)
  })

  it('4902: if the rpc reports another chain id', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    const error = await refusal(agreed(wallet, add(provider, { ...OTHER, chainId: '0x30a' })))
    expect(error).toMatchObject({ code: 4902, data: { reason: 'other-chain-id', asked: '0x30a', answered: '0x309', url: otherUrl } })
    expect(error.message).toMatch(/^Unrecognized chain ID: the rpc at .* answers chain id 0x309, not 0x30a$/)
    expect(registry(wallet)).toEqual(before)
  })

  it('4902: if one of several reports another chain id', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    const error = await refusal(agreed(wallet, add(provider, { ...OTHER, rpcUrls: [otherUrl, anotherUrl] })))
    expect(error).toMatchObject({ code: 4902, data: { reason: 'other-chain-id', answered: '0x30a' } })
    expect(registry(wallet)).toEqual(before)
  })

  it('4902: if no rpc reports a chain id', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    const redirecting = await serve((_, response) => response.writeHead(302, { location: otherUrl }).end())
    const noNodes = await Promise.all(
      [
        '<html>',
        '{"jsonrpc":"2.0","id":1,"result":777}',
        '{"jsonrpc":"2.0","id":1,"result":"0x"}',
        `{"result":"${'0'.repeat(20_000)}"}`,
      ].map(saying),
    )
    for (const { url } of [redirecting, ...noNodes]) {
      const error = await refusal(agreed(wallet, add(provider, { ...OTHER, rpcUrls: [url] })))
      expect(error).toMatchObject({ code: 4902, data: { reason: 'unreachable', asked: '0x309', answered: null } })
      expect(error.message).toMatch(/^Unrecognized chain ID/)
    }
    expect(registry(wallet)).toEqual(before)
  })

  it('4902: if an https name resolves to a private network, and nothing is sent there', async () => {
    const { wallet } = openWallet(node, { connect: (url) => createRemoteRpc(url, { lookup: async () => ['10.0.0.7'] }) })
    const provider = await connected(wallet)
    const before = registry(wallet)
    for (const url of ['https://rpc.example', 'https://10.0.0.7', 'https://169.254.169.254/latest/meta-data', 'https://[fd00:ec2::254]']) {
      const error = await refusal(add(provider, { ...OTHER, rpcUrls: [url] }))
      expect(error).toMatchObject({ code: 4902, data: { reason: 'forbidden', asked: '0x309', answered: null, url } })
    }
    expect(registry(wallet)).toEqual(before)
  })

  it('4100: if the origin is disconnected while the question waits', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const pendingRequest = add(provider, OTHER)
    const prompt = await wallet.approvals.next({ kind: 'addChain' })
    wallet.sites.disconnect(ORIGIN)
    prompt.approve()
    expect(await refusal(pendingRequest)).toMatchObject({ code: 4100, data: { reason: 'not-connected' } })
    expect(wallet.chains.get(777)).toBeNull()
  })

  it('4100: without a question if the origin is disconnected while its rpc is requested', async () => {
    const connect = () => ({
      request: () => (wallet.sites.disconnect(ORIGIN), Promise.resolve('0x309')),
      subscribe: () => Promise.reject(new Error('none')),
    })
    const { wallet } = openWallet(node, { connect })
    const provider = await connected(wallet)
    const questions: unknown[] = []
    wallet.approvals.subscribe(({ question }) => questions.push(question))
    wallet.approvals.setPolicy('approve')
    const error = await refusal(add(provider, { ...OTHER, rpcUrls: ['https://rpc.example'] }))
    expect(error).toMatchObject({ code: 4100, data: { reason: 'not-connected' } })
    expect(questions).toEqual([])
  })

  it('-32602: if the symbol is not that of the known chain', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    const fake = { ...OTHER, chainId: '0x7a69', nativeCurrency: { name: 'Dollar', symbol: 'USD', decimals: 18 } }
    expect(await refusal(add(provider, fake))).toMatchObject({ code: -32602, data: { reason: 'symbol-differs', known: 'ETH' } })
    expect(registry(wallet)).toEqual(before)
  })

  it('-32602: if a chain with another symbol was added while the question waited', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const first = add(provider, OTHER)
    const second = add(provider, { ...OTHER, nativeCurrency: { ...OTHER.nativeCurrency, symbol: 'FAKE' } })
    const prompts = [await wallet.approvals.next({ kind: 'addChain' }), await wallet.approvals.next({ kind: 'addChain' })]
    for (const { question, approve: yes } of prompts)
      if (question.kind === 'addChain' && question.proposed.nativeCurrency.symbol === 'ETH') yes()
    await approve(wallet, 'switchChain')
    await first
    for (const { question, approve: yes } of prompts)
      if (question.kind === 'addChain' && question.proposed.nativeCurrency.symbol === 'FAKE') yes()
    expect(await refusal(second)).toMatchObject({ code: -32602, data: { reason: 'symbol-differs' } })
    expect(wallet.chains.get(777)?.nativeCurrency.symbol).toBe('ETH')
  })

  it('-32005: if the wallet has the maximum number of chains', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const { chainId: _, ...given } = wallet.chains.default
    for (let chainId = 1_000_000; !wallet.chains.isFull; chainId++) wallet.chains.add({ ...given, chainId, rpcUrls: [otherUrl] })
    const before = registry(wallet)
    expect(await refusal(add(provider, OTHER))).toMatchObject({ code: -32005, data: { reason: 'too-many-chains', limit: CHAINS } })
    expect(registry(wallet)).toEqual(before)
  })

  const { chainId: _, ...noId } = OTHER
  const { chainName: __, ...noName } = OTHER
  const { nativeCurrency: ___, ...noCurrency } = OTHER
  const { rpcUrls: ____, ...noUrls } = OTHER
  it.each<[string, readonly unknown[]]>([
    ['no object', []],
    ['a text', ['0x309']],
    ['null', [null]],
    ['a list', [[OTHER]]],
    ['two', [OTHER, OTHER]],
    ['no chainId', [noId]],
    ['a number as chainId', [{ ...OTHER, chainId: 777 }]],
    ['a decimal chainId', [{ ...OTHER, chainId: '777' }]],
    ['chainId zero', [{ ...OTHER, chainId: '0x0' }]],
    ['an empty chainId', [{ ...OTHER, chainId: '0x' }]],
    ['a padded chainId', [{ ...OTHER, chainId: '0x0309' }]],
    ['a chainId above the largest', [{ ...OTHER, chainId: '0xfffffffffffed' }]],
    ['a chainId of 40 digits', [{ ...OTHER, chainId: `0x${'1'.repeat(40)}` }]],
    ['no chainName', [noName]],
    ['an empty chainName', [{ ...OTHER, chainName: ' ' }]],
    ['a long chainName', [{ ...OTHER, chainName: 'x'.repeat(101) }]],
    ['a chainName that reverses the text', [{ ...OTHER, chainName: 'Base\u202eeniam' }]],
    ['a chainName with a letter without ink', [{ ...OTHER, chainName: 'Base\u3164' }]],
    ['a chainName with a private character', [{ ...OTHER, chainName: 'Base\ue000' }]],
    ['no nativeCurrency', [noCurrency]],
    ['null as nativeCurrency', [{ ...OTHER, nativeCurrency: null }]],
    ['no currency name', [{ ...OTHER, nativeCurrency: { symbol: 'ETH', decimals: 18 } }]],
    ['no symbol', [{ ...OTHER, nativeCurrency: { name: 'Ether', decimals: 18 } }]],
    ['no decimals', [{ ...OTHER, nativeCurrency: { name: 'Ether', symbol: 'ETH' } }]],
    ['decimals as text', [{ ...OTHER, nativeCurrency: { ...OTHER.nativeCurrency, decimals: '18' } }]],
    ['a part of a decimal', [{ ...OTHER, nativeCurrency: { ...OTHER.nativeCurrency, decimals: 1.5 } }]],
    ['negative decimals', [{ ...OTHER, nativeCurrency: { ...OTHER.nativeCurrency, decimals: -1 } }]],
    ['no rpcUrls', [noUrls]],
    ['empty rpcUrls', [{ ...OTHER, rpcUrls: [] }]],
    ['one rpc url, not in a list', [{ ...OTHER, rpcUrls: otherUrl }]],
    ['an invalid rpc url', [{ ...OTHER, rpcUrls: ['not a url'] }]],
    ['an rpc url with a misleading host', [{ ...OTHER, rpcUrls: [`${otherUrl}\\@rpc.example`] }]],
    ['an rpc url with an invisible character', [{ ...OTHER, rpcUrls: [`${otherUrl}/\u202e`] }]],
    ['an explorer url with a space', [{ ...OTHER, blockExplorerUrls: ['https://explorer.example '] }]],
    ['http to a public host', [{ ...OTHER, rpcUrls: ['http://rpc.example'] }]],
    ['http to a private network', [{ ...OTHER, rpcUrls: ['http://192.168.0.1'] }]],
    ['one good rpc url and one bad', [{ ...OTHER, rpcUrls: [otherUrl, 'file:///etc/passwd'] }]],
    ['an rpc url with a password', [{ ...OTHER, rpcUrls: ['https://user:secret@rpc.example'] }]],
    ['too many rpc urls', [{ ...OTHER, rpcUrls: Array(11).fill(otherUrl) }]],
    ['a long rpc url', [{ ...OTHER, rpcUrls: [`https://rpc.example/${'x'.repeat(2_100)}`] }]],
    ['a javascript: explorer url', [{ ...OTHER, blockExplorerUrls: ['javascript:alert(1)'] }]],
    ['an invalid explorer url', [{ ...OTHER, blockExplorerUrls: ['explorer'] }]],
    ['an icon url that is no string', [{ ...OTHER, iconUrls: [1] }]],
  ])('-32602: %s', async (_name, params) => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const before = registry(wallet)
    expect((await refusal(add(provider, ...params))).code).toBe(-32602)
    expect(registry(wallet)).toEqual(before)
  })
})

describe('wallet_addEthereumChain with an rpc on this computer', () => {
  /** Servers that a port may have; nothing listens on the last port. */
  async function ports(): Promise<Readonly<Record<string, { readonly url: string; readonly requests: () => number }>>> {
    return {
      'the right chain': await saying('{"jsonrpc":"2.0","id":1,"result":"0x309"}'),
      'another chain': await saying('{"jsonrpc":"2.0","id":1,"result":"0x1"}'),
      'another service': await saying('<html>'),
      'a redirect': await serve((_, response) => response.writeHead(302, { location: otherUrl }).end()),
      silence: await serve(() => {}),
      nothing: { url: 'http://127.0.0.1:10', requests: () => 0 },
    }
  }

  it.each(['127.0.0.1', 'localhost', 'LOCALHOST', '127.1', '2130706433', '0x7f.1', '127.0.0.2', 'any.localhost', '[::1]'])(
    'sends nothing to %s before the user agrees, and the error does not depend on the server there',
    async (host) => {
      const { wallet } = openWallet(node)
      const provider = await connected(wallet)
      const before = registry(wallet)
      const seen = new Set<string>()
      for (const { url, requests } of Object.values(await ports())) {
        const rpcUrl = url.replace('127.0.0.1', host)
        const pendingRequest = add(provider, { ...OTHER, rpcUrls: [rpcUrl] })
        const { question, reject: no } = await wallet.approvals.next({ kind: 'addChain' })
        const { id: _, createdAt: __, ...shown } = question
        expect(shown).toMatchObject({ unchecked: [rpcUrl], proposed: { rpcUrls: [rpcUrl] } })
        expect(requests()).toBe(0)
        no()
        const error = await refusal(pendingRequest)
        expect(requests()).toBe(0)
        seen.add(JSON.stringify([shown, error]).replaceAll(rpcUrl, 'url').replaceAll(new URL(rpcUrl).host, 'host'))
      }
      expect([...seen]).toHaveLength(1)
      expect(registry(wallet)).toEqual(before)
    },
  )

  it('creates the question before any request to the rpc', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const silent = await serve(() => {})
    void add(provider, { ...OTHER, rpcUrls: [silent.url] }).catch(() => null)
    await wallet.approvals.next({ kind: 'addChain' })
    expect(silent.requests()).toBe(0)
  })

  it.each(['policy', 'user'])('is 4902 after the approval of a %s as for any other rpc, and nothing is added', async (who) => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    if (who === 'policy') wallet.approvals.setPolicy('approve')
    const before = registry(wallet)
    const { 'another chain': wrong, 'another service': none } = await ports()
    const reasons: unknown[] = []
    for (const served of [wrong, none]) {
      const url = served?.url ?? ''
      const pendingRequest = add(provider, { ...OTHER, rpcUrls: [url] })
      const error = await refusal(who === 'policy' ? pendingRequest : agreed(wallet, pendingRequest))
      expect(error.code).toBe(4902)
      expect(served?.requests()).toBe(1)
      reasons.push((error.data as { reason: string }).reason)
    }
    expect(reasons).toEqual(['other-chain-id', 'unreachable'])
    expect(registry(wallet)).toEqual(before)
  })

  it('requests a public rpc before the question, and rejects a wrong one without a question', async () => {
    const urls: string[] = []
    const connect = (url: string) => ({
      request: () => (urls.push(url), Promise.resolve(url.includes('wrong') ? '0x1' : '0x309')),
      subscribe: () => Promise.reject(new Error('none')),
    })
    const { wallet } = openWallet(node, { connect })
    const provider = await connected(wallet)
    const [fine, wrong, here] = ['https://rpc.example', 'https://wrong.example', 'http://localhost:1234']
    expect(await refusal(add(provider, { ...OTHER, rpcUrls: [here, wrong] }))).toMatchObject({ code: 4902, data: { url: wrong } })
    expect(urls.splice(0)).toEqual([wrong])
    const pendingRequest = add(provider, { ...OTHER, rpcUrls: [here, fine] })
    const prompt = await wallet.approvals.next({ kind: 'addChain' })
    expect(urls.splice(0)).toEqual([fine])
    expect(prompt.question).toMatchObject({ unchecked: [here], proposed: { rpcUrls: [here, fine] } })
    prompt.approve()
    await approve(wallet, 'switchChain')
    await pendingRequest
    expect(urls[0]).toBe(here)
    expect(wallet.chains.get(777)?.rpcUrls).toEqual([here, fine])
  })

  it('sends no request there if the origin was disconnected before the approval', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const bait = await saying('{"jsonrpc":"2.0","id":1,"result":"0x309"}')
    const pendingRequest = add(provider, { ...OTHER, rpcUrls: [bait.url] })
    const prompt = await wallet.approvals.next({ kind: 'addChain' })
    wallet.sites.disconnect(ORIGIN)
    prompt.approve()
    expect(await refusal(pendingRequest)).toMatchObject({ code: 4100, data: { reason: 'not-connected' } })
    expect(bait.requests()).toBe(0)
  })

  it('requests the node of this process before the question, since its id is no secret', async () => {
    const { url } = await node.listen()
    const { wallet } = openWallet(node, { chains: [embeddedChain(node, { rpcUrls: [url] })] })
    const provider = await connected(wallet)
    const wrong = { ...OTHER, rpcUrls: [url] }
    expect(await refusal(add(provider, wrong))).toMatchObject({ code: 4902, data: { reason: 'other-chain-id', answered: '0x7a69' } })
    const pendingRequest = add(provider, { ...OTHER, chainId: '0x7a69', rpcUrls: [`${url}/`] })
    expect(await approve(wallet, 'addChain')).not.toHaveProperty('unchecked')
    expect(await pendingRequest).toBeNull()
  })
})

describe('wallet_switchEthereumChain', () => {
  /** Connected, with the other chain added but not selected. */
  async function withOther(): Promise<{ wallet: Wallet; provider: Provider }> {
    const { wallet } = openWallet(node)
    wallet.chains.add({ ...OTHER, chainId: 777, name: 'Other', iconUrls: [] })
    return { wallet, provider: await connected(wallet) }
  }

  it('switches this origin only after a question, and emits chainChanged', async () => {
    const { wallet, provider } = await withOther()
    const stranger = await connected(wallet, 'https://stranger.example')
    const events: unknown[] = []
    provider.on('chainChanged', (chainId) => events.push(chainId))
    stranger.on('chainChanged', () => events.push('the stranger'))
    const pendingRequest = switchTo(provider, '0x309')
    expect(await approve(wallet, 'switchChain')).toMatchObject({
      method: 'wallet_switchEthereumChain',
      from: { name: 'Pocketchain' },
      to: { name: 'Other' },
    })
    expect(await pendingRequest).toBeNull()
    expect([await currentOf(provider), await currentOf(stranger), events]).toEqual(['0x309', '0x7a69', ['0x309']])
  })

  it('to the selected chain returns null without a question', async () => {
    const { wallet, provider } = await withOther()
    expect(await switchTo(provider, '0x7a69')).toBeNull()
    expect(wallet.approvals.pending).toEqual([])
  })

  it('4902: to a chain that the wallet does not have', async () => {
    const { wallet, provider } = await withOther()
    const before = registry(wallet)
    const error = await refusal(switchTo(provider, '0x2105'))
    expect(error).toMatchObject({ code: 4902, data: { reason: 'unknown-chain', asked: '0x2105', answered: null } })
    expect(error.message).toContain('wallet_addEthereumChain')
    expect(registry(wallet)).toEqual(before)
  })

  it('4001: if the user rejects', async () => {
    const { wallet, provider } = await withOther()
    const before = registry(wallet)
    const pendingRequest = switchTo(provider, '0x309')
    await reject(wallet, 'switchChain')
    expect((await refusal(pendingRequest)).code).toBe(4001)
    expect(registry(wallet)).toEqual(before)
    expect(await currentOf(provider)).toBe('0x7a69')
  })

  it('4100: before the origin is connected, whether or not the chain is known', async () => {
    const { wallet } = await withOther()
    const stranger = wallet.provider('https://stranger.example')
    const errors = await Promise.all(['0x309', '0x2105'].map((chainId) => refusal(switchTo(stranger, chainId))))
    expect(errors[0]).toMatchObject({ code: 4100, data: { reason: 'not-connected' } })
    expect(errors[1]).toEqual(errors[0])
    expect(wallet.approvals.pending).toEqual([])
  })

  it.each([undefined, 777, '777', '0x0', '0x0309', ''])('-32602: to %j', async (chainId) => {
    const { wallet, provider } = await withOther()
    const before = registry(wallet)
    expect((await refusal(switchTo(provider, chainId))).code).toBe(-32602)
    expect(registry(wallet)).toEqual(before)
  })

  it('withdraws the questions of the origin about the chain that it leaves, but not those of other origins', async () => {
    const { wallet, provider } = await withOther()
    const stranger = await connected(wallet, 'https://stranger.example')
    const [account = ''] = (await provider.request({ method: 'eth_accounts' })) as readonly string[]
    const typedData = {
      types: { EIP712Domain: [], Note: [{ name: 'text', type: 'string' }] },
      primaryType: 'Note',
      domain: {},
      message: { text: 'hi' },
    }
    const sign = (from: Provider) => from.request({ method: 'eth_signTypedData_v4', params: [account, JSON.stringify(typedData)] })
    const theirs = sign(stranger)
    const ours = refusal(sign(provider))
    await wallet.approvals.next({ kind: 'sign', origin: ORIGIN })
    const pendingRequest = switchTo(provider, '0x309')
    await approve(wallet, 'switchChain')
    await pendingRequest
    expect(await ours).toMatchObject({ code: 4001, data: { reason: 'chain-changed' } })
    ;(await wallet.approvals.next({ kind: 'sign', origin: 'https://stranger.example' })).approve()
    expect(await theirs).toMatch(/^0x[0-9a-f]{130}$/)
  })

  it('creates a new question if the origin has switched to a third chain meanwhile', async () => {
    const { wallet, provider } = await withOther()
    wallet.chains.add({ ...OTHER, chainId: 778, name: 'Third', rpcUrls: [anotherUrl], iconUrls: [] })
    const toOther = switchTo(provider, '0x309')
    const first = await wallet.approvals.next({ kind: 'switchChain' })
    wallet.sites.selectChain(ORIGIN, 778)
    if (wallet.approvals.find(first.question.id) !== null) first.approve()
    const second = await approve(wallet, 'switchChain')
    expect(second).toMatchObject({ from: { name: 'Third' }, to: { name: 'Other' }, replaces: first.question.id })
    expect(await toOther).toBeNull()
    expect(await currentOf(provider)).toBe('0x309')
  })
})

it('a dev account does not sign on an added real chain, whatever its rpc reports', async () => {
  const connect = () => ({ request: () => Promise.resolve('0x2105'), subscribe: () => Promise.reject(new Error('none')) })
  const { wallet } = openWallet(node, { connect, keyring: Keyring.of({ dev: node.accounts.map(({ privateKey }) => privateKey) }) })
  const provider = await connected(wallet)
  const pendingRequest = add(provider, { ...OTHER, chainId: '0x2105', rpcUrls: ['https://mainnet.base.org'] })
  await approve(wallet, 'addChain')
  await approve(wallet, 'switchChain')
  await pendingRequest
  const [account] = (await provider.request({ method: 'eth_accounts' })) as readonly string[]
  const error = await refusal(provider.request({ method: 'personal_sign', params: ['0x6869', account] }))
  expect(error).toMatchObject({ code: 4100, data: { reason: 'dev-account-on-real-chain', chainId: 8_453 } })
  expect(wallet.approvals.pending).toEqual([])
})

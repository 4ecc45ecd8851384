import { describe, expect, it } from 'vitest'
import type { Address } from '../../eth/index.ts'
import { RpcError } from '../../jsonrpc/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'
import { Deployed } from '../batches/calls.fixture.ts'
import type { Wallet } from '../wallet.ts'
import { ORIGIN, connected, leavingAtFirstRead, openWallet, refusal, startNode } from '../wallet.fixture.ts'

const node = await startNode()
const [alice, bob] = node.accounts.map(({ address }) => address) as [Address, Address, ...Address[]] // a node has ten

describe('wallet_connect', () => {
  it('connects as eth_requestAccounts does', async () => {
    const { wallet } = openWallet(node)
    const provider = wallet.provider(ORIGIN)
    const sent = provider.request({
      method: 'wallet_connect',
      params: [{ version: '1', capabilities: { unheardOf: { optional: true } } }],
    })
    const { question, approve } = await wallet.approvals.next()
    expect(question).toMatchObject({ kind: 'connect', method: 'wallet_connect' })
    approve({ accounts: [bob, alice] })
    const accounts = [
      { address: bob, capabilities: {} },
      { address: alice, capabilities: {} },
    ]
    expect(await sent).toEqual({ accounts, chainIds: ['0x7a69'] })
    expect(await provider.request({ method: 'wallet_connect' })).toEqual({ accounts, chainIds: ['0x7a69'] })
  })

  it('rejects a sign-in capability with 5700, unless it is optional', async () => {
    const { wallet } = openWallet(node)
    const capabilities = { signInWithEthereum: { nonce: '1', chainId: '0x7a69' } }
    const sent = wallet.provider(ORIGIN).request({ method: 'wallet_connect', params: [{ version: '1', capabilities }] })
    expect(await refusal(sent)).toMatchObject({ code: 5700, data: { reason: 'unsupported-capability', capability: 'signInWithEthereum' } })
    expect(wallet.approvals.pending).toEqual([])
  })

  it('rejects another version, and capabilities that are no object', async () => {
    const { wallet } = openWallet(node)
    const provider = wallet.provider(ORIGIN)
    expect(await refusal(provider.request({ method: 'wallet_connect', params: [{ version: '2' }] }))).toMatchObject({ code: -32602 })
    expect(await refusal(provider.request({ method: 'wallet_connect', params: [{ capabilities: 1 }] }))).toMatchObject({ code: -32602 })
    expect(wallet.approvals.pending).toEqual([])
  })

  it('is revoked by wallet_disconnect', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    expect(await provider.request({ method: 'wallet_disconnect' })).toBeNull()
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([])
  })
})

describe('permissions', () => {
  it('are requested again for a connected origin, and returned in MetaMask’s form', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet, ORIGIN, { accounts: [bob] })
    const sent = provider.request({ method: 'wallet_requestPermissions', params: [{ eth_accounts: {} }] })
    const { question, approve } = await wallet.approvals.next()
    if (question.kind !== 'connect') throw new Error(question.kind)
    expect(question.accounts[0]?.address).toBe(bob)
    approve({ accounts: [alice] })
    const permissions = await sent
    expect(permissions).toEqual([
      {
        id: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
        invoker: ORIGIN,
        parentCapability: 'eth_accounts',
        caveats: [{ type: 'restrictReturnedAccounts', value: [alice] }],
        date: wallet.sites.get(ORIGIN).connectedAt,
      },
      expect.objectContaining({
        parentCapability: 'endowment:permitted-chains',
        caveats: [{ type: 'restrictNetworkSwitching', value: ['0x7a69'] }],
      }),
    ])
    expect(await provider.request({ method: 'wallet_getPermissions' })).toEqual(permissions)
  })

  it('that are rejected change nothing', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet, ORIGIN, { accounts: [bob] })
    const sent = refusal(provider.request({ method: 'wallet_requestPermissions', params: [{ eth_accounts: {} }] }))
    ;(await wallet.approvals.next()).reject()
    expect(await sent).toMatchObject({ code: 4001 })
    expect(await provider.request({ method: 'eth_accounts' })).toEqual([bob])
  })

  it('are revoked completely', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    expect(await provider.request({ method: 'wallet_revokePermissions', params: [{ eth_accounts: {} }] })).toBeNull()
    expect(await provider.request({ method: 'wallet_getPermissions' })).toEqual([])
    expect(await refusal(provider.request({ method: 'personal_sign', params: ['0x', alice] }))).toMatchObject({ code: 4100 })
  })

  it.each(['wallet_requestPermissions', 'wallet_revokePermissions'])(
    '%s without params, or of something unknown, is -32602',
    async (method) => {
      const { wallet } = openWallet(node)
      const provider = await connected(wallet)
      for (const params of [undefined, [], [{}], [null], [[]], ['eth_accounts'], [{ snap_dialog: {} }]]) {
        expect(await refusal(provider.request({ method, params })), JSON.stringify(params)).toMatchObject({ code: -32602 })
      }
      expect(wallet.approvals.pending).toEqual([])
      expect(await provider.request({ method: 'eth_accounts' })).toHaveLength(10)
    },
  )
})

describe('wallet_watchAsset', () => {
  const options = { address: `0x${'AB'.repeat(20)}`, symbol: 'USDC', decimals: 6 }

  it.each([
    ['in the form of EIP-747', { type: 'ERC20', options }],
    ['in a list', [{ type: 'ERC20', options }]],
  ])('returns true after a question, %s', async (_, params) => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const sent = provider.request({ method: 'wallet_watchAsset', params })
    const { question, approve } = await wallet.approvals.next()
    const asset = { type: 'ERC20', address: options.address.toLowerCase(), symbol: 'USDC', decimals: 6 }
    const warnings = [{ code: 'asset-without-code', level: 'caution' }]
    expect(question).toMatchObject({ kind: 'watchAsset', asset, chain: { chainId: '0x7a69' }, warnings })
    approve()
    expect(await sent).toBe(true)
  })

  it.each([
    ['4100: if the origin was disconnected', 4100, (wallet: Wallet) => wallet.sites.disconnect(ORIGIN)],
    ['-32602: if the origin left the chain', -32602, (wallet: Wallet) => wallet.sites.selectChain(ORIGIN, 777)],
  ])('%s while the wallet read the token, without a question', async (_, code, leave) => {
    const { provider, questions } = leavingAtFirstRead(node, leave)
    const sent = provider.request({ method: 'wallet_watchAsset', params: { type: 'ERC20', options } })
    expect(await refusal(sent)).toMatchObject({ code })
    expect(questions).toEqual([])
  })

  it('is 4001 if it is rejected', async () => {
    const { wallet } = openWallet(node)
    const provider = await connected(wallet)
    const sent = refusal(provider.request({ method: 'wallet_watchAsset', params: { type: 'ERC20', options } }))
    ;(await wallet.approvals.next()).reject()
    expect(await sent).toMatchObject({ code: 4001 })
  })

  describe('with a token id', () => {
    const site = async () => {
      const { wallet } = openWallet(node)
      const [dev, other] = node.accounts.map(({ address }) => address) as [Address, Address] // a node has ten
      const { at } = await Deployed.on(node, dev)
      const watch = async (account: Address, type: string, address: Address, tokenId: unknown) => {
        wallet.sites.connect(ORIGIN, [account])
        return wallet.provider(ORIGIN).request({ method: 'wallet_watchAsset', params: { type, options: { address, tokenId } } })
      }
      return { wallet, at, dev, other, watch }
    }

    it.each([
      ['ERC721', 'Card', '7', '0x7'],
      ['ERC721', 'Card', '0x7', '0x7'],
      ['ERC1155', 'Thing', 3, '0x3'],
    ] as const)('shows the item of an %s that the account owns', async (type, name, tokenId, shown) => {
      const { wallet, at, dev, watch } = await site()
      const sent = watch(dev, type, at[name], tokenId)
      const { question, approve } = await wallet.approvals.next()
      expect(question).toMatchObject({ kind: 'watchAsset', warnings: [], asset: { type, address: at[name], tokenId: shown } })
      approve()
      expect(await sent).toBe(true)
      expect(wallet.activities.page({}).activities[0]).toMatchObject({ asset: { type, tokenId: shown } })
    })

    it.each([
      ['ERC721', 'Card', '7', 'of another account'],
      ['ERC1155', 'Thing', '3', 'of another account'],
      ['ERC721', 'Card', '8', 'that does not exist'],
      ['ERC721', 'Coin', '7', 'of a contract that is no collection'],
    ] as const)('rejects an item of an %s %s #%s %s without a question', async (type, name, tokenId, why) => {
      const { wallet, at, other, watch } = await site()
      expect(await refusal(watch(other, type, at[name], tokenId)), why).toMatchObject({
        code: -32_000,
        message: expect.stringContaining('not owned by the selected account'),
        data: { reason: 'not-owned' },
      })
      expect(wallet.approvals.pending).toEqual([])
      expect(wallet.activities.all()).toEqual([])
    })

    it('warns if the chain does not say who owns it', async () => {
      const request: Rpc['request'] = (sent) =>
        sent.method === 'eth_call' ? Promise.reject(new RpcError(-32_603, 'gone', { reason: 'unreachable' })) : node.request(sent)
      const { wallet } = openWallet({ ...node, request })
      const [dev] = node.accounts.map(({ address }) => address) as [Address]
      const { at } = await Deployed.on(node, dev)
      wallet.sites.connect(ORIGIN, [dev])
      const options = { address: at.Card, tokenId: '7' }
      const sent = wallet.provider(ORIGIN).request({ method: 'wallet_watchAsset', params: { type: 'ERC721', options } })
      const { question, approve } = await wallet.approvals.next()
      expect(question.warnings).toMatchObject([{ code: 'asset-owner-unknown', level: 'caution' }])
      approve()
      expect(await sent).toBe(true)
    })
  })

  it.each([
    ['with a token id that is no number', { type: 'ERC721', options: { address: options.address, tokenId: '1.5' } }, -32602, true],
    [
      'with a token id beyond 256 bits',
      { type: 'ERC721', options: { address: options.address, tokenId: `1${'0'.repeat(78)}` } },
      -32602,
      true,
    ],
    ['before connecting', { type: 'ERC20', options }, 4100, false],
    ['of an unknown type', { type: 'ERC7', options }, -32602, true],
    ['without options', { type: 'ERC20' }, -32602, true],
    ['of an invalid address', { type: 'ERC20', options: { ...options, address: '0x12' } }, -32602, true],
    ['of a symbol that is a sentence', { type: 'ERC20', options: { ...options, symbol: 'visit my page' } }, -32602, true],
    ['of too many decimals', { type: 'ERC20', options: { ...options, decimals: 37 } }, -32602, true],
  ])('%s is rejected without a question', async (_, params, code, isConnected) => {
    const { wallet } = openWallet(node)
    const provider = isConnected ? await connected(wallet) : wallet.provider(ORIGIN)
    expect(await refusal(provider.request({ method: 'wallet_watchAsset', params }))).toMatchObject({ code })
    expect(wallet.approvals.pending).toEqual([])
  })
})

import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { encodeDeployData, encodeFunctionData } from 'viem'
import type { Hex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { Address, Hash } from '../../src/eth/index.ts'
import type { Draft, Question, QuestionKind } from '../../src/wallet/index.ts'
import { contracts } from '../../src/wallet/preview/contracts.fixture.ts'
import { axeViolations } from './axe.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { serve, shop } from './sites.fixture.ts'
import { answer, card, openStage, resultOf } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

// The approval page: its view of each kind of question, and its protections.

const SHOP = 'https://shop.example'
const BANK = 'https://bank.example'
const A = Address.from(`0x${'a1'.repeat(20)}`)
const B = Address.from(`0x${'b2'.repeat(20)}`)
const CHAIN = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null } as const
const DANGER = { code: 'unlimited-allowance', level: 'danger', text: 'It may take everything.' } as const
const FEE = {
  gas: '0x5208',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x5f5e100',
  l1Fee: '0x0',
  expected: '0x1319718a5000',
  most: '0x2632e314a000',
  sponsor: null,
} as const
const CALL = {
  to: B,
  value: '0xde0b6b3a7640000',
  data: '0xdeadbeef',
  gasLimitOverride: '0x7530',
  label: 'The shop',
  signature: 'buy(uint256)',
  args: [{ name: 'item', type: 'uint256', value: '7' }],
  summary: null,
} as const
const SPENDING = {
  account: A,
  chain: CHAIN,
  calls: [CALL, { ...CALL, signature: null, args: null, label: null, gasLimitOverride: null }],
  preview: {
    status: 'success',
    error: null,
    failedCall: null,
    changes: [
      { asset: 'native', token: null, symbol: 'ETH', decimals: 18, tokenId: null, amount: '-2000000000000000000' },
      { asset: 'erc20', token: B, symbol: 'CAKE', decimals: 6, tokenId: null, amount: '1500000' },
    ],
    allowances: [{ kind: 'erc20', token: B, symbol: 'CAKE', decimals: 6, spender: B, spenderLabel: null, amount: null, isSpent: false }],
  },
  fee: FEE,
} as const

/** One question of each kind. */
const DRAFTS: { readonly [K in QuestionKind]: Draft & { readonly kind: K } } = {
  connect: {
    kind: 'connect',
    origin: SHOP,
    method: 'eth_requestAccounts',
    warnings: [],
    chain: CHAIN,
    accounts: [
      { address: A, name: 'Account 1', balance: '0xde0b6b3a7640000' },
      { address: B, name: 'Account 2', balance: null },
    ],
  },
  sign: {
    kind: 'sign',
    origin: SHOP,
    method: 'personal_sign',
    warnings: [],
    account: A,
    chain: CHAIN,
    scheme: 'personal_sign',
    message: '0x6869',
    text: 'hi \u202E there',
    typedData: null,
    digest: Hash.from(`0x${'7b'.repeat(32)}`),
  },
  send: { kind: 'send', origin: SHOP, method: 'eth_sendTransaction', warnings: [], ...SPENDING },
  batch: {
    kind: 'batch',
    origin: SHOP,
    method: 'wallet_sendCalls',
    warnings: [DANGER],
    ...SPENDING,
    fee: { ...FEE, sponsor: { name: 'Acme', host: 'gas.acme.example' } },
    batchId: `0x${'5f'.repeat(32)}`,
    atomic: true,
    execution: 'delegated',
  },
  upgrade: {
    kind: 'upgrade',
    origin: SHOP,
    method: 'wallet_sendCalls',
    warnings: [],
    account: A,
    chain: CHAIN,
    delegate: B,
    delegateName: 'PocketAccount',
    delegateBefore: null,
    deploys: true,
    batchId: '1',
  },
  addChain: {
    kind: 'addChain',
    origin: SHOP,
    method: 'wallet_addEthereumChain',
    warnings: [],
    proposed: {
      chainId: '0x14a34',
      chainName: 'Base Sepolia',
      nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: ['https://sepolia.base.example'],
      blockExplorerUrls: [],
      iconUrls: [],
    },
    known: false,
  },
  switchChain: {
    kind: 'switchChain',
    origin: SHOP,
    method: 'wallet_switchEthereumChain',
    warnings: [],
    from: CHAIN,
    to: { ...CHAIN, chainId: '0x14a34', name: 'Base Sepolia' },
  },
  watchAsset: {
    kind: 'watchAsset',
    origin: SHOP,
    method: 'wallet_watchAsset',
    warnings: [],
    chain: CHAIN,
    asset: { type: 'ERC20', address: B, symbol: 'CAKE', decimals: 6 },
  },
}

describe.skipIf(NO_BROWSER !== null)(`the approval page${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let page: Page

  /** The outcome of a question: `approved`, or the code of its refusal. */
  async function ask(draft: Draft): Promise<unknown> {
    return stage.node.wallet.approvals.ask(draft).then(
      ({ accounts }) => accounts ?? 'approved',
      ({ code }: { code: number }) => code,
    )
  }

  beforeAll(async () => {
    browser = await startBrowser()
    stage = await openStage(browser)
    page = stage.approvals
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })
  beforeEach(() => page.bringToFront())
  afterEach(() => {
    for (const { id } of stage.node.wallet.approvals.pending) stage.node.wallet.approvals.reject(id)
  })

  it.each(Object.values(DRAFTS))('shows the origin and the request, and sends the answer: $kind', async (draft) => {
    const approved = ask(draft)
    await expect.poll(() => card(page, draft.kind).getByTestId('origin').innerText()).toBe(SHOP)
    await answer(page, draft.kind)
    expect(await approved).toEqual(draft.kind === 'connect' ? [A] : 'approved')

    const rejected = ask(draft)
    await answer(page, draft.kind, 'reject')
    expect(await rejected).toBe(4001)
    await page.getByTestId('empty').waitFor()
    expect(await page.getByTestId('rejected').innerText()).toMatch(/^Rejected: [a-z ]+, for shop\.example$/)
  })

  it('moves the focus to what became of an approved request', async () => {
    void ask(DRAFTS.send)
    await answer(page, 'send')
    await page.getByTestId('approved').locator('h1:focus').waitFor()
    await page.getByTestId('done').click()
  })

  it('names the largest amount of a type, and breaks no word of a label in a narrow window', async () => {
    const amount = { name: 'amount', type: 'uint256', value: (2n ** 256n - 1n).toString() }
    void ask({ ...DRAFTS.send, calls: [{ ...CALL, args: [amount] }] })
    const argument = card(page, 'send').getByTestId('call-0').locator('td')
    expect(await argument.innerText()).toBe('2256 − 1, the largest uint256') // 256 is an exponent
    await answer(page, 'send', 'reject')
    const { width, height } = page.viewportSize()!
    await page.setViewportSize({ width: 390, height })
    const lines = await page.locator('.policy .main').evaluateAll(lineCounts)
    expect(lines).toEqual([1, 1, 1])
    expect(await page.evaluate(() => (globalThis as unknown as InPage).document.documentElement.scrollWidth)).toBe(390)
    await page.setViewportSize({ width, height })
  })

  it('says on the overview how an app finds the wallet, as long as none is connected, and leads to the explorer', async () => {
    const line = `<script src="${stage.url}/wallet/provider.js"></script>`
    await page.getByText(line, { exact: true }).first().waitFor()
    expect(await page.getByRole('link', { name: 'Explorer' }).getAttribute('href')).toBe('/')
  })

  it('shows balance changes, allowances and the fee', async () => {
    void ask(DRAFTS.send)
    const shown = card(page, 'send')
    await shown.waitFor()
    expect(await shown.getByTestId('change').allInnerTexts()).toEqual([
      expect.stringMatching(/Sends\s+−2\s+ETH/),
      expect.stringMatching(/Receives\s+\+1\.5\s+CAKE/),
    ])
    expect(await shown.getByTestId('allowance').innerText()).toMatch(/may take any amount of CAKE\s+until it is revoked/)
    expect(await shown.getByTestId('call-0').innerText()).toMatch(
      /buy\s+To\s+The shop[^]*buy\(uint256\)[^]*1 ETH[^]*30,000, chosen by the app[^]*item uint256\s+7/,
    )
    expect(await shown.getByTestId('call-1').innerText()).toMatch(/data that cannot be read/)
    expect(await shown.getByTestId('fee').innerText()).toMatch(/0\.000021 ETH[^]*0\.000042 ETH[^]*21,000 at up to 2 gwei/)
    await shown.getByText('Data, 4 bytes').first().click()
    await shown.getByText('0xdeadbeef').first().waitFor()
  })

  it('names the token of an allowance for one NFT', async () => {
    const allowance = { kind: 'nft', token: B, tokenId: '0x7', symbol: 'CARD', decimals: null, spender: A, spenderLabel: null } as const
    const preview = { ...SPENDING.preview, allowances: [{ ...allowance, amount: null, isSpent: false }] }
    void ask({ ...DRAFTS.send, preview })
    expect(await card(page, 'send').getByTestId('allowance').innerText()).toMatch(/may take CARD #7\s+until it is revoked/)
  })

  it('names characters that reverse or hide text', async () => {
    void ask(DRAFTS.sign)
    await card(page, 'sign').getByLabel('Message', { exact: true }).getByText('hi ⟨U+202E⟩ there').waitFor()
  })

  it('focuses Reject first, so that a stray Enter rejects', async () => {
    const answered = ask(DRAFTS.send)
    await card(page, 'send').waitFor()
    await card(page, 'send').locator('[data-testid="reject"]:focus').waitFor()
    await page.keyboard.press('Enter')
    expect(await answered).toBe(4001)
  })

  it('can be approved after half a second of visibility, again for each question', async () => {
    for (const draft of [DRAFTS.send, DRAFTS.switchChain]) {
      const answered = ask(draft)
      const approve = card(page, draft.kind).getByTestId('approve')
      await approve.waitFor()
      const armedAfterMs = await page.evaluate(async () => {
        const { document, requestAnimationFrame } = globalThis as unknown as InPage
        const start = performance.now()
        const isDisabled = () => document.querySelector('[data-testid="approve"]')?.disabled // briefly the previous question's, or absent
        if (isDisabled() === false) return -1
        while (isDisabled() !== false) await new Promise(requestAnimationFrame)
        return performance.now() - start
      })
      expect(armedAfterMs).toBeGreaterThan(300) // part of the half second has passed already
      await approve.click()
      expect(await answered).toBe('approved')
    }
  })

  it('restarts the half second after the page was hidden', async () => {
    void ask(DRAFTS.send)
    const approve = card(page, 'send').getByTestId('approve')
    await expect.poll(() => approve.isEnabled()).toBe(true)
    const isDisabled = await page.evaluate(async () => {
      const { document, requestAnimationFrame } = globalThis as unknown as InPage
      document.dispatchEvent(new Event('visibilitychange'))
      await new Promise(requestAnimationFrame)
      return document.querySelector('[data-testid="approve"]')?.disabled
    })
    expect(isDisabled).toBe(true)
  })

  it.each([
    ['presses of A', (visitor: Page) => visitor.keyboard.press('a')],
    ['clicks', (visitor: Page, { x, y }: Point) => visitor.mouse.click(x, y)],
  ])('is not approved by %s without half a second between them', async (_, press) => {
    const context = await browser.newContext()
    try {
      const visitor = await context.newPage()
      await visitor.clock.install()
      await visitor.goto(stage.node.wallet.settings.approvalUrl?.() ?? '')
      await visitor.getByTestId('account-0').waitFor()
      for (const draft of [DRAFTS.send, DRAFTS.switchChain]) {
        await visitor.clock.pauseAt(await visitor.evaluate(() => Date.now() + 1_000))
        const answered = ask(draft)
        await card(visitor, draft.kind).waitFor()
        await card(visitor, draft.kind).locator('.request').click() // its keys need it
        const box = await visitor.getByTestId('approve').boundingBox()
        for (let i = 0; i < 4; i++) {
          await press(visitor, { x: box!.x + 20, y: box!.y + 20 })
          await visitor.clock.runFor(400)
        }
        expect(stage.node.wallet.approvals.pending).toHaveLength(1)
        await visitor.clock.resume()
        await card(visitor, draft.kind).locator('.armed').waitFor()
        await visitor.getByTestId('approve').click()
        expect(await answered).toBe('approved')
      }
    } finally {
      await context.close()
    }
  })

  it('ignores clicks by scripts', async () => {
    const answered = ask(DRAFTS.send)
    await expect.poll(() => card(page, 'send').getByTestId('approve').isEnabled()).toBe(true)
    await page.evaluate(() => {
      const { document } = globalThis as unknown as InPage
      for (const name of ['approve', 'reject']) document.querySelector(`[data-testid="${name}"]`)?.click()
    })
    expect(await page.getByTestId('reject').innerText()).toBe('Reject')
    expect(stage.node.wallet.approvals.pending).toHaveLength(1)
    await answer(page, 'send')
    expect(await answered).toBe('approved')
  })

  it('requires a second confirmation for a danger', async () => {
    const answered = ask(DRAFTS.batch)
    const shown = card(page, 'batch')
    await shown.waitFor()
    expect(await shown.getByTestId('warning').innerText()).toMatch(/^Danger\s+It may take everything\.$/)
    await page.locator('.armed').waitFor()
    expect(await shown.getByTestId('approve').isDisabled()).toBe(true)
    await shown.getByTestId('accept-danger').check()
    await shown.getByTestId('approve').click()
    expect(await answered).toBe('approved')
  })

  it('shares the selected accounts with a site, at least one', async () => {
    const answered = ask(DRAFTS.connect)
    const shown = card(page, 'connect')
    await shown.getByTestId('account-choice-0').uncheck()
    await page.locator('.armed').waitFor()
    expect(await shown.getByTestId('approve').isDisabled()).toBe(true)
    await shown.getByTestId('account-choice-1').check()
    await shown.getByTestId('approve').click()
    expect(await answered).toEqual([B])
  })

  it('shows one question at a time, oldest first, and removes withdrawn ones', async () => {
    const first = ask(DRAFTS.send)
    const second = ask({ ...DRAFTS.sign, origin: BANK })
    await card(page, 'send').waitFor()
    await expect.poll(() => page.getByTestId('queue-count').innerText()).toBe('1 of 2 requests')
    expect(await page.title()).toBe('(2) pocketchain wallet')
    stage.node.wallet.approvals.reject(stage.node.wallet.approvals.pending[0]?.id)
    expect(await first).toBe(4001)
    await expect.poll(() => card(page, 'sign').getByTestId('origin').innerText()).toBe(BANK)
    expect(await page.getByTestId('queue-count').innerText()).toBe('One request')
    await answer(page, 'sign')
    expect(await second).toBe('approved')
  })

  it('shows nothing to an unauthorized browser until its link is opened', async () => {
    const context = await browser.newContext()
    try {
      const visitor = await context.newPage()
      void ask(DRAFTS.send)
      await visitor.goto(`${stage.url}/wallet`)
      await visitor.getByTestId('refused').waitFor()
      expect(await visitor.content()).not.toContain(SHOP)
      await (await context.newPage()).goto(stage.node.wallet.settings.approvalUrl?.() ?? '')
      await card(visitor, 'send').waitFor()
    } finally {
      await context.close()
    }
  })

  it('links another browser by a link that works once', async () => {
    const contexts = [await browser.newContext(), await browser.newContext()] as const
    try {
      await page.goto(`${stage.url}/wallet`)
      await page.reload() // after an answer, the page shows its outcome
      await page.getByTestId('link-browser').click()
      const link = await page.getByTestId('browser-link').locator('.copy').getAttribute('title')
      const [other, third] = await Promise.all(contexts.map((context) => context.newPage()))
      await other!.goto(link!)
      await other!.locator('[data-testid="connection"][data-state="open"]').waitFor()
      await third!.goto(link!)
      expect(await third!.locator('main').innerText()).toContain('choose “Link another browser” on its overview')
      await third!.goto(`${stage.url}/wallet`)
      expect(await third!.getByTestId('refused').innerText()).toContain('open the wallet there and choose “Link another browser”')
    } finally {
      for (const context of contexts) await context.close()
    }
  })

  it('opened by an app shows the questions of that app only', async () => {
    const { window: popup, opener, site } = await openAsPopup(stage.context, (origin) => origin)
    try {
      void ask(DRAFTS.send)
      void ask({ ...DRAFTS.sign, origin: site.origin })
      await popup.getByText('A site opened this window').waitFor()
      await opener.evaluate(async (wallet) => {
        const { loaded, popup } = globalThis as unknown as InPage
        await loaded
        popup.postMessage({ requestId: '1', data: {} }, wallet) // as the SDK answers PopupLoaded
      }, stage.url)
      await card(popup, 'sign').waitFor()
      expect(await popup.getByTestId('queue-count').innerText()).toBe('One request')
      expect(await popup.content()).not.toContain(SHOP)
    } finally {
      await popup.close()
      await site.close()
    }
  })

  it('is opened by the requesting page if it is not open', async () => {
    await page.goto('about:blank')
    const app = await stage.open(shop, 'shop.html')
    const opened = stage.context.waitForEvent('page')
    await app.locator('#connect').click()
    const popup = await opened
    await answer(popup, 'connect')
    expect(await resultOf(app, 'connect')).toEqual([stage.node.accounts[0]?.address])
    await popup.close()
    await app.close()
    await page.goto(`${stage.url}/wallet`)
  })

  it('ignores an app that claims another origin', async () => {
    const { window: popup, site, opener } = await openAsPopup(stage.context, () => BANK)
    try {
      await popup.getByTestId('empty').waitFor()
      await popup.evaluate(() => {
        const { addEventListener } = globalThis as unknown as InPage
        Object.assign(globalThis, { received: new Promise((resolve) => addEventListener('message', resolve)) })
      })
      // A sender that is not a key gets an unencrypted error immediately.
      await opener.evaluate(() => {
        const { addEventListener, popup } = globalThis as unknown as InPage
        const heard: unknown[] = []
        const last = new Promise((resolve) =>
          addEventListener('message', ({ data }) => (data === 'last' ? resolve(heard) : heard.push(data))),
        )
        Object.assign(globalThis, { last })
        popup.postMessage({ id: '1', sender: '00', content: { handshake: { method: 'handshake' } } }, '*')
      })
      await popup.evaluate(async () => {
        const { received, opener } = globalThis as unknown as InPage
        await received
        await crypto.subtle.digest('SHA-256', new Uint8Array(1_000_000)) // takes longer than a response would
        opener.postMessage('last', '*')
      })
      const heard = await opener.evaluate(() => (globalThis as unknown as InPage).last)
      expect(heard).toEqual([])
    } finally {
      await popup.close()
      await site.close()
    }
  })

  async function openAsPopup(context: BrowserContext, claim: (origin: string) => string) {
    const site = await serve(async () => '<!doctype html><title>app</title>')
    const opener = await context.newPage()
    await opener.goto(`${site.origin}/app.html`)
    const url = `${stage.url}/wallet?sdkName=app&origin=${encodeURIComponent(claim(site.origin))}`
    const opened = context.waitForEvent('page')
    await opener.evaluate((url) => {
      const { open } = globalThis as unknown as InPage
      const { addEventListener } = globalThis as unknown as InPage
      Object.assign(globalThis, { loaded: new Promise((resolve) => addEventListener('message', resolve)) })
      Object.assign(globalThis, { popup: open(url, 'wallet', 'popup,width=420,height=700') })
    }, url)
    return { site, opener, window: await opened }
  }

  describe('after the approval', () => {
    const [alice, bob] = ['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8']
    /** A site that is connected to all accounts. */
    function app(origin = SHOP): (method: string, ...params: readonly unknown[]) => Promise<unknown> {
      const { wallet, accounts } = stage.node
      wallet.sites.connect(
        origin,
        accounts.map(({ address }) => address),
      )
      const provider = wallet.provider(origin)
      return (method, ...params) => provider.request({ method, params })
    }

    it('follows the transaction to its sealed block, with its fee and links, and lists it', async () => {
      const sent = app()('eth_sendTransaction', { from: alice, to: bob, value: '0x1' })
      await answer(page, 'send')
      const slip = page.getByTestId('approved')
      await slip.locator('[data-step="preconfirmed"].good').waitFor()
      expect(await slip.locator('[data-step="preconfirmed"]').innerText()).toMatch(/^Pre-confirmed in \d+ ms\s+flashblock \d+\.\d+$/)
      await slip.locator('[data-step="sealed"].good').waitFor()
      expect(await slip.getByTestId('progress').getAttribute('data-state')).toBe('sealed')
      const hash = String(await sent)
      expect(await slip.getByTestId('transaction').locator('a').getAttribute('href')).toBe(`/tx/${hash}`)
      expect(await slip.getByTestId('paid').innerText()).toMatch(/^(≈ )?0\.0\d+ ETH$/)
      await slip.getByTestId('done').click()
      const newest = page.getByTestId('activity').first()
      expect(await newest.getByTestId('outcome').getAttribute('data-state')).toBe('sealed')
      await newest.locator('a').click()
      await page.getByTestId('activity-details').getByTestId('call-0').waitFor()
    })

    it('shows a retraction, and that the transaction waits again', async () => {
      const sent = app()('eth_sendTransaction', { from: alice, to: bob, value: '0x2' })
      await answer(page, 'send')
      const hash = String(await sent)
      await page.locator('[data-step="preconfirmed"].good').waitFor()
      const isSealed = async () => (await page.locator('[data-step="sealed"].good').count()) > 0
      // Near the end of a block it may be sealed before it is retracted; a sealed promise can be retracted too.
      await stage.node.request({ method: 'pocketchain_retract', params: [hash] })
      await expect.poll(async () => (await page.locator('[data-step="retracted"]').count()) > 0 || (await isSealed())).toBe(true)
      await page.locator('[data-step="sealed"].good').waitFor()
      await page.getByTestId('done').click()
    })

    it('names the failing call of a batch, and why', async () => {
      const { Faults } = contracts()
      const deployed = await stage.node.request({ method: 'eth_sendTransaction', params: [{ from: bob, data: Faults.bytecode }] })
      await stage.node.request({ method: 'evm_mine', params: [] })
      const receipt = await stage.node.request({ method: 'eth_getTransactionReceipt', params: [deployed] })
      const { contractAddress: faults } = receipt as { contractAddress: Hex } // it was mined
      const data = encodeFunctionData({ abi: Faults.abi, functionName: 'text', args: ['the shop is closed'] })
      const calls = [
        { to: bob, value: '0x1' },
        { to: faults, data },
      ]
      const sent = app()('wallet_sendCalls', { version: '2.0.0', chainId: '0x7a69', from: alice, atomicRequired: true, calls })
      await answer(page, 'upgrade')
      await page.getByTestId('approved-before').getByText('Upgrade to PocketAccount').waitFor()
      expect(await page.getByTestId('approved-before').innerText()).toMatch(/^Waiting for its batch: /)
      await answer(page, 'batch')
      const failed = page.locator('[data-step="failed"]')
      await failed.waitFor()
      expect(await failed.innerText()).toMatch(/Failed\s+call 2 failed, so that none had an effect: the shop is closed$/)
      await sent
      await page.getByTestId('approved').getByText('Open in the activity').click()
      await page.getByTestId('activity-details').getByTestId('call-1').getByText('reverts').waitFor()
    })

    it('revokes an allowance, and an account shows tokens, code and sites', async () => {
      const { Coin, Taker } = contracts()
      const create = async (data: Hex): Promise<Hex> => {
        const hash = await stage.node.request({ method: 'eth_sendTransaction', params: [{ from: alice, data }] })
        await stage.node.request({ method: 'evm_mine', params: [] })
        const receipt = await stage.node.request({ method: 'eth_getTransactionReceipt', params: [hash] })
        return (receipt as { contractAddress: Hex }).contractAddress // it was mined
      }
      const coin = await create(encodeDeployData({ ...Coin, args: ['Cake', 'CAKE', 6] }))
      const taker = await create(Taker.bytecode)
      const allowance = async () => {
        const data = encodeFunctionData({ abi: Coin.abi, functionName: 'allowance', args: [alice, taker] })
        return BigInt(String(await stage.node.request({ method: 'eth_call', params: [{ to: coin, data }, 'pending'] })))
      }
      const data = encodeFunctionData({ abi: Coin.abi, functionName: 'approve', args: [taker, 5n] })
      const sent = app()('eth_sendTransaction', { from: alice, to: coin, data })
      await answer(page, 'send')
      await sent
      await expect.poll(allowance).toBe(5n)
      await page.goto(`${stage.url}/wallet#account=${alice}`)
      const account = page.getByTestId('account-view')
      await account.getByTestId('allowance').getByText('0.000005 CAKE').waitFor()
      await page.goto(`${stage.url}/wallet#activity`)
      await page.getByTestId('activity').first().locator('a').click()
      await page.getByTestId('revoke-0').click()
      await expect.poll(allowance).toBe(0n)
      // By the chain, not by the button: also when the page is opened again.
      const given = page.getByTestId('activity-details').getByTestId('allowance')
      await given.getByText('revoked or used up since').waitFor()
      expect(await page.getByTestId('revoke-0').count()).toBe(0)
      await page.getByText('All activity').click()
      const revocation = page.getByTestId('activity').first()
      await expect.poll(() => revocation.innerText()).toMatch(/^Revoke the allowance of CAKE[^]*This wallet, just now/)

      await page.goto(`${stage.url}/wallet#account=${alice}`)
      await account.getByText('This wallet’s activity left no allowance.').waitFor()
      await account.locator(`[data-testid="token"][data-token="${coin}"]`).getByText('CAKE').first().waitFor()
      await account.getByTestId('delegate').waitFor()
      await account.getByText(new URL(SHOP).host).first().waitFor()
      await page.goto(`${stage.url}/wallet#`)
    })

    it('shows the typed data that was signed', async () => {
      const uint = (name: string) => ({ name, type: 'uint256' })
      const types = { EIP712Domain: [uint('chainId')], Mail: [{ name: 'text', type: 'string' }, uint('count')] }
      const data = { types, primaryType: 'Mail', domain: { chainId: 31_337 }, message: { text: 'good morning', count: '25000000' } }
      const sent = app()('eth_signTypedData_v4', alice, data)
      await answer(page, 'sign')
      await sent
      await page.getByTestId('approved').getByText('Open in the activity').click()
      const details = page.getByTestId('activity-details')
      await details.getByText('good morning', { exact: true }).waitFor()
      await details.getByText('25,000,000', { exact: true }).waitFor()
      await details.getByText('31337', { exact: true }).waitFor()
      await page.goto(`${stage.url}/wallet#`)
    })

    it('shows the amount of a permit in units of its token, and says so if its decimals are unknown', async () => {
      const types = {
        EIP712Domain: [{ name: 'verifyingContract', type: 'address' }],
        Permit: [
          { name: 'spender', type: 'address' },
          { name: 'value', type: 'uint256' },
        ],
      }
      const permit = (verifyingContract: string) =>
        app()('eth_signTypedData_v4', alice, {
          types,
          primaryType: 'Permit',
          domain: { verifyingContract },
          message: { spender: '0x4200000000000000000000000000000000000010', value: '1500000000000000000' },
        })
      const [weth, messenger] = ['0x4200000000000000000000000000000000000006', '0x4200000000000000000000000000000000000007']
      for (const [contract, text] of [
        [weth, /^Value\s+1\.5 WETH 1,500,000,000,000,000,000 in its smallest unit$/i],
        [messenger, /^Value\s+1,500,000,000,000,000,000 in the token’s smallest unit; its decimals are unknown$/i],
      ] as const) {
        const sent = permit(contract)
        const row = (on: Locator) =>
          on
            .locator('.fields .row')
            .filter({ hasText: /^value/i })
            .first()
            .innerText()
        await expect.poll(() => row(card(page, 'sign'))).toMatch(text)
        await answer(page, 'sign')
        await sent
        await page.getByTestId('approved').getByText('Open in the activity').click()
        await expect.poll(() => row(page.getByTestId('activity-details'))).toMatch(text)
        await page.goto(`${stage.url}/wallet#`)
      }
    })

    it('filters the activity by account and site', async () => {
      stage.node.wallet.approvals.setPolicy('approve')
      await app(BANK)('personal_sign', '0x6869', bob)
      stage.node.wallet.approvals.setPolicy('ask')
      await page.goto(`${stage.url}/wallet#activity`)
      await page.getByTestId('activity').nth(2).waitFor()
      await page.getByTestId('filter-site').selectOption(BANK)
      const listed = async () => (await page.getByTestId('activity').allInnerTexts()).map((text) => text.includes('bank.example'))
      await expect.poll(async () => new Set(await listed())).toEqual(new Set([true]))
      await page.getByTestId('filter-site').selectOption('')
      await page.getByTestId('filter-account').selectOption(bob)
      const signed = page.getByTestId('activity').filter({ hasText: 'Signed a message' })
      await expect.poll(() => signed.count()).toBe(1)
      await page.goto(`${stage.url}/wallet#`)
    })

    it('disconnects a site by a click of the user only, and not in the first half second', async () => {
      app()
      await page.goto(`${stage.url}/wallet#`)
      const disconnected = vi.spyOn(stage.node.wallet.sites, 'disconnect')
      const button = page.getByRole('button', { name: 'Disconnect shop.example' })
      await expect.poll(() => button.isEnabled()).toBe(true)
      const isDisabled = await page.evaluate(async () => {
        const { document, requestAnimationFrame } = globalThis as unknown as InPage
        document.dispatchEvent(new Event('visibilitychange'))
        await new Promise(requestAnimationFrame)
        return document.querySelector('[aria-label="Disconnect shop.example"]')?.disabled
      })
      expect(isDisabled).toBe(true)
      await expect.poll(() => button.isEnabled()).toBe(true)
      await page.evaluate(() => {
        const { document } = globalThis as unknown as InPage
        document.querySelector('[aria-label="Disconnect shop.example"]')?.click()
      })
      await button.click()
      await button.waitFor({ state: 'detached' })
      expect(disconnected.mock.calls).toEqual([[SHOP]])
    })

    it('lists new activities after more than the connection keeps, with the older ones that were loaded', async () => {
      stage.node.wallet.approvals.setPolicy('approve')
      const sign = (origin: string) => app(origin)('personal_sign', '0x6869', bob)
      const newest = page.getByTestId('activity').first()
      await page.goto(`${stage.url}/wallet#activity`)
      for (let i = 0; i < 205; i++) await sign(SHOP)
      await sign(BANK)
      await newest.getByText('bank.example').waitFor()
      await sign(SHOP)
      await newest.getByText('shop.example').waitFor()
      expect(await page.getByTestId('activity').count()).toBe(25)
      await page.getByTestId('older').click()
      await expect.poll(() => page.getByTestId('activity').count()).toBe(50)
      await sign(BANK)
      await newest.getByText('bank.example').waitFor()
      expect(await page.getByTestId('activity').count()).toBe(50)
      stage.node.wallet.approvals.setPolicy('ask')
      await page.goto(`${stage.url}/wallet#`)
    })

    it('shows no older activities of a former filter', async () => {
      const visitor = await stage.context.newPage()
      let deliver: (() => void) | null = null
      await visitor.routeWebSocket(/\/wallet$/, (client) => {
        const server = client.connectToServer()
        let olderId: unknown
        client.onMessage((message) => {
          const { id, params } = JSON.parse(String(message)) as { id: number; params: readonly { before?: string }[] } // a request of the page
          if (params[0]?.before !== undefined) olderId = id
          server.send(message)
        })
        server.onMessage((message) => {
          const { id } = JSON.parse(String(message)) as { id?: number } // a response or a notification
          if (id === undefined || id !== olderId) client.send(message)
          else deliver = () => client.send(message)
        })
      })
      await visitor.goto(`${stage.url}/wallet#activity`)
      await visitor.getByTestId('older').click()
      await expect.poll(() => deliver).not.toBeNull()
      await visitor.getByTestId('filter-site').selectOption(BANK)
      const sites = async () =>
        new Set((await visitor.getByTestId('activity').allInnerTexts()).map((text) => /\w+\.example/.exec(text)?.[0]))
      await expect.poll(sites).toEqual(new Set(['bank.example']))
      deliver!()
      await visitor.evaluate(async () => {
        const { requestAnimationFrame } = globalThis as unknown as InPage
        for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame) // it has been rendered
      })
      expect(await sites()).toEqual(new Set(['bank.example']))
      await visitor.close()
    })
  })

  it('shows any question of the queue, by button and by arrow key, and rejects all of a site', async () => {
    const outcomes = [ask(DRAFTS.send), ask({ ...DRAFTS.sign, origin: BANK }), ask(DRAFTS.switchChain)]
    const isShown = (kind: string) => card(page, kind).waitFor()
    await expect.poll(() => page.getByTestId('queue-count').innerText()).toBe('1 of 3 requests')
    await page.getByTestId('queue-next').click()
    await isShown('sign')
    const press = async (key: string) => {
      await hasFocus(page)
      await page.keyboard.press(key)
    }
    await press('ArrowRight')
    await isShown('switchChain')
    await press('ArrowRight')
    await isShown('send')
    await press('ArrowLeft')
    await isShown('switchChain')
    await page.getByTestId('queue-list').click()
    await page.getByTestId('queue-item').filter({ hasText: 'bank.example' }).click()
    await isShown('sign')
    await page.getByTestId('queue-previous').click()
    await isShown('send')
    await page.getByTestId('reject-site').click()
    await isShown('sign')
    expect(await outcomes[0]).toBe(4001)
    expect(await outcomes[2]).toBe(4001)
    expect(await page.getByTestId('queue-count').innerText()).toBe('One request')
  })

  it('is answered by the keys A and R, half a second after it appeared, and a danger not without its box', async () => {
    const first = ask(DRAFTS.send)
    await card(page, 'send').locator('.request').click()
    await page.keyboard.press('a')
    expect(stage.node.wallet.approvals.pending).toHaveLength(1)
    await page.locator('.armed').waitFor()
    await page.keyboard.press('a')
    expect(await first).toBe('approved')
    const second = ask(DRAFTS.batch)
    await card(page, 'batch').locator('.armed').waitFor()
    await page.keyboard.press('a')
    await page.keyboard.press('Control+a')
    expect(stage.node.wallet.approvals.pending).toHaveLength(1)
    await page.keyboard.press('r')
    expect(await second).toBe(4001)
  })

  it('is approved by A only after a click since its window came to the front', async () => {
    const answered = ask(DRAFTS.send)
    const approve = card(page, 'send').getByTestId('approve')
    await approve.waitFor()
    await page.evaluate(() => void (globalThis as unknown as InPage).dispatchEvent(new Event('focus')))
    await card(page, 'send').locator('.armed').waitFor()
    expect(await approve.getAttribute('data-key')).toBe(null)
    await page.keyboard.press('a')
    expect(stage.node.wallet.approvals.pending).toHaveLength(1)
    await card(page, 'send').locator('.request').click()
    expect(await approve.getAttribute('data-key')).toBe('A')
    await page.keyboard.press('a')
    expect(await answered).toBe('approved')
  })

  it('is answered by its keys only while the focus is in it, and leaves the focus to a control outside', async () => {
    const outside = page.getByRole('link', { name: 'pocketchain wallet, overview' })
    await outside.focus()
    const answered = ask(DRAFTS.send)
    void ask(DRAFTS.switchChain)
    await card(page, 'send').locator('.armed').waitFor()
    for (const key of ['a', 'r', 'ArrowRight']) await page.keyboard.press(key)
    expect(stage.node.wallet.approvals.pending).toHaveLength(2)
    expect(await page.getByTestId('queue-count').innerText()).toBe('1 of 2 requests')
    await page.locator('header a:focus').waitFor()
    await card(page, 'send').locator('.request').click()
    await page.keyboard.press('ArrowRight')
    await card(page, 'switchChain').waitFor()
    await hasFocus(page)
    await page.keyboard.press('ArrowLeft')
    await card(page, 'send').locator('.armed').waitFor()
    await page.keyboard.press('a')
    expect(await answered).toBe('approved')
  })

  it('says as long as questions are answered without being shown', async () => {
    stage.node.wallet.approvals.setPolicy('approve')
    await page.getByTestId('policy-banner').getByText('Every request is approved without being shown.').waitFor()
    await expect
      .poll(async () => {
        await page
          .getByTestId('policy-banner-ask')
          .click({ timeout: 500 })
          .catch(() => {})
        return stage.node.wallet.approvals.policy
      })
      .toBe('ask')
    await page.getByTestId('policy-banner').waitFor({ state: 'detached' })
  })

  it('passes the accessibility checks', async () => {
    const context = await browser.newContext({ bypassCSP: true, reducedMotion: 'reduce' })
    try {
      const visitor = await context.newPage()
      await visitor.goto(stage.node.wallet.settings.approvalUrl?.() ?? '')
      await visitor.getByTestId('account-0').waitFor()
      expect(await axeViolations(visitor), 'the overview').toEqual([])
      for (const draft of Object.values(DRAFTS)) {
        const answered = ask(draft)
        await expect.poll(() => visitor.locator('.armed').count()).toBe(1)
        expect(await axeViolations(visitor), draft.kind).toEqual([])
        const question = stage.node.wallet.approvals.pending[0] as Question
        stage.node.wallet.approvals.reject(question.id)
        await answered
        await card(visitor, draft.kind).waitFor({ state: 'detached' })
      }
    } finally {
      await context.close()
    }
  })
})

/** Runs in the page. The numbers of lines of the texts, of 22.5 px each. */
function lineCounts(elements: readonly unknown[]): readonly number[] {
  return elements.map((element) => Math.round((element as { readonly offsetHeight: number }).offsetHeight / 22.5)) // elements of the locator
}

interface Point {
  readonly x: number
  readonly y: number
}

/** Waits until the question has the focus, without which its keys do nothing; it follows the drawing of the question. */
async function hasFocus(page: Page): Promise<void> {
  await page.locator('[data-testid="approval"]:focus-within').waitFor()
}

/** The DOM members that the functions here use inside a page: tests are type-checked without the DOM library. */
interface InPage {
  readonly document: {
    querySelector(selector: string): { readonly disabled: boolean; click(): void } | null
    dispatchEvent(event: Event): boolean
    readonly documentElement: { readonly scrollWidth: number }
  }
  readonly dispatchEvent: (event: Event) => boolean
  readonly requestAnimationFrame: (then: (time: number) => void) => void
  readonly addEventListener: (type: 'message', listener: (event: { readonly data: unknown }) => void) => void
  readonly open: (url: string, name: string, features: string) => unknown
  readonly popup: { postMessage(message: unknown, targetOrigin: string): void }
  readonly opener: { postMessage(message: unknown, targetOrigin: string): void }
  /** the popup's first message, `PopupLoaded` */
  readonly loaded: Promise<unknown>
  readonly received: Promise<unknown>
  readonly last: Promise<unknown>
}

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Address, Hash } from '../../src/eth/index.ts'
import type { Draft } from '../../src/wallet/index.ts'
import { html, openHostileSite, pointing } from './attacks.fixture.ts'
import type { HostileSite, Serve } from './attacks.fixture.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { card, openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

// Attacks by pages of other origins in the user's browser: requests without authorization, framing of the approval page, injected markup.

const SHOP = 'https://shop.example'
const A = Address.from(`0x${'a1'.repeat(20)}`)
const B = Address.from(`0x${'b2'.repeat(20)}`)

describe.skipIf(NO_BROWSER !== null)(`foreign pages${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  let stage: Stage
  let context: BrowserContext
  /** the approval page */
  let page: Page
  const sites: HostileSite[] = []

  beforeAll(async () => {
    browser = await startBrowser({ flags: pointing('public.example', 'xn--pple-43d.example') })
    stage = await openStage(browser, {}, { cadence: 'instant' })
    ;({ context, approvals: page } = stage)
    await page.locator('[data-testid="connection"][data-state="open"]').waitFor()
  })
  afterAll(async () => {
    await stage?.[Symbol.asyncDispose]()
    await browser?.close()
  })
  beforeEach(() => {
    expect(stage.node.wallet.approvals.pending).toEqual([])
  })
  afterEach(async () => {
    for (const { id } of stage.node.wallet.approvals.pending) stage.node.wallet.approvals.reject(id)
    expect(stage.node.wallet.approvals.policy).toBe('ask')
    expect(stage.node.wallet.sites.list()).toEqual([])
    await Promise.all(sites.splice(0).map((site) => site[Symbol.asyncDispose]()))
  })

  async function hostileSite(serve: Serve): Promise<HostileSite> {
    const site = await openHostileSite(serve)
    sites.push(site)
    return site
  }

  async function visit(url: string): Promise<Page> {
    const visitor = await context.newPage()
    await visitor.goto(url)
    return visitor
  }

  it('a page of a public site cannot reach the node by fetch, by requests without preflight, or over a WebSocket', async () => {
    const { port } = await hostileSite((_, response) => html(response, 'a site'))
    const visitor = await visit(`http://public.example:${port}`)
    for (const path of ['/', '/public', '/wallet', '/paymaster', '/session']) {
      for (const type of ['application/json', 'text/plain'])
        expect([path, type, await visitor.evaluate(FETCHES, { url: `${stage.url}${path}`, type })]).toEqual([path, type, 'TypeError'])
    }
    for (const path of ['/', '/public', '/wallet', '/flashblocks'])
      expect([path, await visitor.evaluate(OPENS, `${stage.url.replace('http', 'ws')}${path}`)]).toEqual([path, false])
    expect(stage.node.wallet.approvals.pending).toEqual([])
    expect(stage.node.chain.head.view.head.header.number).toBe(0)
  })

  it('a document with an opaque origin (a sandboxed frame, a data: URL in one) cannot reach the node', async () => {
    const { origin } = await hostileSite((_, response) =>
      html(response, `<iframe sandbox="allow-scripts" srcdoc="<p>in a sandbox</p>"></iframe>`),
    )
    const visitor = await visit(origin)
    const frame = visitor.frames().at(-1)
    expect(await frame?.evaluate('origin')).toBe('null')
    for (const path of ['/', '/wallet'])
      expect(await frame?.evaluate(FETCHES, { url: `${stage.url}${path}`, type: 'application/json' })).toBe('TypeError')
    expect(await frame?.evaluate(OPENS, `${stage.url.replace('http', 'ws')}/wallet`)).toBe(false)
  })

  it("a page of another port cannot make the browser send a request that the node accepts as its own page's", async () => {
    const { origin } = await hostileSite((_, response) => html(response, '<iframe name="sink"></iframe>'))
    const visitor = await visit(origin)
    const answered: string[] = []
    context.on('response', (response) => {
      if (response.url().startsWith(stage.url) && response.request().method() === 'POST')
        answered.push(`${response.status()} ${new URL(response.url()).pathname}`)
    })
    const policy = '{"jsonrpc":"2.0","id":1,"method":"pocketchain_setApprovalPolicy","params":["approve"],"x":"'
    const forms = [
      ['text/plain', '/wallet'],
      ['application/x-www-form-urlencoded', '/wallet'],
      ['multipart/form-data', '/wallet'],
      ['text/plain', '/'],
    ]
    for (const [enctype, path] of forms) {
      const sent = context.waitForEvent('response', (response) => response.request().method() === 'POST')
      await visitor.evaluate(SUBMIT, { action: `${stage.url}${path}`, enctype, name: policy, value: '"}' })
      expect([enctype, (await sent).status()]).toEqual([enctype, 415])
    }
    for (const type of ['text/plain', '']) {
      const sent = context.waitForEvent('response', (response) => response.request().method() === 'POST')
      await visitor.evaluate(BEACON, { url: `${stage.url}/wallet`, type, body: `${policy}"}` })
      expect([type, (await sent).status()]).toEqual([type, 415])
    }
    expect(answered.every((each) => each.startsWith('415 '))).toBe(true)
  })

  it("no page can frame the node's pages", async () => {
    const { origin } = await hostileSite((_, response) =>
      html(response, ['/wallet', '/wallet?popup=1', '/sponsor'].map((path) => `<iframe src="${stage.url}${path}"></iframe>`).join('')),
    )
    const visitor = await visit(origin)
    const frames = visitor.frames().slice(1)
    expect(frames).toHaveLength(3)
    for (const frame of frames) {
      await frame.waitForLoadState()
      expect(frame.url()).toBe('chrome-error://chromewebdata/')
    }
  })

  it('a host name with look-alike letters is shown in its real form', async () => {
    const lookalike = 'https://xn--pple-43d.example'
    void ask({ ...TYPED, origin: lookalike })
    expect(await card(page, 'sign').getByTestId('origin').innerText()).toBe(lookalike)
  })

  it('typed data of the maximum size keeps the page responsive', async () => {
    void ask({ ...TYPED, typedData: { ...TYPED.typedData, message: { item: 'a cake '.repeat(35_000) } } })
    const shown = card(page, 'sign')
    await shown.waitFor()
    await page.locator('.armed').waitFor()
    const begunMs = performance.now()
    await shown.getByTestId('reject').click()
    await shown.waitFor({ state: 'detached' })
    expect(performance.now() - begunMs).toBeLessThan(5_000)
  })

  const SCRIPT = '"><img src="http://public.example/leak" onerror="alert(1)"><script>alert(1)</script><svg onload=alert(1)>'
  const ICONS = [
    `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(1)</script></svg>')}`,
    'data:text/html,<script>alert(1)</script>',
    'javascript:alert(1)',
    'http://public.example/leak.png',
  ]
  const CHAIN = { chainId: '0x7a69', name: SCRIPT, symbol: SCRIPT, decimals: 18, explorerUrl: 'javascript:alert(1)' } as const
  const TYPED = {
    kind: 'sign',
    origin: SHOP,
    method: 'eth_signTypedData_v4',
    warnings: [{ code: 'text', level: 'danger', text: SCRIPT }],
    account: A,
    chain: CHAIN,
    scheme: 'eth_signTypedData_v4',
    message: null,
    text: null,
    typedData: {
      types: { [SCRIPT]: [{ name: SCRIPT, type: 'string' }] },
      primaryType: SCRIPT,
      domain: { name: SCRIPT },
      message: { [SCRIPT]: SCRIPT },
    },
    digest: Hash.from(`0x${'7b'.repeat(32)}`),
  } as const
  const SPENDING = {
    account: A,
    chain: CHAIN,
    calls: [
      {
        to: B,
        value: '0x1',
        data: '0xdeadbeef',
        gasLimitOverride: null,
        label: SCRIPT,
        signature: SCRIPT,
        args: [{ name: SCRIPT, type: SCRIPT, value: SCRIPT }],
        summary: SCRIPT,
      },
    ],
    preview: {
      status: 'reverted',
      error: SCRIPT,
      failedCall: 0,
      changes: [{ asset: 'erc20', token: B, symbol: SCRIPT, decimals: 6, tokenId: null, amount: '1500000' }],
      allowances: [
        { kind: 'erc20', token: B, symbol: SCRIPT, decimals: 6, spender: B, spenderLabel: SCRIPT, amount: null, isSpent: false },
      ],
    },
    fee: { gas: '0x5208', maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x1', l1Fee: '0x0', expected: '0x0', most: '0x0', sponsor: null },
  } as const
  const HOSTILE: readonly Draft[] = [
    TYPED,
    { ...TYPED, method: 'personal_sign', scheme: 'personal_sign', message: '0x6869', text: `${SCRIPT}\u202E`, typedData: null },
    { kind: 'send', origin: SHOP, method: 'eth_sendTransaction', warnings: [], ...SPENDING },
    ...ICONS.map((icon): Draft => ({
      kind: 'batch',
      origin: SHOP,
      method: 'wallet_sendCalls',
      warnings: [],
      ...SPENDING,
      fee: { ...SPENDING.fee, sponsor: { name: SCRIPT, host: SCRIPT, icon } },
      batchId: SCRIPT,
      atomic: true,
      execution: 'sponsored',
    })),
    {
      kind: 'upgrade',
      origin: SHOP,
      method: 'wallet_sendCalls',
      warnings: [],
      account: A,
      chain: CHAIN,
      delegate: B,
      delegateName: SCRIPT,
      delegateBefore: B,
      deploys: true,
      batchId: SCRIPT,
    },
    {
      kind: 'addChain',
      origin: SHOP,
      method: 'wallet_addEthereumChain',
      warnings: [],
      proposed: {
        chainId: '0x14a34',
        chainName: SCRIPT,
        nativeCurrency: { name: SCRIPT, symbol: SCRIPT, decimals: 18 },
        rpcUrls: [`https://${SCRIPT}`],
        blockExplorerUrls: ['javascript:alert(1)'],
        iconUrls: ICONS,
      },
      known: false,
    },
    { kind: 'switchChain', origin: SHOP, method: 'wallet_switchEthereumChain', warnings: [], from: CHAIN, to: CHAIN },
    {
      kind: 'watchAsset',
      origin: SHOP,
      method: 'wallet_watchAsset',
      warnings: [],
      chain: CHAIN,
      asset: { type: SCRIPT, address: B, symbol: SCRIPT, decimals: 6 },
    },
    {
      kind: 'connect',
      origin: SHOP,
      method: 'eth_requestAccounts',
      warnings: [],
      chain: CHAIN,
      accounts: [{ address: A, name: SCRIPT, balance: null }],
    },
  ]

  function ask(draft: Draft): Promise<unknown> {
    return stage.node.wallet.approvals.ask(draft).catch(({ code }: { code: number }) => code)
  }

  it('external text is inert on the page: no elements, no scripts, no requests', async () => {
    const happened: string[] = []
    page.on('dialog', (dialog) => {
      happened.push(`dialog ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('request', (request) => happened.push(`request ${request.url()}`))
    page.on('pageerror', ({ message }) => happened.push(`error ${message}`))
    await page.bringToFront()
    const scripts = await page.evaluate(COUNT, 'script')
    for (const draft of HOSTILE) {
      const result = ask(draft)
      await card(page, draft.kind).waitFor()
      await page.evaluate(UNFOLD)
      const found = await page.evaluate(FOREIGN_ELEMENTS)
      expect([draft.kind, found]).toEqual([draft.kind, []])
      expect(await page.evaluate(COUNT, 'script')).toBe(scripts)
      for (const { id } of stage.node.wallet.approvals.pending) stage.node.wallet.approvals.reject(id)
      expect(await result).toBe(4001)
      await card(page, draft.kind).waitFor({ state: 'detached' })
    }
    // An image with a data: URL causes no request.
    expect(happened.filter((each) => !each.startsWith('request data:image/'))).toEqual([])
  })
})

// The functions below run in pages; tests are type-checked without the DOM library.

async function FETCHES({ url, type }: { readonly url: string; readonly type: string }): Promise<string> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_requestAccounts","params":[]}'
  return fetch(url, { method: 'POST', headers: { 'content-type': type }, body, credentials: 'include' }).then(
    ({ status }) => String(status),
    (error: Error) => error.name,
  )
}

function OPENS(url: string): Promise<boolean> {
  const socket = new WebSocket(url)
  return new Promise((resolve) => {
    socket.addEventListener('open', () => resolve(true))
    socket.addEventListener('close', () => resolve(false))
  })
}

function SUBMIT({ action, enctype, name, value }: Record<string, string | undefined>): void {
  const { document } = globalThis as unknown as InPage
  const form = Object.assign(document.createElement('form'), { method: 'post', target: 'sink', action, enctype })
  form.append(Object.assign(document.createElement('input'), { name, value }))
  document.body.append(form)
  form.submit()
}

function BEACON({ url, type, body }: { readonly url: string; readonly type: string; readonly body: string }): boolean {
  const { navigator } = globalThis as unknown as InPage
  return navigator.sendBeacon(url, type === '' ? new TextEncoder().encode(body) : new Blob([body], { type }))
}

function COUNT(selector: string): number {
  return (globalThis as unknown as InPage).document.querySelectorAll(selector).length
}

/** Opens every collapsed element. */
function UNFOLD(): void {
  for (const details of (globalThis as unknown as InPage).document.querySelectorAll('details')) Object.assign(details, { open: true })
}

/** Elements that the approval page never contains: external images, handler attributes, script links, frames. */
function FOREIGN_ELEMENTS(): readonly string[] {
  const { document } = globalThis as unknown as InPage
  return [...document.querySelectorAll('body *')]
    .filter((element) => {
      const attributes = element.getAttributeNames()
      const address = element.getAttribute('src') ?? element.getAttribute('href') ?? ''
      const isPicture = element.localName === 'img' && !address.startsWith('data:image/')
      const isForeign = ['iframe', 'object', 'embed', 'form', 'base', 'style', 'link'].includes(element.localName)
      const runs =
        /^\s*(javascript|data:text|vbscript):?/i.test(address) || attributes.some((name) => name.startsWith('on') || name === 'srcdoc')
      return isPicture || isForeign || runs
    })
    .map((element) => element.outerHTML.slice(0, 200))
}

interface Element {
  readonly localName: string
  readonly outerHTML: string
  getAttributeNames(): readonly string[]
  getAttribute(name: string): string | null
}

interface InPage {
  readonly document: {
    readonly body: { append(child: unknown): void }
    querySelectorAll(selector: string): Iterable<Element> & { readonly length: number }
    createElement(name: string): { append(child: unknown): void; submit(): void }
  }
  readonly navigator: { sendBeacon(url: string, body: unknown): boolean }
}

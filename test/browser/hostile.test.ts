import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Address, Hash } from '../../src/eth/index.ts'
import type { Draft } from '../../src/wallet/index.ts'
import { NO_BROWSER, startBrowser } from './browser.fixture.ts'
import { answer, card, openStage } from './stage.fixture.ts'
import type { Stage } from './stage.fixture.ts'

// Hostile and faulty requests of sites.

const SHOP = 'https://shop.example'
const A = Address.from(`0x${'a1'.repeat(20)}`)
const CHAIN = { chainId: '0x7a69', name: 'Pocketchain', symbol: 'ETH', decimals: 18, explorerUrl: null } as const
const TYPED = {
  kind: 'sign',
  origin: SHOP,
  method: 'eth_signTypedData_v4',
  warnings: [],
  account: A,
  chain: CHAIN,
  scheme: 'eth_signTypedData_v4',
  message: null,
  text: null,
  typedData: { types: { Order: [{ name: 'item', type: 'string' }] }, primaryType: 'Order', domain: {}, message: { item: 'a cake' } },
  digest: Hash.from(`0x${'7b'.repeat(32)}`),
} as const
const SWITCH = {
  kind: 'switchChain',
  origin: SHOP,
  method: 'wallet_switchEthereumChain',
  warnings: [],
  from: CHAIN,
  to: { ...CHAIN, chainId: '0x14a34', name: 'Base Sepolia' },
} as const
const UPGRADE = {
  kind: 'upgrade',
  origin: SHOP,
  method: 'wallet_sendCalls',
  warnings: [],
  account: A,
  chain: CHAIN,
  delegate: A,
  delegateName: 'PocketAccount',
  delegateBefore: null,
  deploys: false,
  batchId: '\u202Eelttil yrev',
} as const

let browser: Browser
let stage: Stage

beforeAll(async () => {
  if (NO_BROWSER !== null) return
  browser = await startBrowser()
  stage = await openStage(browser)
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await browser?.close()
})

describe.skipIf(NO_BROWSER !== null)(`the approval page${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let page: Page

  /** The outcome of a question: `approved`, or the code of its refusal. */
  async function ask(draft: Draft): Promise<unknown> {
    return stage.node.wallet.approvals.ask(draft).then(
      () => 'approved',
      ({ code }: { code: number }) => code,
    )
  }

  beforeEach(async () => {
    page = stage.approvals
    await page.bringToFront()
  })
  afterEach(() => {
    for (const { id } of stage.node.wallet.approvals.pending) stage.node.wallet.approvals.reject(id)
  })

  it('shows typed data with names such as __proto__', async () => {
    const domain = JSON.parse('{ "constructor": "a", "__proto__": "b", "toString": { "valueOf": "c" } }') as object
    const answered = ask({ ...TYPED, typedData: { ...TYPED.typedData, types: {}, primaryType: 'constructor', domain } })
    await card(page, 'sign').getByText('toString', { exact: true }).waitFor()
    await answer(page, 'sign')
    expect(await answered).toBe('approved')
  })

  it('offers only rejection for a question that it cannot show, and continues with the next', async () => {
    const unshowable = ask({ ...TYPED, scheme: 'personal_sign', message: '0x', text: 5 } as never) // no request produces this
    const next = ask(SWITCH)
    const shown = card(page, 'sign')
    await shown.getByText('it can only be rejected').waitFor()
    expect(await shown.getByTestId('origin').innerText()).toBe(SHOP)
    await page.locator('.armed').waitFor()
    expect(await shown.getByTestId('approve').isDisabled()).toBe(true)
    await answer(page, 'sign', 'reject')
    expect(await unshowable).toBe(4001)
    await answer(page, 'switchChain')
    expect(await next).toBe('approved')
  })

  it('shows text behind blank lines at the start of the box', async () => {
    const text = `${'\n'.repeat(200_000)}I owe you everything.${' '.repeat(5_000)}All of it.`
    const answered = ask({ ...TYPED, scheme: 'personal_sign', message: '0x', text })
    const box = card(page, 'sign').getByRole('group', { name: 'Message', exact: true })
    expect(await box.innerText()).toMatch(/^⟨199,999 blank lines⟩\s*I owe you everything\.\s*⟨5,000 spaces⟩\s*All of it\.$/)
    const isWhole = await box.evaluate((element) => {
      const { scrollHeight, clientHeight } = element as unknown as { scrollHeight: number; clientHeight: number } // every element has them
      return scrollHeight <= clientHeight
    })
    expect(isWhole).toBe(true)
    await answer(page, 'sign')
    expect(await answered).toBe('approved')
  })

  it('keeps the displayed question while other sites send requests', async () => {
    const first = ask(TYPED)
    await card(page, 'sign').waitFor()
    const id = await card(page, 'sign').getAttribute('data-id')
    for (let site = 0; site < 15; site++) {
      for (let i = 0; i < 20; i++) void ask({ ...SWITCH, origin: `https://flood-${site}.example` })
    }
    await page.getByTestId('queue-count').filter({ hasText: '1 of 200 requests' }).waitFor()
    expect(await card(page, 'sign').getAttribute('data-id')).toBe(id)
    await answer(page, 'sign')
    expect(await first).toBe('approved')
    await card(page, 'switchChain').waitFor()
  })

  it('shows a question of the maximum nesting', async () => {
    const depth = 190 // QUESTION_DEPTH is 200
    const domain = { name: JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown }
    const answered = ask({ ...TYPED, typedData: { ...TYPED.typedData, domain } })
    await answer(page, 'sign')
    expect(await answered).toBe('approved')
  })

  it('names characters that reverse the id of a batch', async () => {
    void ask(UPGRADE)
    await card(page, 'upgrade').waitFor()
    const html = await page.locator('main').evaluate((element) => (element as unknown as { innerHTML: string }).innerHTML)
    expect(html).toContain('⟨U+202E⟩')
    expect(html).not.toContain('\u202E')
  })

  it('applies a held key to one question only', async () => {
    const first = ask(TYPED)
    const second = ask(SWITCH)
    await page.locator('.armed').waitFor()
    await card(page, 'sign').getByTestId('approve').focus()
    await page.keyboard.down('Enter')
    expect(await first).toBe('approved')
    const reject = card(page, 'switchChain').locator('[data-testid="reject"]:focus')
    await reject.waitFor()
    await page.keyboard.down('Enter') // again without an up: the key repeats
    expect(await reject.innerText()).toBe('Reject')
    await page.keyboard.up('Enter')
    await page.keyboard.press('Enter')
    expect(await second).toBe(4001)
  })

  it('shows no buttons without the question in a window of any size', async () => {
    const size = page.viewportSize()
    await page.setViewportSize({ width: 200, height: 100 })
    const answered = ask(TYPED)
    const approve = card(page, 'sign').getByTestId('approve')
    await page.locator('.armed').waitFor()
    expect((await approve.boundingBox())?.y).toBeGreaterThan(300)
    if (size !== null) await page.setViewportSize(size)
    await answer(page, 'sign')
    expect(await answered).toBe('approved')
  })

  it('closes when the app that opened it closes', async () => {
    const app = await stage.open(() => async () => '<!doctype html><title>app</title>', 'index.html')
    const opened = stage.context.waitForEvent('page')
    await app.evaluate((wallet) => {
      const { open, location } = globalThis as unknown as InPage
      open(`${wallet}?sdkName=app&origin=${location.origin}`, 'wallet', 'popup,width=420,height=700')
    }, `${stage.url}/wallet`)
    const popup = await opened
    await popup.getByTestId('empty').waitFor()
    const closed = popup.waitForEvent('close')
    await app.close()
    await closed
  })

  it('shows the origin that the browser reports, never one from the address', async () => {
    const app = await stage.open(() => async () => '<!doctype html><title>app</title>', 'index.html')
    const { origin } = new URL(app.url())
    await app.evaluate(
      `void (window.loaded = new Promise((resolve) => addEventListener('message', ({ data }) => data.event === 'PopupLoaded' && resolve())))`,
    )
    const popupWith = async (claim: string): Promise<Page> => {
      const opened = stage.context.waitForEvent('page')
      await app.evaluate(
        ({ url, name }) => {
          const page = globalThis as unknown as InPage
          page.popup = page.open(url, name, 'popup,width=420,height=700')
        },
        { url: `${stage.url}/wallet?sdkName=app&origin=${claim}`, name: claim },
      )
      const popup = await opened
      await popup.getByTestId('empty').waitFor()
      return popup
    }
    /** Sends what the SDK sends first. */
    const introduce = (): Promise<void> =>
      app.evaluate((wallet) => {
        const page = globalThis as unknown as InPage
        page.popup?.postMessage({ requestId: 'a', data: { version: '2.5.10', metadata: { appName: 'app.uniswap.org' } } }, wallet)
      }, stage.url)

    const claim = 'https://app.uniswap.org'
    const forged = await popupWith(claim)
    await expect.poll(() => forged.evaluate(HAS_KEYS_FOR(claim))).toBe(true) // so its listener is registered
    await introduce()
    await forged.evaluate(async () => {
      const { requestAnimationFrame } = globalThis as unknown as InPage
      for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame)
    })
    expect(await forged.locator('main').innerText()).toContain('A site opened this window')
    expect(await forged.locator('html').innerText()).not.toContain('uniswap')
    expect(await forged.title()).not.toContain('uniswap')
    await forged.close()

    const honest = await popupWith(origin)
    expect(await honest.locator('main').innerText()).not.toContain(new URL(origin).host)
    await app.evaluate('loaded')
    await introduce()
    await honest.getByTestId('empty').getByText(new URL(origin).host).waitFor()
    await honest.close()
    await app.close()
  })

  it('ignores a double click that started before the policy choice appeared', async () => {
    const policy = page.getByTestId('policy-approve')
    await page.getByLabel('pocketchain wallet, overview').click()
    await policy.waitFor()
    const isChecked = await page.evaluate(async () => {
      const { document, requestAnimationFrame } = globalThis as unknown as InPage
      document.dispatchEvent(new Event('visibilitychange')) // restarts the half second
      await new Promise(requestAnimationFrame)
      const radio = document.querySelector('[data-testid="policy-approve"]')
      radio?.click()
      return radio?.checked
    })
    expect(isChecked).toBe(false)
    const choose = async (name: string): Promise<string> => {
      await page.getByTestId(`policy-${name}`).click()
      return stage.node.wallet.approvals.policy
    }
    // Each click restarts the half second.
    await expect.poll(() => choose('reject'), { interval: 700 }).toBe('reject')
    await expect.poll(() => choose('ask'), { interval: 700 }).toBe('ask')
  })
})

describe.skipIf(NO_BROWSER !== null)(`the script of the wallet, in a page${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  /** Opens a page with these scripts; `$wallet` is replaced by the URL of the wallet's script. */
  function open(html: string): Promise<Page> {
    return stage.open((wallet) => async () => html.replaceAll('$wallet', wallet), 'index.html')
  }

  /** Returns the entries of the page's `seen`. */
  function seen(page: Page): Promise<readonly unknown[]> {
    return page.evaluate(() => (globalThis as unknown as InPage).seen)
  }

  const FIND = `<script>
    var seen = [], providers = []
    addEventListener('eip6963:announceProvider', ({ detail }) => providers.push(detail.provider))
  </script>`

  it('announces one wallet, even if its script is included several times', async () => {
    const page = await open(`${FIND}<script src="$wallet"></script><script src="$wallet" data-ethereum></script>
      <script>seen.push(providers.length, window.ethereum === providers[0])</script>`)
    expect(await seen(page)).toEqual([1, true])
    await page.close()
  })

  it('leaves window.ethereum to another wallet without an error', async () => {
    const page = await open(`<script>var seen = []; addEventListener('error', ({ message }) => seen.push(message))
      Object.defineProperty(window, 'ethereum', { get: () => 'another' })</script>${FIND.replace('seen = [], ', '')}
      <script src="$wallet" data-ethereum></script><script>seen.push(window.ethereum, providers.length)</script>`)
    expect(await seen(page)).toEqual(['another', 1])
    await page.close()
  })

  it('calls a listener added by another listener from the next event on', async () => {
    const page = await open(`${FIND}<script src="$wallet"></script><script>
      const again = () => { if (seen.push('connect') < 1000) providers[0].once('connect', again) }
      providers[0].once('connect', again)
    </script>`)
    await expect.poll(() => seen(page)).toEqual(['connect'])
    await page.close()
  })

  it('rejects a request that cannot be serialized, and continues with the others', async () => {
    const page = await open(`${FIND}<script src="$wallet"></script><script>
      const ask = (method, params) => providers[0].request({ method, params }).catch(({ code }) => code)
      const first = ask('eth_chainId')
      Promise.all([ask('eth_call', [1n]), ask('personal_sign', ['ü'.repeat(600_000)]), first]).then((all) => seen.push(...all))
    </script>`)
    await expect.poll(() => seen(page)).toEqual([-32602, -32602, '0x7a69'])
    await page.close()
  })
})

/** Runs in the popup: true once its key pair for an origin is stored, immediately before it registers its listener. */
const HAS_KEYS_FOR = (origin: string): string => `new Promise((resolve, reject) => {
  const opening = indexedDB.open('pocketchain-popup', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore('keys')
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const counting = opening.result.transaction('keys').objectStore('keys').count(${JSON.stringify(origin)})
    counting.onsuccess = () => {
      opening.result.close()
      resolve(counting.result === 1)
    }
  }
})`

/** The DOM members that the functions here use inside a page: tests are type-checked without the DOM library. */
interface InPage {
  readonly seen: readonly unknown[]
  readonly document: {
    querySelector(selector: string): { readonly checked: boolean; click(): void } | null
    dispatchEvent(event: Event): boolean
  }
  readonly requestAnimationFrame: (then: (time: number) => void) => void
  readonly location: { readonly origin: string }
  readonly open: (url: string, name: string, features: string) => { postMessage(message: unknown, origin: string): void } | null
  popup: { postMessage(message: unknown, origin: string): void } | null
}

import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { layoutFaults } from '../axe.fixture.ts'
import { NO_BROWSER, startBrowser } from '../browser.fixture.ts'
import { openExplorer } from './explorer.fixture.ts'
import type { Scene } from './explorer.fixture.ts'

// The explorer's pages of the chain: newest blocks, a block, a flashblock, promises, search.

const UNKNOWN_HASH = `0x${'ab'.repeat(32)}`

describe.skipIf(NO_BROWSER !== null)(`the explorer${NO_BROWSER === null ? '' : ` (${NO_BROWSER})`}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  })
  afterAll(() => browser?.close())

  const cells = (scene: Scene, number: number) =>
    scene.page.locator(`[data-testid="strip-block"][data-number="${number}"] [data-testid="cell"]`)
  const row = (scene: Scene, hash: string) => scene.page.locator(`[data-testid="transaction"][data-hash="${hash}"]`)
  const stage = (scene: Scene, hash: string, wanted: string) =>
    scene.page.locator(`[data-testid="transaction"][data-hash="${hash}"][data-stage="${wanted}"]`)

  it('shows the open block grow by a flashblock, and moves it on when it is sealed', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const { page, flashblocks, seal, at } = scene
    await flashblocks(2)
    const open = page.locator('[data-testid="strip-block"][data-open="true"]')
    await open.waitFor()
    const number = Number(await open.getAttribute('data-number'))
    const before = Number(await open.getAttribute('data-cells'))
    await flashblocks()
    await page.locator(`[data-testid="strip-block"][data-number="${number}"][data-cells="${before + 1}"]`).waitFor()
    await seal()
    await page.locator(`[data-testid="strip-block"][data-number="${number}"][data-open="false"]`).waitFor()
    expect(await at('rates').innerText()).toMatch(/flashblocks\/s, .* transactions\/s/)
    expect(scene.broken).toEqual([])
  })

  it('numbers the flashblocks of a block that was open before the page', async () => {
    await using scene = await openExplorer(browser)
    await scene.flashblocks(4)
    await scene.go('/')
    await scene.flashblocks()
    const { flashblockIndex, head } = (await scene.ask('pocketchain_info')) as { flashblockIndex: number; head: { number: string } }
    await cells(scene, Number(head.number) + 1)
      .and(scene.page.locator(`[data-index="${flashblockIndex}"]`))
      .waitFor({ state: 'attached' })
  })

  it('lists transactions with their state from the pool to the promise and the seal', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    await scene.ask('pocketchain_hold', scene.accounts[0])
    const hash = await scene.send()
    await scene.flashblocks()
    await stage(scene, hash, 'pool').waitFor()
    await scene.ask('pocketchain_release')
    await scene.flashblocks()
    await stage(scene, hash, 'promised').waitFor()
    await scene.seal()
    await stage(scene, hash, 'sealed').waitFor()
    for (let i = 0; i < 12; i++) await scene.seal()
    await scene.go(`/block/1`)
    expect(await row(scene, hash).getByTestId('stage').first().innerText()).toMatch(/safe|finalized/)
  })

  it('lists the only transaction of a block of a chain without L1 attributes', async () => {
    await using scene = await openExplorer(browser, { node: { chainType: 'l1', cadence: 'instant' }, hasManualClock: false })
    await scene.go('/')
    const hash = await scene.send()
    await row(scene, hash).waitFor()
  })

  it('lists no L1 attributes, of a node of another kind either', async () => {
    await using scene = await openExplorer(browser)
    const { page, at } = scene
    await page.route(/:\d+\/$/, (route) => {
      const body = route.request().postData() ?? ''
      return body === '' ? route.continue() : route.continue({ postData: body.replaceAll('"pocketchain_info"', '"pocketchain_none"') })
    })
    await scene.go('/')
    await scene.seal()
    await at('no-transactions').waitFor()
    const hash = await scene.send()
    for (let i = 0; i < 11; i++) await scene.seal()
    await scene.go('/')
    await row(scene, hash).waitFor()
    expect(await at('transaction').count()).toBe(1)
  })

  it('shows a retraction as it happens', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const hash = await scene.send()
    await scene.flashblocks(2)
    await stage(scene, hash, 'promised').waitFor()
    await scene.ask('pocketchain_hold', scene.accounts[0])
    await scene.ask('pocketchain_retract', hash)
    await stage(scene, hash, 'retracted').waitFor()
    await scene.page.locator('[data-testid="strip"] .gone').waitFor({ state: 'attached' })
    expect(scene.broken).toEqual([])
  })

  it('can be paused, and continues with what happened meanwhile', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const { at, page, seal, flashblocks } = scene
    await flashblocks(2)
    const open = page.locator('[data-testid="strip-block"]').first()
    await page.locator('[data-testid="strip-block"][data-open="true"]').waitFor()
    await at('pause').click()
    const number = Number(await open.getAttribute('data-number'))
    await seal()
    await seal()
    await page.locator('[data-testid="connection"]', { hasText: `block ${number + 1}` }).waitFor()
    expect(Number(await open.getAttribute('data-number'))).toBe(number)
    await at('pause').click()
    await page.locator(`[data-testid="strip-block"][data-number="${number + 1}"][data-open="false"]`).waitFor()
  })

  it('lists user operations with their state', async () => {
    await using scene = await openExplorer(browser, { node: { cadence: 'instant' }, hasManualClock: false })
    await scene.go('/')
    const { node, server } = scene
    const app = node.wallet.provider('http://shop.localhost:3000')
    node.wallet.approvals.setPolicy('approve')
    await app.request({ method: 'eth_requestAccounts', params: [] })
    const calls = [{ to: scene.accounts[1], value: '0x0' }]
    const capabilities = { paymasterService: { url: server.paymaster?.url } }
    await app.request({
      method: 'wallet_sendCalls',
      params: [{ version: '2.0.0', from: scene.accounts[0], chainId: '0x7a69', atomicRequired: true, calls, capabilities }],
    })
    const operation = scene.page.getByTestId('operation')
    await operation.waitFor()
    expect(await operation.getByTestId('stage').first().innerText()).toMatch(/sealed|safe|finalized/)
    await operation.locator('a').first().click()
    await scene.page.waitForURL(/\/op\/0x[0-9a-f]{64}$/)
  })

  it('shows a block with its header, flashblocks and transactions, and steps to its neighbours', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const hash = await scene.send()
    await scene.seal()
    await scene.seal()
    await scene.go('/block/1')
    expect(await at('block-number').innerText()).toBe('Block 1')
    expect(await at('hash').innerText()).toContain(((await scene.ask('eth_getBlockByNumber', '0x1', false)) as { hash: string }).hash)
    await row(scene, hash).waitFor()
    await at('flashblock').first().click()
    await page.waitForURL(/\/flashblock\/1\/\d+$/)
    await page.locator(`[data-testid="promise"][data-hash="${hash}"][data-outcome="kept"]`).waitFor()
    await page.goBack()
    await at('child').click()
    await page.waitForURL(/\/block\/2$/)
    expect(await at('block-number').innerText()).toBe('Block 2')
    await page.goBack()
    await at('block-number').getByText('Block 1').waitFor()
    expect(scene.broken).toEqual([])
  })

  it('finds a block by its hash and by tags, and says what is unknown or malformed', async () => {
    await using scene = await openExplorer(browser)
    const { at, go } = scene
    await scene.seal()
    const { hash } = (await scene.ask('eth_getBlockByNumber', '0x1', false)) as { hash: string }
    for (const id of [hash, 'latest', '0x1']) {
      await go(`/block/${id}`)
      expect(await at('block-number').innerText()).toBe('Block 1')
    }
    await go('/block/999999')
    await at('unknown')
      .getByText(/no block 999999; its newest one is 1$/)
      .waitFor()
    await go(`/block/${UNKNOWN_HASH}`)
    await at('unknown').waitFor()
    await go('/block/%3Cb%3Enope')
    expect(await at('bad-input').innerText()).toContain('<b>nope is neither a block number')
    await go('/flashblock/x/y')
    await at('bad-input').waitFor()
  })

  it('follows the open block', async () => {
    await using scene = await openExplorer(browser)
    await scene.seal()
    await scene.flashblocks(2)
    await scene.go('/block/pending')
    const hash = await scene.send()
    await scene.flashblocks()
    await stage(scene, hash, 'promised').waitFor()
  })

  it('pages through a block of 5,000 transactions without a slow request', async () => {
    await using scene = await openExplorer(browser, { node: { cadence: 'manual', gasLimit: 500_000_000n }, hasManualClock: false })
    await scene.go('/')
    const { page, at, accounts, ask } = scene
    const hashes: string[] = []
    for (let nonce = 0; nonce < 500; nonce++)
      for (const from of accounts)
        hashes.push(
          String(
            await ask('eth_sendTransaction', { from, to: accounts[0], value: '0x1', gas: '0x5208', nonce: `0x${nonce.toString(16)}` }),
          ),
        )
    await ask('evm_mine')
    const requests: string[] = []
    page.on('requestfinished', (request) => requests.push(request.postData() ?? ''))
    await scene.go('/block/1')
    await at('transactions-panel').getByText('page 1 of 201').waitFor()
    await at('next').click()
    await at('transactions-panel').getByText('page 2 of 201').waitFor()
    await row(scene, hashes[30]!).waitFor()
    expect(page.url()).toMatch(/\?page=2$/)
    await page.reload()
    await row(scene, hashes[30]!).waitFor()
    expect(requests.some((body) => /"eth_getBlockByNumber","params":\["[^"]*",true/.test(body))).toBe(false)
    expect(scene.broken).toEqual([])
  })

  it('filters the ledger by outcome, and keeps the filter in the address', async () => {
    await using scene = await openExplorer(browser)
    const { at, page } = scene
    const kept = await scene.send()
    await scene.seal()
    const broken = await scene.send({ from: scene.accounts[1] })
    await scene.flashblocks(2)
    await scene.ask('pocketchain_retract', broken, 'nowhere')
    await scene.seal()
    await scene.go('/promises')
    const promise = (hash: string, outcome: string) =>
      page.locator(`[data-testid="promise"][data-hash="${hash}"][data-outcome="${outcome}"]`)
    await promise(kept, 'kept').waitFor()
    await at('outcome-retracted').click()
    await promise(broken, 'retracted').waitFor()
    await expect.poll(() => page.getByTestId('promise').count()).toBe(1)
    expect(await at('cause').innerText()).toBe('by retract')
    expect(page.url()).toMatch(/\?outcome=retracted$/)
    await page.reload()
    await promise(broken, 'retracted').waitFor()
    await at('outcome-dropped').click()
    await at('no-promises').waitFor()
    expect(await at('total-retracted').innerText()).toBe('1')
  })

  it('shows the controls of promises to holders of the control credential only', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/promises')
    await scene.at('no-control').waitFor()
    expect(await scene.at('moves').count()).toBe(0)
  })

  it('holds, releases and retracts from the page', async () => {
    await using scene = await openExplorer(browser, { isControl: true })
    const { at, page } = scene
    await page.getByRole('link', { name: 'Promises' }).click()
    await at('hold-input').fill(String(scene.accounts[0]))
    await at('hold').click()
    await page.locator('[data-testid="control-outcome"]', { hasText: 'Hold:' }).waitFor()
    const hash = await scene.send()
    await scene.flashblocks(2)
    expect(await scene.ask('eth_getTransactionReceipt', hash)).toBeNull()
    await at('release').click()
    await page.locator('[data-testid="control-outcome"]', { hasText: 'Release: 1 ended' }).waitFor()
    await scene.flashblocks()
    await page.locator(`[data-testid="promise"][data-hash="${hash}"][data-outcome="open"]`).waitFor()
    await at('retract-input').fill(hash)
    await at('retract').click()
    await page.locator('[data-testid="control-outcome"][data-error="false"]', { hasText: 'Retract: 1 returned to the pool' }).waitFor()
    await page.locator(`[data-testid="promise"][data-hash="${hash}"][data-outcome="retracted"]`).waitFor()
    await at('drop-input').fill(UNKNOWN_HASH)
    await at('drop').click()
    await page.locator('[data-testid="control-outcome"][data-error="true"]').waitFor()
  })

  it('searches blocks, transactions, addresses, topics and names', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const { page, at } = scene
    const hash = await scene.send({ to: '0x4200000000000000000000000000000000000006' })
    await scene.seal()
    const search = async (text: string) => {
      await page.keyboard.press('/')
      await at('search').fill(text)
      await page.keyboard.press('Enter')
    }
    await search('1')
    await page.waitForURL(/\/block\/1$/)
    await search(hash)
    await page.waitForURL(new RegExp(`/tx/${hash}$`))
    await search(scene.accounts[1]!.toLowerCase())
    await page.waitForURL(new RegExp(`/address/${scene.accounts[1]}$`, 'i'))
    await search('weth')
    await page.waitForURL(/\/address\/0x4200000000000000000000000000000000000006$/)
    await search('EntryPoint')
    await at('names').waitFor()
    await search('0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c') // Deposit(address,uint256) of WETH
    await at('topic-logs').waitFor()
    expect(await page.getByTestId('log').count()).toBe(1)
    await search('<img src=x onerror=alert(1)>')
    expect(await at('nothing').innerText()).toContain('<img src=x onerror=alert(1)> is no block')
    expect(scene.broken).toEqual([])
  })

  it('reads the newest logs of a topic, and only as many blocks as these need', async () => {
    await using scene = await openExplorer(browser, { node: { cadence: 'manual' }, hasManualClock: false })
    const { page, at, ask } = scene
    const topic = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c' // Deposit(address,uint256) of WETH
    const deposit = () => scene.send({ to: '0x4200000000000000000000000000000000000006' })
    await deposit()
    await ask('hardhat_mine', '0x50')
    await scene.go(`/search?q=${topic}`)
    await at('topic-logs').waitFor()
    expect(await at('log').innerText()).toMatch(/^1\s/)
    for (let i = 0; i < 101; i++) await deposit()
    await ask('evm_mine')
    const searched: string[] = []
    page.on('request', (request) => searched.push(...(request.postData()?.match(/"eth_getLogs".*?"fromBlock":"\w+"/g) ?? [])))
    await page.reload()
    await at('topic-logs').getByText('the newest 100').waitFor()
    expect(await at('log').count()).toBe(100)
    expect(searched).toEqual([expect.stringMatching(/"fromBlock":"0x12"$/)])
  })

  it('shows that the node is gone, and reconnects when it is back', async () => {
    await using scene = await openExplorer(browser)
    await scene.go('/')
    const { page, node, server } = scene
    const state = (wanted: string) => page.locator(`[data-testid="connection"][data-state="${wanted}"]`)
    const broken = scene.broken.length
    await server.close()
    await state('lost').waitFor()
    await node.listen({ port: server.port, tlsFolder: null })
    await state('open').and(page.locator('[data-feed="flashblocks"]')).waitFor()
    await scene.seal()
    await state('open').getByText('block 1').waitFor()
    expect(scene.broken.slice(broken).filter((text) => !/ERR_CONNECTION_REFUSED|WebSocket connection/.test(text))).toEqual([])
  })

  it('is accessible and fits each width', async () => {
    await using scene = await openExplorer(browser, { isControl: true })
    await scene.send()
    await scene.seal()
    await scene.send()
    await scene.flashblocks(2)
    for (const path of ['/', '/block/1', '/flashblock/1/1', '/promises', '/search?q=EntryPoint']) {
      await scene.go(path)
      await scene.page.locator('main > *').first().waitFor()
      expect(await layoutFaults(scene.page), path).toEqual([])
    }
    await scene.go(`/search?q=${UNKNOWN_HASH}`)
    await scene.at('nothing').waitFor()
    expect(await layoutFaults(scene.page), 'a hash that is not found').toEqual([])
    expect(scene.broken).toEqual([])
  })
})

import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import { verifyMessage } from 'viem'
import { until } from './flow.fixture.ts'
import type { Flow, Scene } from './flow.fixture.ts'
import { testDapp } from './sites.fixture.ts'
import { answer } from './stage.fixture.ts'

type Hex = `0x${string}`

/** MetaMask's test dapp as published. Its buttons are disabled until their preconditions hold, for which a click waits. */
export const TEST_DAPP_FLOW: Flow = {
  app: "MetaMask's test dapp",
  open: (stage) => stage.open(testDapp, ''),
  steps: [
    [
      'finds the wallet through EIP-6963',
      async ({ app }) => {
        await app.locator('#providers').getByRole('button', { name: 'Use pocketchain' }).click()
        await app.locator('#activeProviderName').filter({ hasText: 'pocketchain' }).waitFor()
      },
    ],
    [
      'connects',
      async (scene) => {
        await press(scene, 'connectButton', 'connect')
        await shows(scene, 'accounts', buyer(scene))
      },
    ],
    [
      'signs a message',
      async (scene) => {
        await press(scene, 'personalSign', 'sign')
        await shows(scene, 'personalSignResult', '0x')
        const signature = (await scene.app.locator('#personalSignResult').innerText()) as Hex // it begins with 0x
        assert.equal(await verifyMessage({ address: buyer(scene), message: 'Example `personal_sign` message', signature }), true)
      },
    ],
    [
      'signs typed data and verifies the signature',
      async (scene) => {
        await press(scene, 'signTypedDataV4', 'sign')
        await shows(scene, 'signTypedDataV4Result', '0x')
        await press(scene, 'signTypedDataV4Verify')
        await shows(scene, 'signTypedDataV4VerifyResult', buyer(scene))
      },
    ],
    [
      'sends a transaction',
      async (scene) => {
        const before = await sent(scene)
        await press(scene, 'sendButton', 'send')
        await until(
          () => sent(scene),
          (count) => count === before + 1,
        )
      },
    ],
    [
      'sends a batch that must be atomic, and reads its status',
      async (scene) => {
        await press(scene, 'eip5792SendCallsButton', 'upgrade', 'batch')
        const status = scene.app.locator('#eip5792GetCallsStatusResult')
        await until(
          async () => {
            await press(scene, 'eip5792GetCallsStatusButton')
            await holds(status)
            return status.innerText()
          },
          (text) => /"status": ?200/.test(text),
        )
      },
    ],
    [
      'adds all of its NFTs with wallet_watchAsset in a batch of sendAsync',
      async (scene) => {
        const { app } = scene
        await press(scene, 'deployNFTsButton', 'send')
        await shows(scene, 'nftsStatus', 'Deployed')
        await app.locator('#mintAmountInput').fill('2')
        await press(scene, 'mintButton', 'send')
        await shows(scene, 'nftsStatus', 'Mint completed')
        await sealed(scene) // the app reads their number at "latest"
        await press(scene, 'watchNFTsButton', 'watchAsset', 'watchAsset')
      },
    ],
    [
      "connects through MetaMask's SDK, which wraps the wallet in a Proxy",
      async (scene) => {
        await press(scene, 'sdkConnect')
        await shows(scene, 'activeProviderName', 'sdk-connect')
        await shows(scene, 'accounts', buyer(scene))
        await press(scene, 'personalSign', 'sign')
        await shows(scene, 'personalSignResult', '0x')
      },
    ],
    [
      'adds a chain and switches to it',
      async (scene) => {
        await press(scene, 'addEthereumChain', 'addChain', 'switchChain')
        await shows(scene, 'chainId', '0x53a')
      },
    ],
  ],
}

async function press({ stage, app }: Scene, button: string, ...kinds: string[]): Promise<void> {
  await app.bringToFront()
  await app.locator(`#${button}`).click()
  for (const kind of kinds) await answer(stage.approvals, kind)
}

/** Resolves when every sent transaction is in a sealed block. */
async function sealed({ stage }: Scene): Promise<void> {
  const count = (tag: string): Promise<unknown> =>
    stage.node.request({ method: 'eth_getTransactionCount', params: [stage.node.accounts[0]!.address, tag] })
  await until(
    async () => [await count('latest'), await count('pending')],
    ([latest, pending]) => latest === pending,
  )
}

async function shows({ app }: Scene, element: string, text: string): Promise<void> {
  await app.locator(`#${element}`).filter({ hasText: text }).waitFor() // case-insensitive
}

async function holds(element: Locator): Promise<void> {
  await element.filter({ hasText: /./ }).waitFor()
}

function buyer({ stage }: Scene): Hex {
  return stage.node.accounts[0]!.address // a stage has ten
}

async function sent({ stage, app }: Scene): Promise<number> {
  assert.equal(await app.locator('#chainId').innerText(), '0x7a69')
  return Number(await stage.node.request({ method: 'eth_getTransactionCount', params: [stage.node.accounts[0]!.address, 'pending'] }))
}

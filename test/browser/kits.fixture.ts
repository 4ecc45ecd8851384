import type { Page } from 'playwright-core'
import { openBuiltApp } from './builtapp.fixture.ts'
import {
  ANNOUNCED_STEPS,
  answerInWindow,
  connectedSteps,
  pressAnnounced,
  pressInWindow,
  showsAccount,
  showsNoAccount,
  signingStep,
} from './connected.fixture.ts'
import type { Flow } from './flow.fixture.ts'
import { answer } from './stage.fixture.ts'

/** The dialogs of one kit. */
interface Kit {
  readonly name: string
  /** Opens the kit's dialog and chooses the announced wallet. */
  readonly choose: (app: Page) => Promise<void>
  /** Tries again, in the dialog that shows that the user rejected the connection. */
  readonly chooseAgain: (app: Page) => Promise<void>
  readonly disconnect: (app: Page) => Promise<void>
}

const RAINBOWKIT: Kit = {
  name: 'RainbowKit',
  choose: async (app) => {
    await app.getByTestId('rk-connect-button').click()
    await app.getByTestId('rk-wallet-option-dev.pocketchain').click()
  },
  chooseAgain: (app) => app.getByRole('button', { name: 'Retry' }).click(),
  disconnect: async (app) => {
    await app.getByTestId('rk-account-button').click()
    await app.getByTestId('rk-disconnect-button').click()
  },
}

const CONNECTKIT: Kit = {
  name: 'ConnectKit',
  choose: async (app) => {
    await app.getByRole('button', { name: 'Connect Wallet' }).click()
    await app.getByRole('button', { name: 'pocketchain' }).click()
  },
  chooseAgain: async (app) => {
    await app.getByText('You cancelled the request').first().waitFor()
    await app.locator('[aria-label="Retry"], button:has-text("Retry")').first().click()
  },
  disconnect: async (app) => {
    await app.getByRole('button', { name: '0xf39' }).click()
    await app.getByRole('button', { name: 'Disconnect' }).click()
  },
}

const APPKIT: Kit = {
  name: 'AppKit',
  choose: async (app) => {
    await app.getByRole('button', { name: 'Connect Wallet' }).click()
    await app.getByTestId('wallet-selector-dev.pocketchain').click()
  },
  chooseAgain: (app) => app.getByText('Try again').click(),
  disconnect: async (app) => {
    await app.locator('appkit-button').click()
    await app.getByText('Disconnect').click()
  },
}

const ONBOARD: Kit = {
  name: 'web3-onboard',
  choose: async (app) => {
    await app.locator('#connect').click()
    await app.getByRole('button', { name: 'pocketchain' }).click()
  },
  chooseAgain: (app) => app.getByText('here').click(),
  disconnect: async (app) => {
    await app.locator('#disconnect').click()
  },
}

const THIRDWEB: Kit = {
  name: 'thirdweb',
  choose: async (app) => {
    await app.getByRole('button', { name: 'Connect' }).click()
    await app.getByRole('button', { name: 'Connect a Wallet' }).click()
    await app.getByRole('button', { name: 'pocketchain' }).click()
  },
  chooseAgain: (app) => app.getByRole('button', { name: 'Try Again' }).click(),
  disconnect: async (app) => {
    await app.locator('.tw-connected-wallet').click()
    await app.getByRole('button', { name: 'Disconnect Wallet' }).click()
  },
}

export const RAINBOWKIT_FLOW = flowOf(RAINBOWKIT, 'kits', 'rainbowkit')
export const CONNECTKIT_FLOW = flowOf(CONNECTKIT, 'kits', 'connectkit')
export const APPKIT_FLOW = flowOf(APPKIT, 'kits', 'appkit')
export const ONBOARD_FLOW = flowOf(ONBOARD, 'kits', 'onboard')
/** In test/clients, because its packages are 270 MB. */
export const THIRDWEB_FLOW = flowOf(THIRDWEB, 'thirdweb', 'thirdweb')

/** RainbowKit's entry for the Base Account, behind which is the connector of WAGMI_BASE_FLOW, which has the other steps. */
export const RAINBOWKIT_BASE_FLOW: Flow = {
  app: 'an app on RainbowKit with the Base Account',
  open: (stage) => openBuiltApp(stage, 'kits', { app: 'rainbowkit' }, false),
  steps: [
    [
      'connects in its dialog',
      async (scene) => {
        await scene.app.getByTestId('rk-connect-button').click()
        const choose = () => scene.app.getByTestId('rk-wallet-option-base').click()
        await answerInWindow(scene, choose, new Promise(() => {}), 'connect')
        await showsAccount(scene, 31_337)
      },
    ],
    signingStep(pressInWindow),
  ],
}

/** An app on the kit with the announced wallet. */
function flowOf({ name, choose, chooseAgain, disconnect }: Kit, folder: string, app: string): Flow {
  return {
    app: `an app on ${name} with the announced wallet`,
    open: (stage) => openBuiltApp(stage, folder, { app }, true),
    steps: [
      [
        'connects in its dialog, at the second try as the user rejects the first',
        async (scene) => {
          const { app, stage } = scene
          await choose(app)
          await answer(stage.approvals, 'connect', 'reject')
          await app.bringToFront()
          await chooseAgain(app)
          await answer(stage.approvals, 'connect')
          await showsAccount(scene, 31_337)
        },
      ],
      ...connectedSteps(pressAnnounced),
      [
        'reconnects after a reload',
        async (scene) => {
          await scene.app.reload()
          await showsAccount(scene, 31_337)
        },
      ],
      ...ANNOUNCED_STEPS,
      [
        'disconnects in its dialog',
        async (scene) => {
          await disconnect(scene.app)
          await showsNoAccount(scene)
        },
      ],
    ],
  }
}

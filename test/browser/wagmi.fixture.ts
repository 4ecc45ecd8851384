import assert from 'node:assert/strict'
import { openBuiltApp } from './builtapp.fixture.ts'
import { ANNOUNCED_STEPS, buyer, connectedSteps, pressAnnounced, pressInWindow, showsAccount, showsNoAccount } from './connected.fixture.ts'
import type { Press } from './connected.fixture.ts'
import type { Flow, Step } from './flow.fixture.ts'

type Hex = `0x${string}`

interface Connection {
  readonly accounts: readonly Hex[]
  readonly chainId: number
}

/**
 * wagmi's connector for the Base Account, which opens the wallet in a separate window. The page has no announcing script: wagmi makes an announced
 * wallet the current one when that wallet emits `connect` and the site is permitted to see accounts, as it is here after the first step.
 */
export const WAGMI_BASE_FLOW: Flow = {
  app: 'an app on wagmi with its baseAccount connector',
  open: (stage) => openBuiltApp(stage, 'kits', { app: 'wagmi', connector: 'baseAccount' }, false),
  steps: [connects(pressInWindow), ...connectedSteps(pressInWindow)],
}

/** wagmi with the wallet announced through EIP-6963. */
export const WAGMI_ANNOUNCED_FLOW: Flow = {
  app: 'an app on wagmi with the announced wallet',
  open: (stage) => openBuiltApp(stage, 'kits', { app: 'wagmi', connector: 'dev.pocketchain' }, true),
  steps: [
    connects(pressAnnounced),
    ...connectedSteps(pressAnnounced),
    [
      'reconnects after a reload',
      async (scene) => {
        await scene.app.reload()
        assert.deepEqual(await pressAnnounced(scene, 'reconnect'), ['dev.pocketchain'])
        await showsAccount(scene, 31_337)
      },
    ],
    ...ANNOUNCED_STEPS,
    [
      'disconnects',
      async (scene) => {
        await pressAnnounced(scene, 'disconnect')
        await showsNoAccount(scene)
      },
    ],
  ],
}

function connects(press: Press): Step {
  return [
    'connects',
    async (scene) => {
      const { accounts, chainId } = (await press(scene, 'connect', 'connect')) as Connection
      assert.deepEqual([accounts[0]?.toLowerCase(), chainId], [buyer(scene), 31_337])
    },
  ]
}

import { query } from './order.js'

const APPS = {
  wagmi: () => import('./wagmi.js'),
  rainbowkit: () => import('./rainbowkit.js'),
  connectkit: () => import('./connectkit.js'),
  appkit: () => import('./appkit.js'),
  onboard: () => import('./onboard.js'),
}

await APPS[query.get('app')]()

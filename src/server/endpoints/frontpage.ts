import type { Status } from './health.ts'

/** The parts of a node that the front page lists. */
export interface NodeFeatures {
  readonly wallet: boolean
  readonly sponsor: boolean
  readonly tls: boolean
}

/** Returns the HTML of `GET /` for browsers. */
export function frontPage(clientVersion: string, status: Status, { wallet, sponsor, tls }: NodeFeatures): string {
  const { head, pending } = status
  const rows: readonly (readonly [string, string])[] = [
    ['chain id', String(status.chainId)],
    ['latest block', `${head.number} <code>${head.hash}</code>`],
    ['pending block', pending === null ? 'none' : `${pending.number}, flashblock ${pending.flashblockIndex}`],
    ['cadence', status.cadence],
    ['state', status.reason ?? 'ready'],
  ]
  const addresses = [
    ...ADDRESSES,
    ...(wallet ? WALLET_ADDRESSES : []),
    ...(sponsor ? SPONSOR_ADDRESSES : []),
    ...(tls ? TLS_ADDRESSES : []),
  ]
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>pocketchain</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
td{padding:.2rem 1.5rem .2rem 0;vertical-align:top}td:first-child{white-space:nowrap}code{overflow-wrap:anywhere}</style>
<h1>pocketchain</h1>
<p>${clientVersion} is running. This address serves JSON-RPC: configure it as the RPC URL of a wallet or a library.</p>
<table>${rows.map(([name, value]) => `<tr><td>${name}<td>${value}`).join('')}</table>
<h2>Addresses</h2>
<table>${addresses.map(([name, value]) => `<tr><td><code>${name}</code><td>${value}`).join('')}</table>
</html>
`
}

type Row = readonly [address: string, description: string]

const ADDRESSES: readonly Row[] = [
  ['POST /', 'JSON-RPC, all methods'],
  ['WS /', 'JSON-RPC with subscriptions'],
  ['POST /public, WS /public', 'JSON-RPC of the public tier'],
  ['WS /flashblocks', 'the stream of pre-confirmed blocks; <code>?compression=brotli</code>'],
  ['GET /health, /livez, /readyz', 'probes'],
  ['<a href="/metrics">/metrics</a>', 'counters in the text format of Prometheus'],
]

const WALLET_ADDRESSES: readonly Row[] = [
  ['<a href="/wallet">/wallet</a>', 'the approval page of the wallet'],
  ['POST /wallet, WS /wallet', 'JSON-RPC of the wallet'],
]

const SPONSOR_ADDRESSES: readonly Row[] = [
  ['<a href="/sponsor">/sponsor</a>', 'the gas sponsor: its payments and refusals'],
  ['POST /paymaster, POST /paymaster/rpc', 'the sponsor as a service (ERC-7677)'],
]

const TLS_ADDRESSES: readonly Row[] = [
  ['<a href="/ca.pem">/ca.pem</a>', 'the certificate to trust for <code>https</code> and <code>wss</code> on this port'],
]

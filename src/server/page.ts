import type { Status } from './health.ts'

/** What the node has beside the chain. */
export interface Has {
  readonly wallet: boolean
  readonly sponsor: boolean
  readonly tls: boolean
}

/** What a person sees who opens the node's address in a browser. */
export function page(clientVersion: string, status: Status, has: Has): string {
  const { head, pending } = status
  const rows: readonly (readonly [string, string])[] = [
    ['chain id', String(status.chainId)],
    ['latest block', `${head.number} <code>${head.hash}</code>`],
    ['pending block', pending === null ? 'none' : `${pending.number}, flashblock ${pending.flashblockIndex}`],
    ['cadence', status.cadence],
    ['state', status.reason ?? 'ready'],
  ]
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>pocketchain</title>
<style>body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
td{padding:.2rem 1.5rem .2rem 0;vertical-align:top}td:first-child{white-space:nowrap}code{overflow-wrap:anywhere}</style>
<h1>pocketchain</h1>
<p>${clientVersion} is running. This address speaks JSON-RPC: point a wallet or a library at it.</p>
<table>${rows.map(([name, value]) => `<tr><td>${name}<td>${value}`).join('')}</table>
<h2>Addresses</h2>
<table>${addressesOf(has)
    .map(([name, value]) => `<tr><td><code>${name}</code><td>${value}`)
    .join('')}</table>
</html>
`
}

type Row = readonly [address: string, what: string]

function addressesOf({ wallet, sponsor, tls }: Has): readonly Row[] {
  return [...ADDRESSES, ...(wallet ? WALLET_ADDRESSES : []), ...(sponsor ? SPONSOR_ADDRESSES : []), ...(tls ? TLS_ADDRESSES : [])]
}

const ADDRESSES: readonly Row[] = [
  ['POST /', 'JSON-RPC, everything'],
  ['WS /', 'JSON-RPC with subscriptions'],
  ['POST /public, WS /public', 'JSON-RPC as a public endpoint serves it'],
  ['WS /flashblocks', 'the stream of pre-confirmed blocks; <code>?compression=brotli</code>'],
  ['GET /health, /livez, /readyz', 'probes'],
]

const WALLET_ADDRESSES: readonly Row[] = [
  ['<a href="/wallet">/wallet</a>', 'the wallet: the page where its questions are answered'],
  ['POST /wallet, WS /wallet', 'JSON-RPC of the wallet'],
]

const SPONSOR_ADDRESSES: readonly Row[] = [
  ['<a href="/sponsor">/sponsor</a>', 'the gas sponsor: what it has paid, and what it refused'],
  ['POST /paymaster, POST /paymaster/rpc', 'the sponsor as a service (ERC-7677)'],
]

const TLS_ADDRESSES: readonly Row[] = [
  ['<a href="/ca.pem">/ca.pem</a>', 'the certificate to trust for <code>https</code> and <code>wss</code>, which this port speaks as well'],
]

import { resolve } from 'node:path'
import type { LatestState } from '../compat.ts'
import { Address } from '../eth/index.ts'
import { DEFAULT_MNEMONIC } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import type { Server } from '../server/index.ts'
import { cadenceText } from './cadence.ts'
import type { DevKeys } from './devkeys.ts'
import { formatEther } from './values.ts'
import type { Paint } from './terminal.ts'

/** The URLs of the node. */
interface Urls {
  readonly http: string
  readonly ws: string
  readonly public: string
  readonly publicWs: string
  readonly flashblocks: string
}

export function urlsOf({ url, wsUrl }: Pick<Server, 'url' | 'wsUrl'>): Urls {
  return { http: url, ws: wsUrl, public: `${url}/public`, publicWs: `${wsUrl}/public`, flashblocks: `${wsUrl}/flashblocks` }
}

interface BannerSettings {
  readonly version: string
  readonly data: string | null
  readonly latest: LatestState
  readonly forkUrl: readonly string[]
}

/** Returns the banner. Wrappers wait for its last line, `Listening on HOST:PORT`. */
export function banner(
  node: Pocketchain,
  server: Pick<Server, 'url' | 'wsUrl' | 'host' | 'port' | 'ipcPath' | 'explorer' | 'wallet' | 'sponsor' | 'paymaster'>,
  keys: DevKeys,
  { version, data, latest, forkUrl }: BannerSettings,
  paint: Paint,
): string {
  const urls = urlsOf(server)
  return `
${paint.strong(`pocketchain ${version}`)}

${accountLines(keys, paint)}
${paint.strong('Chain')}
  id           ${node.chain.config.chainId}
  blocks       ${cadenceText(node.chain.cadence)}
${latestLine(node, latest, paint)}${originLines(node, forkUrl)}${dataLine(node, data)}
${paint.strong('Addresses')}
  HTTP         ${urls.http}
  WebSocket    ${urls.ws}
  public tier  ${urls.public}
  flashblocks  ${urls.flashblocks}
${server.ipcPath === null ? '' : `  IPC          ${server.ipcPath}\n`}  explorer     ${server.explorer?.link() ?? server.url}
${walletLines(node, server, paint)}${sponsorLines(server, paint)}
Listening on ${hostText(server.host)}:${server.port}
`
}

/** cast, forge and Ignition read the next nonce at `latest` before the promised block is sealed. */
function latestLine({ chain }: Pocketchain, latest: LatestState, paint: Paint): string {
  if (latest === 'promised' || chain.cadence.kind !== 'preconf') return ''
  return `  Foundry      npx pocketchain --latest promised ${paint.dim('# also Hardhat and ethers: latest includes promises')}\n`
}

/** A URL with a path or credentials may hold a key, so the command to fork the same block again has a variable in its place. */
function originLines({ chain, fork }: Pocketchain, forkUrl: readonly string[]): string {
  if (fork === null) return `  genesis      ${chain.genesis.hash}\n`
  const { url, chainId, blockNumber, blockHash } = fork
  const shown = forkUrl.length === 1 && (forkUrl[0] === url || forkUrl[0] === `${url}/`) ? url : '"$FORK_URL"'
  return `  fork         ${url}, chain ${chainId}
  fork block   ${blockNumber}, ${blockHash}
  same block   npx pocketchain --fork-url ${shown} --fork-block-number ${blockNumber} --fork-chain-id ${chainId}
`
}

function dataLine({ chain }: Pocketchain, data: string | null): string {
  return data === null ? '' : `  data         ${resolve(data)} (block ${chain.head.view.head.header.number})\n`
}

function walletLines(node: Pocketchain, { wallet: page }: Pick<Server, 'wallet'>, paint: Paint): string {
  if (page === null) return ''
  const { wallet } = node
  const stored = wallet.keyring.accounts.filter(({ source }) => source === 'keystore').map(({ address }) => address)
  const policy = wallet.approvals.policy === 'ask' ? '' : paint.dim(` (policy: ${wallet.approvals.policy} everything)`)
  return `  wallet       ${page.link()}${policy}\n${stored.map((address) => `    keystore   ${Address.checksum(address)}\n`).join('')}`
}

/** Includes the shell commands with which Node, and Chromium on Linux, trust the certificate. */
function sponsorLines({ url, sponsor, paymaster }: Pick<Server, 'url' | 'sponsor' | 'paymaster'>, paint: Paint): string {
  if (paymaster === null) return ''
  const download = `curl -so ca.pem ${url}/ca.pem`
  const ledger = sponsor === null ? '' : `    ledger     ${sponsor.link()}\n`
  return `  sponsor      ${paymaster.url}
${ledger}${paint.dim(`    Node       ${download} && export NODE_EXTRA_CA_CERTS=$PWD/ca.pem
    Chromium   ${download} && certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n pocketchain -i ca.pem`)}
`
}

function accountLines(keys: DevKeys, paint: Paint): string {
  if (keys.addresses.length === 0) return ''
  const balance = (i: number) => paint.dim(`${formatEther(keys.balances[i] ?? 0n)} ETH`)
  const addresses = keys.addresses.map((address, i) => `  (${i}) ${address}  ${balance(i)}`).join('\n')
  if (keys.secrets === null) {
    return `${paint.strong('Accounts')}\n${addresses}\n\n  Private keys are not shown for your own mnemonic.\n`
  }
  const privateKeys = keys.secrets.privateKeys.map((key, i) => `  (${i}) ${key}`).join('\n')
  const caution = keys.secrets.mnemonic === DEFAULT_MNEMONIC ? 'publicly known' : 'printed here only, not stored'
  return `${paint.strong('Accounts')}
${addresses}

${paint.strong('Private keys')} ${paint.dim(`(${caution}: never use them on a real chain)`)}
${privateKeys}

${paint.strong('Mnemonic')}
  ${keys.secrets.mnemonic}
  ${paint.dim(`path ${keys.path}/{index}`)}
`
}

function hostText(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

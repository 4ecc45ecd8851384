import { VERSION } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import type { Server } from '../server/index.ts'
import { banner, urlsOf } from './banner.ts'
import { writeConfig } from './configout.ts'
import type { DevKeys } from './devkeys.ts'
import { Journal, lineOf } from './journal.ts'
import type { Settings } from './options.ts'
import { isColoured, paint } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** What the first output is made of. */
export interface Greeting {
  readonly node: Pocketchain
  readonly server: Server
  readonly keys: DevKeys
  readonly settings: Settings
  readonly terminal: Terminal
}

/** Says that the node answers: a banner, one JSON line, or nothing. */
export async function greet({ node, server, keys, settings, terminal }: Greeting): Promise<void> {
  if (settings.configOut !== null) await writeConfig(settings.configOut, node, keys)
  const lost = recoveryLine(node)
  if (lost !== null) terminal.err(`pocketchain: ${lost}\n`)
  if (settings.json) return terminal.out(`${JSON.stringify(readyLine(node, server, keys))}\n`)
  if (!settings.quiet)
    terminal.out(banner(node, server, keys, { version: VERSION, data: settings.data }, paint(isColoured(settings, terminal))))
}

/** Writes what happens on the chain. Answers what ends it. */
export function follow(node: Pocketchain, settings: Settings, terminal: Terminal): () => void {
  if (settings.quiet) return () => undefined
  const journal = new Journal(settings.verbose)
  const colours = paint(isColoured(settings, terminal))
  return node.chain.head.subscribe((event) => {
    const entry = journal.entry(event, node.chain.cadence.kind)
    if (entry === null) return
    const time = new Date()
    terminal.out(
      settings.json ? `${JSON.stringify({ time: time.toISOString(), ...entry })}\n` : `${lineOf(entry, clockTime(time), colours)}\n`,
    )
  })
}

/** What became of promises that the last run did not live to keep; null: there were none. */
function recoveryLine({ chain: { recovered, head } }: Pocketchain): string | null {
  const { kept, retracted } = recovered
  const parts: string[] = []
  if (kept.length > 0) parts.push(`kept ${kept.length} promises of the last run, in block ${head.view.head.header.number}`)
  if (retracted.length > 0) parts.push(`had to take back ${retracted.length} promises of the last run: ${retracted.join(', ')}`)
  return parts.length === 0 ? null : parts.join('; ')
}

/** What a program that started the node needs, in one line. */
function readyLine(node: Pocketchain, server: Server, keys: DevKeys) {
  return {
    event: 'ready',
    version: VERSION,
    pid: process.pid,
    chainId: node.chain.config.chainId,
    cadence: node.chain.cadence,
    genesisHash: node.chain.genesis.hash,
    blockNumber: node.chain.head.view.head.header.number,
    recovered: node.chain.recovered,
    instanceId: node.chain.instanceId,
    host: server.host,
    port: server.port,
    urls: urlsOf(server),
    accounts: keys.addresses,
    privateKeys: keys.secrets?.privateKeys ?? [],
    mnemonic: keys.secrets?.mnemonic ?? null,
    derivationPath: keys.path,
    wallet: walletOf(server),
    sponsor: sponsorOf(server),
    paymaster: paymasterOf(server),
  }
}

/** Who gets the line may approve: the link lets one browser in, the token any program. */
function walletOf({ wallet }: Server) {
  return wallet === null ? null : { url: wallet.url, approvalUrl: wallet.link(), controlToken: wallet.controlToken }
}

/** The page that shows the sponsor and changes it. */
function sponsorOf({ sponsor }: Server) {
  return sponsor === null ? null : { url: sponsor.url, approvalUrl: sponsor.link(), controlToken: sponsor.controlToken }
}

/** `ca`: where the certificate is to be had that a client of `url` must trust. */
function paymasterOf({ url, paymaster }: Server) {
  return paymaster === null ? null : { ...paymaster, ca: `${url}/ca.pem` }
}

function clockTime(time: Date): string {
  return time.toISOString().slice(11, 23)
}

import { COMPAT } from '../compat.ts'
import { VERSION } from '../index.ts'
import type { Pocketchain } from '../index.ts'
import type { PageAccess, Server } from '../server/index.ts'
import { banner, urlsOf } from './banner.ts'
import { writeConfig } from './configout.ts'
import type { DevKeys } from './devkeys.ts'
import type { Settings } from './options.ts'
import { isColoured, paint } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Inputs of the first output. */
interface ReadyContext {
  readonly node: Pocketchain
  readonly server: Server
  readonly keys: DevKeys
  readonly settings: Settings
  readonly terminal: Terminal
  /** Prints a line on stderr. */
  readonly log: (line: string) => void
}

/** Prints that the node is ready: a banner, one JSON line, or nothing. */
export async function printReady({ node, server, keys, settings, terminal, log }: ReadyContext): Promise<void> {
  if (settings.configOut !== null) await writeConfig(settings.configOut, node, keys)
  const recovery = recoveryLine(node)
  if (recovery !== null) log(recovery)
  if (settings.json) return terminal.out(`${JSON.stringify(readyLine(node, server, keys))}\n`)
  if (settings.quiet) return
  const latest = settings.latest ?? COMPAT[settings.compat].latestState
  terminal.out(
    banner(
      node,
      server,
      keys,
      { version: VERSION, data: settings.data, latest, forkUrl: settings.forkUrl },
      paint(isColoured(settings, terminal)),
    ),
  )
}

/** Describes the promises that were open when the last run ended; null if there were none. */
function recoveryLine({ chain: { recovered, head } }: Pocketchain): string | null {
  const { kept, retracted } = recovered
  const parts: string[] = []
  if (kept.length > 0) parts.push(`kept ${kept.length} promises of the last run, in block ${head.view.head.header.number}`)
  if (retracted.length > 0) parts.push(`retracted ${retracted.length} promises of the last run: ${retracted.join(', ')}`)
  return parts.length === 0 ? null : parts.join('; ')
}

/** The first line of `--json`. */
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
    ...(node.fork === null ? {} : { fork: node.fork }),
    accounts: keys.addresses,
    privateKeys: keys.secrets?.privateKeys ?? [],
    mnemonic: keys.secrets?.mnemonic ?? null,
    derivationPath: keys.path,
    wallet: credentialsOf(server.wallet),
    sponsor: credentialsOf(server.sponsor),
    paymaster: server.paymaster === null ? null : { ...server.paymaster, ca: `${server.url}/ca.pem` },
  }
}

/** The reader of this line gets the control credential: the link for one browser, the token for programs. */
function credentialsOf(page: PageAccess | null) {
  return page === null ? null : { url: page.url, approvalUrl: page.link(), controlToken: page.controlToken }
}

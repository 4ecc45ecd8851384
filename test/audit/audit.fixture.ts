import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { AuditReport } from '../../src/audit/index.ts'
import type { End } from '../command.fixture.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** A process of `pocketchain audit`. */
export interface AuditProcess {
  readonly ended: Promise<End>
  /** resolves when its feed is chosen */
  readonly watching: Promise<void>
  /** Sends SIGINT. */
  readonly stop: () => Promise<End>
}

export function startAudit(...argv: readonly string[]): AuditProcess {
  const child = spawn(process.execPath, [COMMAND, 'audit', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.on('data', (data: Buffer) => (out += data.toString()))
  let begin = (): void => undefined
  const watching = new Promise<void>((resolve) => (begin = resolve))
  child.stderr.on('data', (data: Buffer) => {
    err += data.toString()
    if (err.includes('pocketchain: watching ')) begin()
  })
  const ended = new Promise<End>((resolve) => child.once('close', (code, signal) => resolve({ code, signal, out, err })))
  return {
    ended,
    watching,
    stop: () => {
      child.kill('SIGINT')
      return ended
    },
  }
}

/** The report of an ended audit with `--json`. Throws if it did not end with exit code 0. */
export function reportOf({ code, signal, out, err }: End): AuditReport {
  if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${err}`)
  return JSON.parse(out) as AuditReport // its output under --json
}

/** A TCP proxy that can cut all connections and refuse new ones, and refuses requests for some paths. */
export interface CuttableProxy extends AsyncDisposable {
  readonly port: number
  readonly cut: () => void
  readonly restore: () => void
}

export async function cuttableProxy(target: string, refusedPath: RegExp | null = null): Promise<CuttableProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((client) => {
    open.add(client.on('close', () => open.delete(client)).on('error', () => undefined))
    if (isCut) client.destroy()
    else client.once('data', (first: Buffer) => forward(client, first))
  })
  const forward = (client: Socket, first: Buffer): void => {
    const [line = ''] = first.toString('latin1').split('\r\n', 1)
    if (refusedPath?.test(line) === true) {
      client.destroy()
      return
    }
    const upstream = connect(Number(port), hostname)
    open.add(upstream.on('close', () => open.delete(upstream)).on('error', () => client.destroy()))
    upstream.write(first)
    client.pipe(upstream).pipe(client)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    isCut = true
    for (const socket of open) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    restore: () => (isCut = false),
    [Symbol.asyncDispose]: async () => {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

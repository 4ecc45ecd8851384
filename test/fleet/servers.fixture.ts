import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { natsServer, noServers, postgresFolder } from '../../scripts/servers.mjs'

/** In CI the servers are installed first, so a missing one fails there. */
export const NO_SERVERS = process.env['CI'] === undefined ? noServers() : null

/** A server of the tests, on a free port. */
export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** SIGKILL; resolves when the process is gone. */
  readonly kill: () => Promise<void>
  /** Starts it again after `kill`, on the same port with the same data. */
  readonly start: () => Promise<void>
  readonly pause: () => void
  readonly resume: () => void
}

interface Program {
  /** Address that it listens on. */
  readonly host: string
  readonly port: number
  readonly command: string
  readonly args: readonly string[]
  readonly owner?: { readonly uid: number; readonly gid: number } | null
}

class RunningServer {
  readonly #program: Program
  #process: ChildProcess | null = null
  #output = ''

  constructor(program: Program) {
    this.#program = program
  }

  async start(): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#start()
      } catch (error) {
        // The processes of a server that was killed may run for another moment.
        if (tries === STARTS || !/still in use|address already in use/i.test(this.#output)) throw error
        this.#output = ''
        await pause(10 * READY_MS)
      }
    }
  }

  async #start(): Promise<void> {
    const { command, args, owner = null, host, port } = this.#program
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...(owner ?? undefined) })
    this.#process = child
    RUNNING.add(child)
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (this.#output = (this.#output + text.toString()).slice(-OUTPUT)))
    child.once('exit', () => RUNNING.delete(child))
    for (let tries = 0; !(await answers(host, port)); tries++) {
      if (child.exitCode !== null || tries > READY_TRIES) throw new Error(`${command} does not start: ${this.#output}`)
      await pause(READY_MS)
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGCONT')
    child.kill(signal)
    await exited
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }
}

const LOOPBACK = '127.0.0.1'
const OUTPUT = 4_000
const READY_MS = 30
const READY_TRIES = 500
const STARTS = 5
/** Ended with the test process, however it ends. */
const RUNNING = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of RUNNING) child.kill('SIGKILL')
})

function pause(timeMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeMs))
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

export async function freePort(host = LOOPBACK): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo // of a TCP server
  await new Promise((resolve) => server.close(resolve))
  return port
}

interface NatsOptions {
  /** Address that it listens on. */
  readonly host?: string
  readonly jetStream?: boolean
  readonly auth?: { readonly user: string; readonly password: string }
  /** Lines of the server's configuration file. */
  readonly settings?: string
}

export async function startNats({ host = LOOPBACK, jetStream = true, auth, settings = '' }: NatsOptions = {}): Promise<
  TestServer & { readonly configure: (settings: string) => void; readonly loseData: () => void }
> {
  const port = await freePort(host)
  const folder = mkdtempSync(join(tmpdir(), 'nats-'))
  const data = join(folder, 'data')
  const file = join(folder, 'nats.conf')
  writeFileSync(file, settings)
  const args = [
    '-c',
    file,
    '-a',
    host,
    '-p',
    String(port),
    ...(jetStream ? ['-js', '-sd', data] : []),
    ...(auth === undefined ? [] : ['--user', auth.user, '--pass', auth.password]),
  ]
  const server = new RunningServer({ host, port, command: natsServer() ?? 'nats-server', args })
  await server.start()
  return {
    ...handle(server, port, `nats://${host}:${port}`, folder),
    /** From the next start. */
    configure: (changed) => writeFileSync(file, changed),
    loseData: () => rmSync(data, { recursive: true, force: true }),
  }
}

/** Three servers of one cluster, which keep a stream together, with clients at `host`. `url` lists all of them. */
export async function startNatsCluster(
  host = LOOPBACK,
): Promise<{ readonly url: string; readonly servers: readonly TestServer[] } & AsyncDisposable> {
  const names = ['a', 'b', 'c']
  const ports = await Promise.all(names.map(async () => [await freePort(host), await freePort()] as const))
  const routes = ports.map(([, route]) => `nats-route://127.0.0.1:${route}`).join(',')
  const servers = await Promise.all(
    names.map(async (name, index) => {
      const [port, route] = ports[index] ?? [0, 0]
      const folder = mkdtempSync(join(tmpdir(), 'nats-'))
      const cluster = ['--cluster_name', 'fleet', '--cluster', `nats://127.0.0.1:${route}`, '--routes', routes, '--no_advertise']
      const args = ['-a', host, '-p', String(port), '-n', name, '-js', '-sd', folder, ...cluster]
      const server = new RunningServer({ host, port, command: natsServer() ?? 'nats-server', args })
      await server.start()
      return handle(server, port, `nats://${host}:${port}`, folder)
    }),
  )
  return {
    url: servers.map(({ url }) => url).join(','),
    servers,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()))
    },
  }
}

/** An empty data folder, made once in a test process and copied. */
let template: string | null = null

interface PostgresOptions {
  /** Address that it listens on. */
  readonly host?: string
  /** Lines of pg_hba.conf, before those that trust everyone else. */
  readonly access?: readonly string[]
}

export async function startPostgres({ host = LOOPBACK, access = [] }: PostgresOptions = {}): Promise<
  TestServer & { readonly createDatabase: (name: string) => Promise<string> }
> {
  const port = await freePort(host)
  const bin = postgresFolder() ?? ''
  const owner = postgresOwner()
  template ??= initialised(bin, owner)
  const folder = ownFolder(owner)
  const data = join(folder, 'data')
  cpSync(template, data, { recursive: true })
  const rules = join(data, 'pg_hba.conf')
  writeFileSync(rules, [...access, `host all ${LOCKED} 127.0.0.1/32 scram-sha-256`, readFileSync(rules, 'utf8')].join('\n'))
  if (owner !== null) spawnSync('chown', ['-R', `${owner.uid}:${owner.gid}`, folder])
  const args = ['-D', data, '-p', String(port), '-c', `listen_addresses=${host}`, '-c', `unix_socket_directories=${folder}`]
  const server = new RunningServer({ host, port, command: join(bin, 'postgres'), args, owner })
  await server.start()
  const root = `postgres://postgres@${host}:${port}`
  return {
    ...handle(server, port, `${root}/postgres`, folder),
    createDatabase: async (name) => {
      await statement(`${root}/postgres`, `CREATE DATABASE ${name}`)
      return `${root}/${name}`
    },
  }
}

/** The one user whose password is checked. */
export const LOCKED = 'locked'

/** Runs a statement, also directly after the server's start, when it accepts connections but no queries. */
export async function statement(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  for (let tries = 0; ; tries++) {
    const client = new Client(url)
    try {
      await client.connect()
      return (await client.query<Record<string, unknown>>(text)).rows
    } catch (error) {
      if ((error as { code?: string }).code !== '57P03' || tries > READY_TRIES) throw error
      await pause(READY_MS)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}

/** postgres refuses to run as root. */
function postgresOwner(): { readonly uid: number; readonly gid: number } | null {
  if (process.getuid?.() !== 0) return null
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres']).stdout.toString().trim())
  return { uid: id('-u'), gid: id('-g') }
}

function ownFolder(owner: { readonly uid: number; readonly gid: number } | null): string {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  return folder
}

function initialised(bin: string, owner: { readonly uid: number; readonly gid: number } | null): string {
  const folder = ownFolder(owner)
  const data = join(folder, 'data')
  const made = spawnSync(join(bin, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync', '-E', 'UTF8', '--locale=C'], {
    ...(owner ?? undefined),
  })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr.toString()}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return data
}

function handle(server: RunningServer, port: number, url: string, folder: string): TestServer {
  if (!existsSync(folder)) mkdirSync(folder)
  return {
    url,
    port,
    kill: () => server.stop('SIGKILL'),
    start: () => server.start(),
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    [Symbol.asyncDispose]: async () => {
      await server.stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

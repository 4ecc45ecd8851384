import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

/** The packets that a cut drops: all, or those of one direction. A dropped packet is not answered, and no connection is reset. */
export type Direction = 'both' | 'sends' | 'receives'

/** A process's own network stack, with one link to the servers, which can be cut, and one to its clients. */
export interface Namespace extends Disposable {
  /** The words before a command that run it inside. */
  readonly prefix: readonly string[]
  /** Address that the servers see. */
  readonly address: string
  /** Address for its clients on this machine, which reach it also while it is cut off from the servers. */
  readonly host: string
  readonly cut: (direction: Direction) => void
  readonly mend: () => void
}

/** A private network of this machine, on which processes can be cut off from servers as on a real one. */
export interface TestNetwork extends Disposable {
  /** Address for the servers. */
  readonly host: string
  /** All addresses that processes reach the servers from. */
  readonly subnet: string
  readonly join: () => Namespace
}

/** Returns the reason why this process cannot make network namespaces, or null. Tries each kind of cut once. */
export function noNetwork(): string | null {
  try {
    using network = startNetwork()
    const { cut, mend } = network.join()
    for (const direction of ['both', 'sends', 'receives'] as const) {
      cut(direction)
      mend()
    }
    return null
  } catch (error) {
    return `no network namespaces (${error instanceof Error ? error.message : String(error)}); root and iproute2 are needed`
  }
}

/** Networks so far, of this process. */
let networks = 0

/** Makes two bridges: one for the servers, one for the clients of the processes in namespaces. Throws Error without root or `ip`. */
export function startNetwork(): TestNetwork {
  removeAbandoned()
  const prefix = freePrefix()
  const name = `${NAME}${process.pid.toString(36)}x${(networks++).toString(36)}`
  const serverBridge = `${name}s`
  const clientBridge = `${name}c`
  const namespaces = new Set<Namespace>()
  const remove = () => {
    for (const namespace of namespaces) namespace[Symbol.dispose]()
    for (const bridge of [serverBridge, clientBridge]) run(['link', 'del', bridge])
    process.off('exit', remove)
  }
  process.once('exit', remove)
  try {
    for (const [bridge, address] of [
      [serverBridge, `${prefix}.1/25`],
      [clientBridge, `${prefix}.129/25`],
    ] as const) {
      ip('link', 'add', bridge, 'type', 'bridge')
      ip('address', 'add', address, 'dev', bridge)
      ip('link', 'set', bridge, 'up')
    }
  } catch (error) {
    remove()
    throw error
  }
  let joined = 0
  return {
    host: `${prefix}.1`,
    subnet: `${prefix}.0/25`,
    join: () => {
      const index = joined++
      const namespace = `${name}n${index.toString(36)}`
      const link = (bridge: string, end: string, device: string, address: string) => {
        ip('link', 'add', end, 'type', 'veth', 'peer', 'name', device, 'netns', namespace)
        ip('link', 'set', end, 'master', bridge, 'up')
        ip('-n', namespace, 'address', 'add', `${address}/25`, 'dev', device)
        ip('-n', namespace, 'link', 'set', device, 'up')
      }
      const toServers = `${namespace}s`
      const address = `${prefix}.${2 + index}`
      const host = `${prefix}.${130 + index}`
      const port = (...settings: readonly string[]) => ip('link', 'set', toServers, 'type', 'bridge_slave', ...settings)
      const joining: Namespace = {
        prefix: ['ip', 'netns', 'exec', namespace],
        address,
        host,
        cut: (direction) => {
          if (direction === 'both') ip('link', 'set', toServers, 'down')
          else port(...ONE_WAY[direction])
        },
        mend: () => {
          ip('link', 'set', toServers, 'up')
          port(...WHOLE)
        },
        [Symbol.dispose]: () => {
          if (namespaces.delete(joining)) removeNamespace(namespace)
        },
      }
      namespaces.add(joining)
      ip('netns', 'add', namespace)
      ip('-n', namespace, 'link', 'set', 'lo', 'up')
      link(serverBridge, toServers, 'servers', address)
      link(clientBridge, `${namespace}c`, 'clients', host)
      return joining
    },
    [Symbol.dispose]: remove,
  }
}

/** Settings of a bridge's port. A bridge without an entry for an address drops the frames that it may not flood; a locked port drops frames from an unknown address. */
const ONE_WAY = {
  receives: ['learning', 'off', 'flood', 'off', 'mcast_flood', 'off', 'bcast_flood', 'off', 'fdb_flush'],
  sends: ['learning', 'off', 'locked', 'on', 'fdb_flush'],
} as const
const WHOLE = ['learning', 'on', 'flood', 'on', 'mcast_flood', 'on', 'bcast_flood', 'on', 'locked', 'off'] as const

/** The names contain the process id in base 36: `pc` PID `x` NETWORK, then `s`, `c`, or `n` INDEX. The kernel allows 15 characters. */
const NAME = 'pc'
const OURS = /^pc([0-9a-z]+)x[0-9a-z]+[sc]$/
const OUR_NAMESPACE = /^pc([0-9a-z]+)x[0-9a-z]+n[0-9a-z]+$/

/** Removes networks of processes that were killed. */
function removeAbandoned(): void {
  const abandoned = (pattern: RegExp, names: readonly string[]) =>
    names.filter((each) => {
      const pid = pattern.exec(each)?.[1]
      return pid !== undefined && !isAlive(parseInt(pid, 36))
    })
  for (const each of abandoned(OUR_NAMESPACE, namespacesNow())) removeNamespace(each)
  for (const each of abandoned(OURS, readdirSync('/sys/class/net'))) run(['link', 'del', each])
}

/** With the processes in it, which would keep it. */
function removeNamespace(name: string): void {
  for (const pid of run(['netns', 'pids', name]).stdout.split('\n')) {
    try {
      if (pid !== '') process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  run(['netns', 'del', name])
}

function namespacesNow(): readonly string[] {
  return run(['netns', 'list'])
    .stdout.split('\n')
    .map((line) => line.split(' ')[0] ?? '')
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}

/** Returns the first three numbers of 256 private addresses that no route of this machine covers. */
function freePrefix(): string {
  for (let tries = 0; tries < PREFIXES; tries++) {
    const number = (process.pid + tries * STEP) % PREFIXES
    const prefix = `10.${number >> 8}.${number & 255}`
    const covering = JSON.parse(ip('-j', 'route', 'show', 'match', `${prefix}.0/24`)) as readonly { readonly dst: string }[]
    const within = JSON.parse(ip('-j', 'route', 'show', 'root', `${prefix}.0/24`)) as readonly unknown[]
    if (within.length === 0 && covering.every(({ dst }) => dst === 'default')) return prefix
  }
  throw new Error('all private addresses in 10.0.0.0/8 are in use')
}

const PREFIXES = 2 ** 16
/** Prime: each prefix is tried once. */
const STEP = 7_919

/** Returns the output. Throws Error. */
function ip(...args: readonly string[]): string {
  const { status, stdout, message } = run(args)
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${message}`)
  return stdout
}

function run(args: readonly string[]): { readonly status: number | null; readonly stdout: string; readonly message: string } {
  const { status, stdout, stderr, error } = spawnSync('ip', args, { encoding: 'utf8' })
  return { status, stdout: stdout ?? '', message: error?.message ?? stderr.trim() }
}

import { chmodSync, lstatSync, unlinkSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { isAbsolute } from 'node:path'
import type { ServerDeps } from '../deps.ts'
import { DEDICATED_MESSAGE_BYTES, IPC_CONNECTIONS, SLOW_CLIENT_BYTES } from '../limits.ts'
import { RpcSession } from '../ws/rpcsession.ts'
import type { MessageSocket } from '../ws/rpcsession.ts'
import { JsonMessages } from './messages.ts'

/** JSON-RPC of the dedicated tier on a Unix socket, or a named pipe on Windows: texts one after the other, responses end with a line break. */
export class IpcServer {
  readonly path: string
  readonly #server: Server
  readonly #open: ReadonlySet<Socket>

  /** Throws Error if the path is in use, is not a socket, or cannot be restricted to its owner. */
  static async listen(given: string, deps: ServerDeps): Promise<IpcServer> {
    // Node takes a name of digits for a TCP port, open to the network. An absolute path could exceed the length of a socket's address.
    const path = isPipe(given) || isAbsolute(given) ? given : `./${given}`
    await removeStale(path)
    const open = new Set<Socket>()
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      new RpcSession(new IpcConnection(socket), socket, PROGRAM, deps, SLOW_CLIENT_BYTES)
    })
    server.maxConnections = IPC_CONNECTIONS
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ path }, () => {
        server.off('error', reject)
        resolve()
      })
    })
    try {
      if (!isPipe(path)) chmodSync(path, OWNER_ONLY)
    } catch (error) {
      server.close()
      throw error
    }
    server.on('error', deps.onError)
    return new IpcServer(path, server, open)
  }

  private constructor(path: string, server: Server, open: ReadonlySet<Socket>) {
    this.path = path
    this.#server = server
    this.#open = open
  }

  /** Removes the socket and ends the connections. Resolves when the clients have closed them too. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const socket of this.#open) socket.end()
    return closed
  }

  terminate(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

const PROGRAM = { tier: 'dedicated', session: null, origin: null } as const
const OWNER_ONLY = 0o600

function isPipe(path: string): boolean {
  return path.startsWith('\\\\.\\pipe\\')
}

/** Removes a socket that no process listens on. Throws Error for one that is in use, and for other files. */
async function removeStale(path: string): Promise<void> {
  const found = isPipe(path) ? undefined : lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) throw new Error('it exists and is no socket')
  if (await isAnswered(path)) throw new Error('another process listens on it')
  unlinkSync(path)
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** A socket with the interface of a WebSocket: a message is a JSON text. */
class IpcConnection implements MessageSocket {
  readonly OPEN = 1
  readonly #socket: Socket
  readonly #endListeners: (() => void)[] = []
  /** the error of bytes that are no JSON, which is sent last */
  #parseError = ''

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => socket.destroy())
  }

  get readyState(): number {
    return this.#socket.writable ? this.OPEN : 3
  }

  get bufferedAmount(): number {
    return this.#socket.writableLength
  }

  onMessage(listener: (message: Buffer) => void): void {
    const messages = new JsonMessages(DEDICATED_MESSAGE_BYTES, listener)
    this.#socket.on('data', (chunk) => {
      if (this.#parseError !== '') return
      try {
        messages.push(chunk)
      } catch (error) {
        const reason = { jsonrpc: '2.0', id: null, error: { code: -32_700, message: `parse error: ${(error as Error).message}` } } // RangeError or SyntaxError
        this.#parseError = `${JSON.stringify(reason)}\n`
        for (const end of this.#endListeners) end()
      }
    })
  }

  onClose(listener: () => void): void {
    this.#socket.on('close', listener)
  }

  /** Also called after bytes that are no JSON: the rest is not read. */
  onEnd(listener: () => void): void {
    this.#endListeners.push(listener)
    this.#socket.on('end', listener)
  }

  send(data: string | Uint8Array, { fin = true }: { readonly fin?: boolean }, onSent?: () => void): void {
    if (!this.#socket.writable) return onSent?.()
    this.#socket.write(data, fin ? undefined : onSent)
    if (fin) this.#socket.write('\n', onSent)
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    if (this.#socket.writable) this.#socket.end(this.#parseError)
  }

  terminate(): void {
    this.#socket.destroy()
  }
}

import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { NetConnectOpts } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IpcSocketProvider } from 'ethers'
import { createPublicClient } from 'viem'
import { ipc } from 'viem/node'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../index.ts'
import type { Pocketchain } from '../../index.ts'
import { JsonMessages } from './messages.ts'

let folder: string
let path: string
let node: Pocketchain

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-ipc-'))
  path = join(folder, 'node.ipc')
  node = await createPocketchain({ cadence: 'manual', wallet: false })
})

afterEach(async () => {
  await node.close()
  rmSync(folder, { recursive: true, force: true })
})

const listen = () => node.listen({ port: 0, ipc: path })

/** Sends chunks as they are and returns the lines of the responses until the connection ends or `count` came. */
function exchange(chunks: readonly string[], count: number): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(path)
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (text.split('\n').length > count) socket.end()
    })
    socket.on('close', () => resolve(text.split('\n').filter((line) => line !== '')))
    socket.on('error', reject)
    for (const chunk of chunks) socket.write(chunk)
  })
}

function isAnswered(address: NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

describe.skipIf(process.platform === 'win32')('JSON-RPC over a Unix socket', () => {
  it('serves viem and ethers, with subscriptions', async () => {
    const server = await listen()
    expect(server.ipcPath).toBe(path)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const client = createPublicClient({ transport: ipc(path) })
    expect(await client.getChainId()).toBe(31_337)
    const provider = new IpcSocketProvider(path)
    try {
      const heads: number[] = []
      await provider.on('block', (number: number) => heads.push(number))
      expect((await provider.getNetwork()).chainId).toBe(31_337n)
      for (let i = 0; i < 100 && heads.length === 0; i++) await provider.send('anvil_mine', []) // until the subscription is set up
      expect(heads[0]).toBeGreaterThan(0)
    } finally {
      provider.destroy()
    }
  })

  it('reads texts that arrive in parts or together, and batches', async () => {
    await listen()
    const one = '{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x5d5b7d7b22"]}'
    const other = '[{"jsonrpc":"2.0","id":2,"method":"eth_chainId"}]'
    const lines = await exchange([one.slice(0, 20), one.slice(20), `${other}\n ${one}`], 3)
    const answers = lines.map((line) => JSON.parse(line) as { id?: number }).toSorted((a, b) => (a.id ?? 9) - (b.id ?? 9))
    expect(answers).toMatchObject([{ id: 1 }, { id: 1 }, [{ id: 2, result: '0x7a69' }]])
  })

  it('answers what is no JSON object or array with a parse error, and closes', async () => {
    await listen()
    const lines = await exchange(['hello'], 9)
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ id: null, error: { code: -32_700 } }])
  })

  it('answers the requests before it first, also what is not ready at once', async () => {
    await listen()
    const waits = '{"jsonrpc":"2.0","id":2,"method":"eth_supportedEntryPoints"}'
    const lines = await exchange(
      [`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}${waits}x{"jsonrpc":"2.0","id":3,"method":"eth_chainId"}`, waits],
      9,
    )
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ id: 1 }),
      expect.objectContaining({ id: 2, result: expect.anything() }),
      expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32_700 }) }),
    ])
  })

  it('answers a client that has ended its side, also what is not ready at once', async () => {
    await listen()
    const lines = await new Promise<readonly string[]>((resolve, reject) => {
      let text = ''
      const socket = connect({ path, allowHalfOpen: true })
      socket.on('data', (chunk) => (text += chunk.toString()))
      socket.on('end', () => {
        socket.destroy()
        resolve(text.trim().split('\n'))
      })
      socket.on('error', reject)
      socket.end('{"jsonrpc":"2.0","id":1,"method":"anvil_dumpState"}{"jsonrpc":"2.0","id":2,"method":"eth_supportedEntryPoints"}')
    })
    expect(lines.map((line) => (JSON.parse(line) as { id: number; error?: unknown }).error)).toEqual([undefined, undefined])
  })

  it('ends although a client keeps its side open', async () => {
    const server = await listen()
    const socket = connect({ path, allowHalfOpen: true })
    await new Promise((resolve) => socket.on('connect', resolve))
    socket.resume()
    await server.close()
    expect(existsSync(path)).toBe(false)
    socket.destroy()
  })

  it('ends with the node, and removes the socket', async () => {
    const server = await listen()
    const socket = connect(path)
    const closed = new Promise((resolve) => socket.on('close', resolve).resume())
    await new Promise((resolve) => socket.on('connect', resolve))
    await server.close()
    await closed
    expect(existsSync(path)).toBe(false)
  })

  it('opens a socket, not a TCP port, for a path of digits', async () => {
    const before = process.cwd()
    process.chdir(folder)
    try {
      const server = await node.listen({ port: 0, ipc: '29555' })
      expect(statSync(join(folder, '29555')).mode & 0o777).toBe(0o600)
      expect(server.ipcPath).toBe('./29555')
      await expect(node.listen({ port: 0, ipc: '29555' })).rejects.toThrow('another process listens on it')
      expect(await isAnswered({ port: 29_555 })).toBe(false)
    } finally {
      process.chdir(before)
    }
  })

  it('leaves no listening socket if the path cannot be restricted to its owner', async () => {
    // The name is cut to the 107 bytes of a socket's address, so the path itself does not exist.
    const long = join(folder, 'x'.repeat(120))
    await expect(node.listen({ port: 0, ipc: long })).rejects.toThrow(`cannot listen on ${long}`)
    for (const name of readdirSync(folder)) expect(await isAnswered({ path: join(folder, name) })).toBe(false)
  })

  it('replaces the socket of a process that was killed, and refuses one in use and other files', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(path, resolve))
    await expect(listen()).rejects.toThrow(`cannot listen on ${path}: another process listens on it; choose another path with --ipc`)
    // A killed process leaves its socket: the handle is closed without unlinking.
    const stale = join(folder, 'stale.ipc')
    const { spawnSync } = await import('node:child_process')
    spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(stale)}, () => process.kill(process.pid, 'SIGKILL'))`,
    ])
    expect(existsSync(stale)).toBe(true)
    expect((await node.listen({ port: 0, ipc: stale })).ipcPath).toBe(stale)
    const file = join(folder, 'file')
    writeFileSync(file, '')
    await expect(node.listen({ port: 0, ipc: file })).rejects.toThrow('it exists and is no socket')
    expect(existsSync(file)).toBe(true)
    other.close()
  })
})

describe('JSON texts in a stream', () => {
  const found: string[] = []
  const messages = (limitBytes: number) => new JsonMessages(limitBytes, (text) => void found.push(text.toString()))
  beforeEach(() => void found.splice(0))

  it('are found byte by byte', () => {
    const texts = ['{"a":"}\\"]{"}', '[1,[2,{"b":"\\\\"}]]', '{}']
    const split = messages(1_000)
    for (const byte of Buffer.from(` ${texts.join(' \n')}\r\n`)) split.push(Uint8Array.of(byte))
    expect(found).toEqual(texts)
  })

  it('before a wrong byte or a text beyond the limit are passed on', () => {
    expect(() => messages(10).push(Buffer.from('{}[1]x'))).toThrow(SyntaxError)
    expect(() => messages(10).push(Buffer.from('{"a":1}{"xxxxxxxxx'))).toThrow(RangeError)
    expect(found).toEqual(['{}', '[1]', '{"a":1}'])
  })

  it('of any size take time in proportion', () => {
    const split = messages(64 * 2 ** 20)
    const chunk = Buffer.alloc(64 * 1024, 'x')
    split.push(Buffer.from('["'))
    for (let i = 0; i < 400; i++) split.push(chunk)
    split.push(Buffer.from('"]'))
    expect(found.map(({ length }) => length)).toEqual([400 * chunk.length + 4])
  })
})

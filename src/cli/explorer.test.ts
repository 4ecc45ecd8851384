import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createPocketchain } from '../index.ts'
import { finish, start } from './cli.fixture.ts'

describe('--explorer-of', () => {
  test('prints the address of the pages and the origin of the node, and no key of its URL', async () => {
    const node = await createPocketchain({ cadence: 'instant', onNote: () => {} })
    const { url } = await node.listen({ tlsFolder: null })
    const command = start(['--explorer-of', `${url}/?key=secret`, '--port', '0'])
    const listening = await command.waitForOutput(/Listening on 127\.0\.0\.1:\d+\n$/)
    const authority = listening.trim().replace('Listening on ', '')
    expect(command.out()).toBe(`\n  explorer     http://${authority}/ shows ${url}\n\nListening on ${authority}\n`)
    expect(command.err()).toBe('')
    expect((await fetch(`http://${authority}/address/0x${'1'.repeat(40)}`)).status).toBe(200)
    command.stop()
    expect(await command.exit).toBe(0)
    await expect(fetch(`http://${authority}/`)).rejects.toThrow('fetch failed')
    await node.close()
  })

  test('starts while the node is away, and says so', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const command = start(['--explorer-of', url, '--port', '0'])
    await command.waitForOutput(/Listening on/)
    expect(command.err()).toBe(`pocketchain: ${url} cannot be reached: ECONNREFUSED; the pages show it as soon as it answers\n`)
    command.stop()
    expect(await command.exit).toBe(0)
  })

  test.each(['http', 'wss'])('starts after two seconds if a node at %s accepts connections and is silent', async (scheme) => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo // listens on TCP
    const startMs = performance.now()
    const command = start(['--explorer-of', `${scheme}://127.0.0.1:${port}`, '--port', '0'])
    await command.waitForOutput(/Listening on/)
    expect(performance.now() - startMs).toBeLessThan(10_000)
    expect(command.err()).toContain('did not answer within 2000 ms; the pages show it as soon as it answers')
    command.stop()
    expect(await command.exit).toBe(0)
    silent.close()
  })

  test.each([
    ['ftp://127.0.0.1', 'expected a URL such as http://127.0.0.1:8545'],
    ['127.0.0.1:8545', 'expected a URL such as http://127.0.0.1:8545'],
    ['http://user:word@127.0.0.1:8545', 'holds a user name or password'],
    ['http://127.0.0.1:25', 'port 25 is reserved'],
  ])('refuses %s', async (url, message) => {
    const { code, err, out } = await finish(['--explorer-of', url, '--port', '0'])
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(message)
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listens on TCP
  server.close()
  await once(server, 'close')
  return port
}

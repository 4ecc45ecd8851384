import { createServer as createHttp } from 'node:http'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Outbound, guardedFetch } from './outbound.ts'
import type { OutboundOptions } from './outbound.ts'
import { OutboundError, checkedUrl } from './outboundtarget.ts'
import type { Reach } from './outboundtarget.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from './tls.fixture.ts'

const servers: Server[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

async function serve(listener: RequestListener, secure = false): Promise<number> {
  const server = secure ? createHttps({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }, listener) : createHttp(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const hello: RequestListener = (_, response) => response.end('hello')

/** A server that counts its connections. */
async function counted(secure = false): Promise<{ port: number; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const port = await serve((request, response) => {
    requests.push(request)
    response.end('hello')
  }, secure)
  return { port, requests }
}

async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  const error = await promise.then(
    () => 'it was answered',
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return (error as OutboundError).reason
}

const text = (body: Uint8Array): string => new TextDecoder().decode(body)

describe('urls that are not fetched', () => {
  const urlReason = (url: string, reach?: Reach): unknown => {
    try {
      checkedUrl(url, reach)
      return null
    } catch (error) {
      return (error as OutboundError).reason
    }
  }

  it.each([
    ['no url', 'url'],
    ['', 'url'],
    ['https://', 'url'],
    ['http://rpc.example', 'scheme'],
    ['ws://rpc.example', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['data:text/plain,x', 'scheme'],
    ['https://user@rpc.example', 'credentials'],
    ['https://:secret@rpc.example', 'credentials'],
    ['https://rpc.example:25', 'port'],
    ['https://rpc.example:6379', 'port'],
    ['https://127.0.0.1', 'forbidden'],
    ['https://127.1', 'forbidden'],
    ['https://2130706433', 'forbidden'],
    ['https://0x7f000001', 'forbidden'],
    ['https://0177.0.0.1', 'forbidden'],
    ['https://10.0.0.1', 'forbidden'],
    ['https://169.254.169.254/latest/meta-data', 'forbidden'],
    ['https://[::1]', 'forbidden'],
    ['https://[::ffff:169.254.169.254]', 'forbidden'],
    ['https://[fd00:ec2::254]', 'forbidden'],
    ['https://[64:ff9b::a00:1]', 'forbidden'],
  ])('%s: %s', (url, reason) => expect(urlReason(url)).toBe(reason))

  it('names of this computer are allowed with reach loopback, also over http; other names are rejected', () => {
    for (const url of [
      'http://127.0.0.1:8545',
      'http://localhost:8545',
      'http://app.localhost',
      'http://[::1]:8545',
      'https://127.0.0.2',
    ]) {
      expect(urlReason(url, 'loopback')).toBeNull()
    }
    expect(urlReason('http://10.0.0.1', 'loopback')).toBe('scheme')
    expect(urlReason('https://10.0.0.1', 'loopback')).toBe('forbidden')
    expect(urlReason('http://localhost.example', 'loopback')).toBe('scheme')
    expect(urlReason('http://127.0.0.1.example', 'loopback')).toBe('scheme')
    expect(urlReason('http://127.0.0.1:6379', 'loopback')).toBe('port')
  })

  it('an owner may use a computer of the local network', () => {
    expect(urlReason('http://10.0.0.1:8545', 'anywhere')).toBeNull()
    expect(urlReason('ftp://10.0.0.1', 'anywhere')).toBe('scheme')
    expect(urlReason('http://user@10.0.0.1', 'anywhere')).toBe('credentials')
  })
})

describe('names', () => {
  it.each([['127.0.0.1'], ['10.0.0.1'], ['::1'], ['fe80::1%eth0'], ['::ffff:127.0.0.1'], ['169.254.169.254']])(
    'that lead to %s are rejected before anything is sent',
    async (address) => {
      const { port, requests } = await counted(true)
      const fetched = guardedFetch(`https://rpc.example:${port}`, { lookup: async () => [address], ca: TEST_CERTIFICATE })
      expect(await reasonOf(fetched)).toBe('forbidden')
      expect(requests).toHaveLength(0)
    },
  )

  it('with public and loopback addresses are rejected', async () => {
    const { port, requests } = await counted(true)
    const fetched = guardedFetch(`https://rpc.example:${port}`, { lookup: async () => ['1.1.1.1', '127.0.0.1'], ca: TEST_CERTIFICATE })
    expect(await reasonOf(fetched)).toBe('forbidden')
    expect(requests).toHaveLength(0)
  })

  it('of this computer with other addresses are rejected', async () => {
    const fetched = guardedFetch('http://app.localhost:1234', { reach: 'loopback', lookup: async () => ['1.1.1.1'] })
    expect(await reasonOf(fetched)).toBe('forbidden')
  })

  it('are resolved once: the connection goes to the checked address', async () => {
    const { port, requests } = await counted(true)
    const looked: string[] = []
    const lookup = async (name: string): Promise<readonly string[]> => {
      looked.push(name)
      return looked.length === 1 ? ['127.0.0.1'] : ['192.0.2.1']
    }
    const reply = await guardedFetch(`https://node.localhost:${port}/path?key=1`, { reach: 'loopback', lookup, ca: TEST_CERTIFICATE })
    expect(text(reply.body)).toBe('hello')
    expect(looked).toEqual(['node.localhost'])
    expect(requests[0]?.headers.host).toBe(`node.localhost:${port}`)
    expect(requests[0]?.url).toBe('/path?key=1')
  })

  it('without a valid address are unreachable', async () => {
    expect(await reasonOf(guardedFetch('https://rpc.example', { lookup: async () => [] }))).toBe('unreachable')
    expect(await reasonOf(guardedFetch('https://rpc.example', { lookup: async () => ['rpc.example'] }))).toBe('unreachable')
    expect(await reasonOf(guardedFetch('https://rpc.example', { lookup: () => Promise.reject(new Error('ENOTFOUND')) }))).toBe(
      'unreachable',
    )
  })

  it('below localhost need no resolver', async () => {
    const { port } = await counted()
    const reply = await guardedFetch(`http://any.name.localhost:${port}`, { reach: 'loopback' })
    expect(text(reply.body)).toBe('hello')
  })
})

describe('replies', () => {
  it('are returned with any status', async () => {
    const port = await serve((_, response) => response.writeHead(503).end('busy'))
    const reply = await guardedFetch(`http://127.0.0.1:${port}`, { reach: 'loopback' })
    expect(reply.status).toBe(503)
    expect(text(reply.body)).toBe('busy')
  })

  it.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed', async (status) => {
    const { port: other, requests } = await counted()
    const port = await serve((_, response) => response.writeHead(status, { location: `http://127.0.0.1:${other}` }).end())
    expect(await reasonOf(guardedFetch(`http://127.0.0.1:${port}`, { reach: 'loopback' }))).toBe('redirect')
    expect(requests).toHaveLength(0)
  })

  it('that are too long are aborted, with and without a content-length', async () => {
    const port = await serve((_, response) => {
      response.write('x'.repeat(600))
      response.end('x'.repeat(600))
    })
    const url = `http://127.0.0.1:${port}`
    expect(await reasonOf(guardedFetch(url, { reach: 'loopback', maxReplyBytes: 1_000 }))).toBe('too-large')
    expect((await guardedFetch(url, { reach: 'loopback', maxReplyBytes: 1_200 })).body).toHaveLength(1_200)
  })

  it('that never begin, never end or trickle are aborted in time', async () => {
    const silent = await serve(() => {})
    const endless = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(timer))
    })
    for (const port of [silent, endless]) {
      expect(await reasonOf(guardedFetch(`http://127.0.0.1:${port}`, { reach: 'loopback', timeoutMs: 60 }))).toBe('timeout')
    }
  })

  it('are not awaited when the resolver never answers', async () => {
    expect(await reasonOf(guardedFetch('https://rpc.example', { lookup: () => new Promise(() => {}), timeoutMs: 40 }))).toBe('timeout')
  })

  it('that are cut off are errors', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half', () => response.destroy())
    })
    expect(await reasonOf(guardedFetch(`http://127.0.0.1:${port}`, { reach: 'loopback' }))).toBe('unreachable')
  })

  it('a refused connection and an untrusted certificate are named, without the path of the url', async () => {
    const port = await serve(hello, true)
    const untrusted = guardedFetch(`https://localhost:${port}/secret-key`, { reach: 'loopback' })
    await expect(untrusted).rejects.toThrow(`https://localhost:${port} cannot be reached: DEPTH_ZERO_SELF_SIGNED_CERT`)
    const [server] = servers.splice(0)
    await new Promise((resolve) => server?.close(resolve))
    const closed = guardedFetch(`http://localhost:${port}/secret-key`, { reach: 'loopback' })
    await expect(closed).rejects.toThrow(`http://localhost:${port} cannot be reached: ECONNREFUSED`)
  })
})

describe('an error', () => {
  const thrown = async (url: string, options: OutboundOptions = {}): Promise<OutboundError> => {
    const error: unknown = await guardedFetch(url, { reach: 'loopback', timeoutMs: 1_500, ...options }).then(
      () => new Error('it was answered'),
      (refused: unknown) => refused,
    )
    if (error instanceof OutboundError) return error
    throw error
  }

  it('before the server was reached differs from a later one', async () => {
    const secure = await serve(hello, true)
    const plain = await serve(hello)
    const silent = await serve(() => {})
    const broken = await serve((_, response) => response.destroy())
    const never = new Promise<never>(() => {})
    const before = [
      thrown(`https://localhost:${secure}`),
      thrown(`https://localhost:${plain}`),
      thrown('https://rpc.example', { lookup: () => never }),
      thrown('https://rpc.example', { lookup: async () => ['10.0.0.1'] }),
    ]
    const after = [
      thrown(`http://127.0.0.1:${silent}`),
      thrown(`http://127.0.0.1:${broken}`),
      thrown(`http://127.0.0.1:${plain}`, { maxReplyBytes: 1 }),
      // In a browser it is unknown whether the server was reached.
      thrown(`http://127.0.0.1:${silent}`, { fetch: globalThis.fetch }),
    ]
    expect((await Promise.all(before)).map(({ isConnected }) => isConnected)).toEqual(before.map(() => false))
    expect((await Promise.all(after)).map(({ isConnected }) => isConnected)).toEqual(after.map(() => true))
  })

  it('on a kept connection comes after the server was reached', async () => {
    let isSilent = false
    const port = await serve((_, response) => void (isSilent || response.end('hello')))
    const outbound = new Outbound({ reach: 'loopback', connections: 1 })
    await outbound.fetch(`http://127.0.0.1:${port}`)
    isSilent = true
    const late = outbound.fetch(`http://127.0.0.1:${port}`, { timeoutMs: 60 })
    await expect(late).rejects.toMatchObject({ reason: 'timeout', isConnected: true, message: expect.stringContaining('60 ms') as string })
  })
})

describe('requests', () => {
  it('send body and headers without cookies or credentials', async () => {
    const seen: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[] = []
    const port = await serve((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
      request.on('end', () => {
        seen.push({ method: request.method, headers: request.headers, body })
        response.writeHead(200, { 'set-cookie': 'a=1' }).end()
      })
    })
    const outbound = new Outbound({ reach: 'loopback', connections: 1 })
    const send = () =>
      outbound.fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"é":1}' })
    await send()
    await send()
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"é":1}'],
      ['POST', '{"é":1}'],
    ])
    expect(seen[1]?.headers['content-length']).toBe('8')
    expect(seen[1]?.headers.cookie).toBeUndefined()
    expect(seen[1]?.headers.origin).toBeUndefined()
  })

  it('end with the reason of their signal', async () => {
    const controller = new AbortController()
    const port = await serve(() => controller.abort(new Error('the app has gone')))
    const fetched = guardedFetch(`http://127.0.0.1:${port}`, { reach: 'loopback', signal: controller.signal })
    await expect(fetched).rejects.toThrow('the app has gone')
  })

  it('use a kept connection again, and a new one when the server has closed it', async () => {
    const sockets = new Set<unknown>()
    const port = await serve((request, response) => {
      sockets.add(request.socket)
      response.end('hello')
    })
    const outbound = new Outbound({ reach: 'loopback', connections: 2 })
    for (let i = 0; i < 5; i++) await outbound.fetch(`http://127.0.0.1:${port}`)
    expect(sockets.size).toBe(1)
    servers[0]?.closeAllConnections()
    const reply = await outbound.fetch(`http://127.0.0.1:${port}`)
    expect(text(reply.body)).toBe('hello')
    expect(sockets.size).toBe(2)
  })

  it('are sent again when a kept connection ends, but not after the start of a reply', async () => {
    const urls: unknown[] = []
    const ended = new Set<unknown>()
    const port = await serve((request, response) => {
      urls.push(request.url)
      const isKept = ended.has(request.socket)
      ended.add(request.socket)
      if (request.url === '/plain' || !isKept) response.end('hello')
      else if (request.url === '/cut') request.socket.destroy()
      else response.writeHead(200, { 'content-length': '100' }).write('half', () => request.socket.destroy())
    })
    const outbound = new Outbound({ reach: 'loopback', connections: 1 })
    const get = (path: string) => outbound.fetch(`http://127.0.0.1:${port}${path}`)
    await get('/plain')
    expect(text((await get('/cut')).body)).toBe('hello')
    expect(await reasonOf(get('/half'))).toBe('unreachable')
    expect(urls).toEqual(['/plain', '/cut', '/cut', '/half'])
  })
})

describe('without name resolution (a browser), or with a proxy of the owner', () => {
  const fetched = (options: OutboundOptions = {}): OutboundOptions => ({ reach: 'loopback', fetch: globalThis.fetch, ...options })

  it('the checks of the url hold, and so do the limits', async () => {
    const port = await serve((_, response) => response.end('x'.repeat(100)))
    const url = `http://127.0.0.1:${port}`
    expect((await guardedFetch(url, fetched())).body).toHaveLength(100)
    expect(await reasonOf(guardedFetch(url, fetched({ maxReplyBytes: 99 })))).toBe('too-large')
    expect(await reasonOf(guardedFetch(url, { fetch: globalThis.fetch }))).toBe('scheme')
    expect(await reasonOf(guardedFetch('https://10.0.0.1', fetched()))).toBe('forbidden')
  })

  it('redirects are not followed and the time limit applies', async () => {
    const { port: other, requests } = await counted()
    const away = await serve((_, response) => response.writeHead(302, { location: `http://127.0.0.1:${other}` }).end())
    const silent = await serve(() => {})
    expect(await reasonOf(guardedFetch(`http://127.0.0.1:${away}`, fetched()))).toBe('redirect')
    expect(requests).toHaveLength(0)
    expect(await reasonOf(guardedFetch(`http://127.0.0.1:${silent}`, fetched({ timeoutMs: 60 })))).toBe('timeout')
  })
})

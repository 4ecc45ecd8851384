import { describe, expect, test } from 'vitest'
import { setUp } from './bench.fixture.ts'

describe('the URLs of a server', () => {
  test.each([
    ['localhost', ['127.0.0.1', '[::1]']],
    ['0.0.0.0', ['127.0.0.1']],
    ['127.0.0.1', ['127.0.0.1']],
  ])('--host %s gives addresses that accept connections', async (host, names) => {
    await using bench = await setUp({ host })
    const { server } = bench
    const { hostname, port } = new URL(server.url)
    expect([server.host, port]).toEqual([host, String(server.port)])
    expect(names).toContain(hostname)
    const link = new URL(server.wallet?.link() ?? '')
    expect(link.host).toBe(new URL(server.url).host)
    const response = await fetch(link, { redirect: 'manual', headers: { origin: server.url } })
    expect([response.status, response.headers.get('location')]).toEqual([303, '/wallet'])
  })
})

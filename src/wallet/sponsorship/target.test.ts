import { describe, expect, it } from 'vitest'
import { RpcError } from '../../jsonrpc/index.ts'
import { URL_CHARS } from '../limits.ts'
import { candidateUrls, sponsorTarget } from './target.ts'
import type { SponsorSettings } from './target.ts'

const PLAIN: SponsorSettings = { sponsor: null, allowHttpLoopback: false }
const EMBEDDED: SponsorSettings = {
  sponsor: { origins: () => ['https://127.0.0.1:8545', 'http://127.0.0.1:8545'], ca: () => 'its certificate' },
  allowHttpLoopback: false,
}
const LOOPBACK: SponsorSettings = { sponsor: null, allowHttpLoopback: true }

function refusalOf(url: string, settings: SponsorSettings): RpcError | null {
  try {
    sponsorTarget(url, settings)
    return null
  } catch (error) {
    if (error instanceof RpcError) return error
    throw error
  }
}

describe('the candidate urls of a service', () => {
  it.each([
    // services in use
    ['https://api.developer.coinbase.com/rpc/v1/base/KEY', ['/rpc/v1/base/KEY', '/rpc/v1/base/KEY/rpc']],
    ['https://api.pimlico.io/v2/8453/rpc?apikey=KEY', ['/v2/8453/rpc?apikey=KEY']],
    ['https://paymaster.base.org', ['/rpc', '/']],
    ['https://app.example/api/paymaster', ['/api/paymaster', '/api/paymaster/rpc']],
    ['https://127.0.0.1:8545/paymaster/rpc', ['/paymaster/rpc']],
    // slashes, query and fragment
    ['https://s.example/', ['/rpc', '/']],
    ['https://s.example//', ['/rpc', '//']],
    ['https://s.example/?apikey=KEY', ['/rpc?apikey=KEY', '/?apikey=KEY']],
    ['https://s.example?apikey=KEY', ['/rpc?apikey=KEY', '/?apikey=KEY']],
    ['https://s.example/rpc', ['/rpc']],
    ['https://s.example/rpc/', ['/rpc/']],
    ['https://s.example/v1/', ['/v1/', '/v1/rpc']],
    ['https://s.example/xrpc', ['/xrpc', '/xrpc/rpc']],
    ['https://s.example/RPC', ['/RPC', '/RPC/rpc']],
    ['https://s.example/rpc/KEY?a=1&b=/rpc', ['/rpc/KEY?a=1&b=/rpc', '/rpc/KEY/rpc?a=1&b=/rpc']],
    ['https://s.example/a%2Frpc', ['/a%2Frpc', '/a%2Frpc/rpc']],
    ['https://s.example/v1#part', ['/v1', '/v1/rpc']],
  ])('%s', (url, paths) => {
    const { origin } = new URL(url)
    expect(candidateUrls(url)).toEqual(paths.map((path) => origin + path))
    expect(candidateUrls(url).length).toBeLessThanOrEqual(2)
  })
})

describe('a forbidden url', () => {
  it.each([
    ['', 'url'],
    ['sponsor', 'url'],
    ['https://', 'url'],
    [`https://s.example/${'x'.repeat(URL_CHARS)}`, 'url'],
    ['http://s.example', 'scheme'],
    ['ftp://s.example', 'scheme'],
    ['data:application/json,{}', 'scheme'],
    ['file:///etc/passwd', 'scheme'],
    ['https://user:KEY@s.example', 'credentials'],
    ['https://s.example:6379/KEY', 'port'],
    ['https://127.0.0.1/KEY', 'forbidden'],
    ['https://127.1/KEY', 'forbidden'],
    ['https://[::1]/KEY', 'forbidden'],
    ['https://10.0.0.1/KEY', 'forbidden'],
    ['https://192.168.1.1/KEY', 'forbidden'],
    ['https://169.254.169.254/KEY', 'forbidden'],
    ['https://[::ffff:127.0.0.1]/KEY', 'forbidden'],
  ])('%s is 4200 (%s), without its path in the error', (url, reason) => {
    const refusal = refusalOf(url, PLAIN)
    expect(refusal).toMatchObject({ code: 4200, message: 'Invalid paymaster URL', data: { reason, detail: expect.any(String) } })
    expect(JSON.stringify(refusal?.data)).not.toContain('KEY')
  })

  it('has the option for loopback sponsors in its error', () => {
    for (const url of ['http://127.0.0.1:3000', 'https://127.0.0.1:3000'])
      expect(refusalOf(url, PLAIN)?.data).toMatchObject({ detail: expect.stringContaining('allowHttpLoopback') })
  })
})

describe('the embedded sponsor', () => {
  it('has exactly its own origins', () => {
    expect(sponsorTarget('https://127.0.0.1:8545/paymaster', EMBEDDED)).toMatchObject({ reach: 'embedded', host: '127.0.0.1:8545' })
    for (const other of [
      'https://127.0.0.1:8546/paymaster',
      'https://127.0.0.1/paymaster',
      'https://127.0.0.2:8545/paymaster',
      'https://[::1]:8545/paymaster',
    ])
      expect(refusalOf(other, EMBEDDED), other).toMatchObject({ code: 4200, data: { reason: 'forbidden' } })
    // Names are checked when they are resolved, so they do not reach loopback.
    for (const name of ['https://localhost:8545', 'https://sponsor.localhost:8545', 'https://127.0.0.1.nip.io:8545'])
      expect(sponsorTarget(name, EMBEDDED).reach, name).toBe('public')
  })

  it('is reached by https only, as any other one', () => {
    expect(refusalOf('http://127.0.0.1:8545/paymaster', EMBEDDED)).toMatchObject({ code: 4200, data: { reason: 'scheme' } })
  })

  it('may move: its origins are read for each request', () => {
    let port = 1
    const settings: SponsorSettings = { ...PLAIN, sponsor: { origins: () => [`https://127.0.0.1:${port}`], ca: () => '' } }
    expect(refusalOf('https://127.0.0.1:8545', settings)).toMatchObject({ code: 4200 })
    port = 8545
    expect(sponsorTarget('https://127.0.0.1:8545', settings).reach).toBe('embedded')
  })
})

describe('allowHttpLoopback', () => {
  it('allows loopback names by http and https, and nothing else', () => {
    for (const url of ['http://127.0.0.1:3000', 'http://localhost:3000/api', 'http://sponsor.localhost:3000', 'https://[::1]:3000'])
      expect(sponsorTarget(url, LOOPBACK).reach, url).toBe('loopback')
    expect(sponsorTarget('https://s.example', LOOPBACK).reach).toBe('public')
    expect(refusalOf('http://s.example', LOOPBACK)).toMatchObject({ code: 4200, data: { reason: 'scheme' } })
    expect(refusalOf('http://10.0.0.1:3000', LOOPBACK)).toMatchObject({ code: 4200 })
    expect(refusalOf('https://10.0.0.1:3000', LOOPBACK)).toMatchObject({ code: 4200, data: { reason: 'forbidden' } })
    expect(refusalOf('http://localhost.example', LOOPBACK)).toMatchObject({ code: 4200, data: { reason: 'scheme' } })
    expect(refusalOf('http://127.0.0.1:6379', LOOPBACK)).toMatchObject({ code: 4200, data: { reason: 'port' } })
  })
})

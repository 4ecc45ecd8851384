import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createPocketchain } from '../../index.ts'
import { CODE, RpcError } from '../errors.ts'
import { OutboundError } from './outboundtarget.ts'
import { createRemoteRpc } from './http.ts'

const ending: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of ending.splice(0)) await end()
})

/** Responds to every request with the same status and body; `$id` in it becomes the id of the request. */
async function answering(body: string, status = 200): Promise<string> {
  const server: Server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece))
    request.on('end', () => response.writeHead(status).end(body.replace('$id', String((JSON.parse(text) as { id: number }).id))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ending.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/key`
}

async function refusal(promise: Promise<unknown>): Promise<RpcError> {
  const error = await promise.then(
    (value) => expect.fail(`answered ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(RpcError)
  return error as RpcError
}

describe('with a pocketchain node', () => {
  async function node(): Promise<ReturnType<typeof createRemoteRpc>> {
    const chain = await createPocketchain({ cadence: 'instant' })
    const server = await chain.listen({ port: 0 })
    ending.push(() => chain.close())
    return createRemoteRpc(server.url)
  }

  it('returns the results and errors of the node', async () => {
    const rpc = await node()
    expect(await rpc.request({ method: 'eth_chainId' })).toBe('0x7a69')
    const error = await refusal(rpc.request({ method: 'eth_getBalance', params: ['0x12', 'latest'] }))
    expect(error.code).toBe(CODE.invalidParams)
    expect(error.message).toContain('argument 0 (address)')
    expect((await refusal(rpc.request({ method: 'eth_nothing' }))).code).toBe(CODE.methodNotFound)
  })

  it('matches replies of concurrent requests to their callers', async () => {
    const rpc = await node()
    const numbers = Array.from({ length: 60 }, (_, i) => i)
    const hashes = await Promise.all(
      numbers.map((i) => rpc.request({ method: 'web3_sha3', params: [`0x${i.toString(16).padStart(2, '0')}`] })),
    )
    const again = await Promise.all(
      numbers.map((i) => rpc.request({ method: 'web3_sha3', params: [`0x${i.toString(16).padStart(2, '0')}`] })),
    )
    expect(new Set(hashes).size).toBe(60)
    expect(again).toEqual(hashes)
  })

  it('rejects subscriptions over HTTP', async () => {
    const error = await refusal((await node()).subscribe(['newHeads'], () => {}))
    expect(error.code).toBe(CODE.methodNotFound)
  })
})

describe('with a foreign node', () => {
  const reply = async (body: string, status = 200): Promise<unknown> =>
    createRemoteRpc(await answering(body, status)).request({ method: 'eth_call' })

  it('code, message and data of an error are passed on, with any HTTP status', async () => {
    const error = await refusal(
      reply('{"jsonrpc":"2.0","id":$id,"error":{"code":3,"message":"execution reverted","data":"0x08c379a0"}}', 500),
    )
    expect([error.code, error.message, error.data]).toEqual([3, 'execution reverted', '0x08c379a0'])
    const bare = await refusal(reply('{"jsonrpc":"2.0","id":null,"error":{"code":-32005}}', 429))
    expect([bare.code, bare.message, bare.data]).toEqual([-32005, 'error -32005', undefined])
  })

  it('a result may be null, and an error may be null beside it', async () => {
    expect(await reply('{"jsonrpc":"2.0","id":$id,"result":null,"error":null}')).toBeNull()
  })

  it.each([
    ['<html>', 200],
    ['', 200],
    ['[]', 200],
    ['"0x1"', 200],
    ['{"jsonrpc":"2.0","id":$id}', 200],
    ['{"jsonrpc":"2.0","id":$id,"result":"0x1"}', 502],
    ['{"jsonrpc":"2.0","id":999,"result":"0x1"}', 200],
    ['{"jsonrpc":"2.0","id":$id,"error":"no"}', 200],
    ['{"jsonrpc":"2.0","id":$id,"error":{"code":"1","message":"no"}}', 200],
    ['not found', 404],
  ])('%s with HTTP %i is no answer', async (body, status) => {
    const error = await refusal(reply(body, status))
    expect(error.code).toBe(CODE.server)
    expect(error.data).toEqual({ reason: 'malformed', status })
    expect(error.message).toMatch(/^the node at http:\/\/127\.0\.0\.1:\d+ answered HTTP \d+ /)
    expect(error.message).not.toContain('/key')
  })

  it('an unreachable node is an error with the reason', async () => {
    const url = await answering('')
    await ending.splice(0)[0]?.()
    const error = await refusal(createRemoteRpc(url).request({ method: 'eth_chainId' }))
    expect([error.code, error.data]).toEqual([CODE.server, { reason: 'unreachable' }])
    expect(error.message).not.toContain('/key')
  })

  it('a name with a private address is not requested', async () => {
    const rpc = createRemoteRpc('https://rpc.example', { lookup: async () => ['10.0.0.7'] })
    expect((await refusal(rpc.request({ method: 'eth_chainId' }))).data).toEqual({ reason: 'forbidden' })
  })

  it('a forbidden url is rejected before any request', () => {
    expect(() => createRemoteRpc('http://rpc.example')).toThrow(OutboundError)
    expect(() => createRemoteRpc('https://169.254.169.254')).toThrow(OutboundError)
    expect(() => createRemoteRpc('http://10.0.0.1', { reach: 'anywhere' })).not.toThrow()
  })
})

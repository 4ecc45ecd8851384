import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import { post } from '../node.fixture.ts'
import { BOB, ForkedChain, LEDGER, deploy, quantity, send, withoutProgress, word } from './upstream.fixture.ts'

const SMALL = ['--port', '0', '--cadence', 'instant', '--no-sponsor', '--no-bundler', '--no-wallet', '--no-storage-caching']

let chain: ForkedChain
let folder = ''
beforeEach(async () => {
  chain = await ForkedChain.start()
  folder = mkdtempSync(join(tmpdir(), 'pocketchain-fork-'))
  await send(chain.upstream, { to: BOB, value: '0x1' })
})
afterEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  await chain[Symbol.asyncDispose]()
})

const LISTENING = /Listening on 127\.0\.0\.1:(\d+)\n/
const portOf = (out: string): string => `http://127.0.0.1:${LISTENING.exec(out)?.[1]}`

describe('the command with --fork-url', () => {
  it('names the fork in its banner, with a command for the same block', async () => {
    const command = start(['--fork-url', chain.proxy.url, '--fork-block-number', '1', ...SMALL])
    await command.waitForOutput(LISTENING)
    const { hash } = (await chain.upstream.ask('eth_getBlockByNumber', '0x1', false)) as { hash: string }
    expect(command.out()).toContain(`  fork         ${chain.proxy.url}, chain 31337\n  fork block   1, ${hash}\n`)
    expect(command.out()).toContain(
      `  same block   npx pocketchain --fork-url ${chain.proxy.url} --fork-block-number 1 --fork-chain-id 31337\n\nAddresses\n`,
    )
    expect(command.out()).not.toContain('genesis')
    command.stop()
    expect(await command.exit).toBe(0)
    expect(withoutProgress(command.err())).toBe('')
  })

  it('shows neither the path of the URL nor its credentials', async () => {
    const url = new URL('/v2/secret-key', chain.proxy.url)
    url.password = 'secret-word'
    const command = start(['--fork-url', url.href, ...SMALL])
    await command.waitForOutput(LISTENING)
    expect(command.out()).toContain(`  fork         ${chain.proxy.url}, chain 31337\n`)
    expect(command.out()).toContain('npx pocketchain --fork-url "$FORK_URL" --fork-block-number ')
    command.stop()
    await command.exit
    const json = start(['--fork-url', url.href, '--json', ...SMALL])
    expect(JSON.parse(await json.waitForOutput(/^.*\n/))).toMatchObject({ event: 'ready', fork: { url: chain.proxy.url, chainId: 31_337 } })
    json.stop()
    await json.exit
    expect(command.out() + command.err() + json.out() + json.err()).not.toContain('secret')
  })

  it('ends with 0 if it is stopped while upstream does not respond', async () => {
    let request: () => void = () => undefined
    const requested = new Promise<void>((resolve) => (request = resolve))
    const silent = createServer(() => request()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const command = start(['--fork-url', `http://127.0.0.1:${port}`, ...SMALL])
    await requested
    const stoppedMs = performance.now()
    command.stop()
    expect([await command.exit, command.out(), withoutProgress(command.err())]).toEqual([0, '', ''])
    expect(performance.now() - stoppedMs).toBeLessThan(3_000) // one attempt takes longer
    silent.close()
  })

  it('prints a line about a start that takes longer than a second', async () => {
    chain.proxy.delayMs = 500
    const command = start(['--fork-url', chain.proxy.url, ...SMALL])
    await command.waitForOutput(LISTENING)
    expect(command.err()).toContain('pocketchain: Warning: forking: ')
    expect(withoutProgress(command.err())).toBe('')
    command.stop()
    await command.exit
  })

  it.each([
    ['--data', 'chain', 'the directory keeps a chain from its block 0'],
    ['--genesis', 'genesis.json', 'the chain begins with the fork block'],
    ['--timestamp', '1700000000', "the time continues from the fork block's"],
  ])('refuses %s', async (flag, value, reason) => {
    writeFileSync(join(folder, 'genesis.json'), '{}')
    const given = flag === '--timestamp' ? value : join(folder, value)
    const { code, err } = await finish(['--fork-url', chain.proxy.url, flag, given, ...SMALL])
    expect([code, err]).toEqual([2, `pocketchain: --fork-url and ${flag} exclude each other: ${reason}; omit one of them\n`])
    expect(existsSync(join(folder, 'chain'))).toBe(false)
    expect(chain.proxy.requests).toEqual([])
  })

  it('keeps the changes of a fork in a state file, for the same block only', async () => {
    const ledger = await deploy(chain.upstream, LEDGER)
    const block = String(await chain.upstream.ask('eth_blockNumber'))
    const argv = ['--fork-url', chain.proxy.url, '--state', join(folder, 'state.json'), ...SMALL]
    const call = { to: ledger, data: `0x${word(1)}${word(5)}` }
    const values: number[] = []
    for (let run = 0; run < 2; run++) {
      const command = start([...argv, '--fork-block-number', quantity(Number(block))])
      await command.waitForOutput(LISTENING)
      const [from] = (await post(portOf(command.out()), [['eth_accounts']])) as [readonly string[]]
      await post(portOf(command.out()), [['eth_sendTransaction', { from: from[0], ...call }]])
      const [value] = await post(portOf(command.out()), [['eth_call', { to: ledger, data: `0x${word(1)}${word(0)}` }]])
      values.push(Number(value))
      command.stop()
      expect(await command.exit).toBe(0)
    }
    expect(values).toEqual([5, 10])
    expect(JSON.parse(readFileSync(join(folder, 'state.json'), 'utf8'))).toMatchObject({ fork: { blockNumber: Number(block) } })
    const { code, err } = await finish([...argv, '--fork-block-number', '1'])
    expect(code).toBe(3)
    expect(err).toMatch(
      new RegExp(
        `^pocketchain: --state .*: fork is block ${Number(block)} .*, and this chain is forked from block 1 .*; start with --fork-url and --fork-block-number ${Number(block)}\n$`,
      ),
    )
  })
})

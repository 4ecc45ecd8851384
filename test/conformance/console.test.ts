import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeFunctionData, parseAbi, toFunctionSelector } from 'viem'
import type { Hex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finish, start } from '../../src/cli/cli.fixture.ts'
import type { Started } from '../../src/cli/cli.fixture.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import type { RunningAnvil } from '../anvil.fixture.ts'
import { compileVault } from './console.fixture.ts'

const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const CONSOLE = '000000000000000000636f6e736f6c652e6c6f67'
/** Passes its call data to the console address. */
const FORWARDER = '0x00000000000000000000000000000000000000aa'
const FORWARDS = `0x365f5f375f5f365f73${CONSOLE}5afa5000`

const vault = compileVault()
const dataOf = (functionName: string, amount: bigint) => encodeFunctionData({ abi: vault.abi, functionName, args: [amount] })

/** A node of the command, in a folder of its own. */
class Command {
  readonly process: Started
  readonly folder = mkdtempSync(join(tmpdir(), 'pocketchain-console-'))
  url = ''

  constructor(argv: readonly string[]) {
    mkdirSync(join(this.folder, 'out'))
    this.process = start(['--port', '0', '--cadence', 'instant', '--no-wallet', '--no-bundler', '--no-sponsor', ...argv], {
      folder: this.folder,
    })
  }

  async ready(): Promise<this> {
    const [, port] = /(?:Listening on .*:|"port":)(\d+)/.exec(await this.process.waitForOutput(/(?:Listening on .*:|"port":)\d+/)) ?? []
    this.url = `http://127.0.0.1:${port}`
    return this
  }

  /** Resolves with the result, or with undefined for an error. */
  async ask(method: string, ...params: readonly unknown[]): Promise<string> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(this.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return ((await response.json()) as { result: string }).result // undefined for an error
  }

  /** The JSON lines of these events so far. */
  events(name: string): readonly Record<string, unknown>[] {
    const lines = this.process
      .out()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter(({ event }) => event === name)
  }

  /** Deploys the vault and returns its address. */
  async deploy(): Promise<string> {
    const hash = await this.ask('eth_sendTransaction', { from: ALICE, data: vault.bytecode, gas: '0x200000' })
    return ((await this.ask('eth_getTransactionReceipt', hash)) as unknown as { contractAddress: string }).contractAddress // a receipt
  }

  async end(): Promise<void> {
    this.process.stop()
    await this.process.exit
    rmSync(this.folder, { recursive: true, force: true })
  }
}

describe('the log of a node with a contract that calls console.log', () => {
  let node: Command
  let address = ''
  const call = (functionName: string, amount: bigint) => ({ from: ALICE, to: address, data: dataOf(functionName, amount), gas: '0x40000' })
  /** The output that a request adds, without times and hashes. */
  const added = async (method: string, ...params: readonly unknown[]) => {
    const before = node.process.out().length
    await node.ask(method, ...params)
    return node.process
      .out()
      .slice(before)
      .replaceAll(/^\d\d:\d\d:\d\d\.\d{3}/gm, 'TIME')
      .replaceAll(/0x[\da-f]{64}/g, 'HASH')
  }
  beforeAll(async () => {
    node = await new Command([]).ready()
    address = await node.deploy()
  })
  afterAll(() => node.end())

  it('has the messages of a creation and of transactions below their block', async () => {
    expect(node.process.out()).toMatch(/\n[\d:.]+ {2}block 1 .*\n {14}console\.log {2}a new vault\n/)
    expect(await added('eth_sendTransaction', call('deposit', 7n))).toMatch(
      new RegExp(`^TIME  block 2  1 tx, .*\n {14}console\\.log {2}deposit of 7 wei\n {14}console\\.log {2}${ALICE} true\n$`),
    )
  })

  it('has the messages of reverted transactions, line by line, and the selector of an error without an ABI', async () => {
    expect(await added('eth_sendTransaction', call('withdraw', 255n))).toMatch(
      /\n {14}console\.log {2}withdraw\n {14}console\.log {2}0xff\n {14}failed {2}unknown error 0x[\da-f]{8}, data HASH[\da-f]+ \(give its ABI with --abi\)\n$/,
    )
    expect(await added('eth_sendTransaction', call('guarded', 255n))).toMatch(/ 0xff\n {14}console\.log {2}-1\n$/)
  })

  it('has the messages of calls and estimates once', async () => {
    expect(await added('eth_call', call('quote', 1_500n), 'latest')).toBe('TIME  eth_call  console.log  quote of 1.5e3\n')
    expect(await added('eth_estimateGas', call('deposit', 7n))).toBe(
      `TIME  eth_estimateGas  console.log  deposit of 7 wei\nTIME  eth_estimateGas  console.log  ${ALICE} true\n`,
    )
    expect(await added('eth_call', call('withdraw', 1n), 'latest')).toMatch(
      /^TIME {2}eth_call {2}console\.log {2}withdraw\nTIME {2}eth_call {2}console\.log {2}0x1\nTIME {2}eth_call to 0x[\da-f]{40} {2}failed {2}unknown error /,
    )
  })

  it('names custom errors of artifacts that are written while it runs', async () => {
    writeFileSync(join(node.folder, 'out', 'broken.json'), '{"abi": [')
    writeFileSync(join(node.folder, 'out', 'Vault.json'), JSON.stringify({ abi: vault.abi }))
    // Artifacts are searched at most every few seconds, so a new node reads them at its first unknown error.
    const other = start(['--port', '0', '--cadence', 'instant'], { folder: node.folder })
    const [, port] = /Listening on .*:(\d+)/.exec(await other.waitForOutput(/Listening on .*:\d+/)) ?? []
    const body = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ data: vault.bytecode }, 'latest', {}] }
    const post = (each: object) =>
      fetch(`http://127.0.0.1:${port}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(each) })
    const { result } = (await (await post(body)).json()) as { result: string } // the deployed code
    await post({ ...body, params: [call('withdraw', 9n), 'latest', { [address]: { code: result } }] })
    expect(await other.waitForOutput(/failed.*\n/)).toBe('failed  TooLow(available: 5, required: 9)\n')
    other.stop()
    await other.exit
  })
})

it('--json has console and failure events, --abi names errors, --print-traces prints call trees', async () => {
  const abiFolder = mkdtempSync(join(tmpdir(), 'pocketchain-abi-'))
  writeFileSync(join(abiFolder, 'Vault.json'), JSON.stringify({ contractName: 'Vault', abi: vault.abi }))
  const node = await new Command(['--json', '--print-traces', '--abi', abiFolder]).ready()
  const address = await node.deploy()
  const hash = await node.ask('eth_sendTransaction', { from: ALICE, to: address, data: dataOf('withdraw', 6n), gas: '0x40000' })
  await node.ask('eth_call', { to: address, data: dataOf('withdraw', 6n) }, 'latest')
  await node.process.waitForOutput(/"event":"failure","method":"eth_call".*\n/)
  expect(node.events('console')).toMatchObject([
    { block: 1, messages: ['a new vault'] },
    { block: 2, transaction: hash, messages: ['withdraw\n0x6'] },
    { method: 'eth_call', messages: ['withdraw\n0x6'] },
  ])
  const reason = 'TooLow(available: 5, required: 6)'
  const data = expect.stringMatching(/^0x[\da-f]{136}$/)
  expect(node.events('failure')).toMatchObject([
    { transaction: hash, block: 2, reason, data },
    { method: 'eth_call', to: address, code: -32_000, reason, data },
  ])
  expect(node.events('trace')).toMatchObject([
    { block: 1 },
    { block: 2, transaction: hash, trace: { type: 'CALL', error: 'execution reverted' } },
  ])
  await node.end()
  rmSync(abiFolder, { recursive: true, force: true })
})

it('--print-traces prints calls, console.log, events and results as a tree', async () => {
  const node = new Command(['--print-traces'])
  writeFileSync(join(node.folder, 'out', 'Vault.json'), JSON.stringify({ abi: vault.abi }))
  await node.ready()
  const address = await node.deploy()
  await node.process.waitForOutput(/← \[Return\] \d+ bytes of code\n/)
  const before = node.process.out().length
  await node.ask('eth_sendTransaction', { from: ALICE, to: address, data: dataOf('deposit', 7n), gas: '0x40000' })
  await node.process.waitForOutput(/emit Deposited.*\n.*\n/)
  await node.ask('eth_sendTransaction', { from: ALICE, to: address, data: dataOf('guarded', 3n), gas: '0x40000' })
  await node.process.waitForOutput(/ true\n$/)
  const tree = node.process
    .out()
    .slice(before)
    .split('\n')
    .filter((line) => /[├└[]/.test(line))
    .map((line) => line.replaceAll(/\[\d+\]/g, '[gas]').slice(16))
  const vaultText = expect.stringContaining('::') // the checksum address is covered by the unit tests
  expect(tree).toEqual([
    vaultText,
    '  ├─ [gas] console::log("deposit of %d wei", 7) [staticcall]',
    '  │   └─ ← [Stop]',
    `  ├─ [gas] console::log(${ALICE}, true) [staticcall]`,
    '  │   └─ ← [Stop]',
    `  ├─ emit Deposited(from: ${ALICE}, amount: 7)`,
    '  └─ ← [Stop]',
    vaultText,
    expect.stringMatching(/^ {2}├─ \[gas\] 0x[\da-fA-F]{40}::withdraw\(amount: 3\) \[staticcall\]$/),
    '  │   ├─ [gas] console::log("withdraw\\u{a}%x", 3) [staticcall]',
    '  │   │   └─ ← [Stop]',
    '  │   └─ ← [Revert] TooLow(available: 5, required: 3)',
    '  ├─ [gas] console::log(-1) [staticcall]',
    '  │   └─ ← [Stop]',
    '  └─ ← [Return] true',
  ])
  await node.end()
})

it('--disable-console-log prints no messages and still prints failures', async () => {
  const node = await new Command(['--disable-console-log', '--json']).ready()
  const address = await node.deploy()
  await node.ask('eth_call', { to: address, data: dataOf('withdraw', 6n) }, 'latest')
  expect(node.events('console')).toEqual([])
  expect(node.events('failure')).toHaveLength(1)
  await node.end()
})

it('-v prints methods and -vv errors, with the text of clients escaped', async () => {
  for (const [flag, failures] of [
    ['-v', 0],
    ['-vv', 1],
  ] as const) {
    const node = await new Command([flag, '--json']).ready()
    await node.ask('eth_x\u009b\u001b[2J', '0x1')
    expect(node.events('request')).toMatchObject([{ method: 'eth_x\\u{9b}\\u{1b}[2J' }])
    expect(node.events('failure')).toHaveLength(failures)
    expect(node.process.out()).not.toMatch(/[^\x20-\x7e\n]/)
    await node.end()
  }
})

it('-vv prints the x-request-id of a request, unless it could break a line', async () => {
  const node = await new Command(['-vv', '--json']).ready()
  const ask = (id: string) =>
    fetch(node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': id },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_x"}',
    })
  const id = 'Root=1-67891233-abcdef012345678912345678'
  expect((await ask(id)).headers.get('x-request-id')).toBe(id)
  for (const wrong of ['two words', 'x'.repeat(129), '{}']) expect((await ask(wrong)).headers.get('x-request-id')).toBe(null)
  expect(node.events('request')).toMatchObject([{ requestId: id }, {}, {}, {}])
  expect(node.events('failure')).toMatchObject([{ method: 'eth_x', requestId: id }, {}, {}, {}])
  expect(node.events('request').filter((event) => 'requestId' in event)).toHaveLength(1)
  await node.end()
})

describe('wrong values name the flag, the file and the line, with exit code 2', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-abi-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  it.each([
    ['a missing file', () => join(folder, 'absent.json'), ': does not exist'],
    ['text that is not JSON', () => file('a.json', '[\n  {"type": "error",\n   "name": tru }\n]'), ':3: is not JSON: '],
    ['a cut file', () => file('b.json', '[\n{"type":'), ':2: is not JSON: Unexpected end of JSON input'],
    ['JSON without an ABI', () => file('c.json', '{"name": "x"}'), ':1: is no ABI: '],
    [
      'an unknown type',
      () => file('d.json', '[\n{"type": "error", "name": "E",\n"inputs": [{"name": "a", "type": "uint257"}]}]'),
      ':3: E has a parameter of the type "uint257", which does not exist',
    ],
  ])('%s', async (_, make, message) => {
    const path = make()
    const { code, err } = await finish(['--abi', path])
    expect([code, err]).toEqual([2, expect.stringContaining(`--abi ${path}${message}`)])
  })

  it('a folder without ABIs', async () => {
    mkdirSync(join(folder, 'empty'))
    const { code, err } = await finish(['--abi', join(folder, 'empty')])
    expect([code, err]).toEqual([2, expect.stringContaining('has no JSON file with an ABI')])
  })

  it.each([
    ['--abi', 'argument missing'],
    ['--print-traces=yes', 'print-traces'],
    ['--disable-console-log=1', 'disable-console-log'],
  ])('%s', async (flag, message) => {
    const { code, err } = await finish([flag])
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })

  it('a level that is no number', async () => {
    const { code, err } = await finish([], { env: { POCKETCHAIN_VERBOSE: 'much' } })
    expect([code, err]).toEqual([2, expect.stringContaining('POCKETCHAIN_VERBOSE: expected a level from 0 to 9, true or false')])
  })
})

/** Overloads and format strings. Foundry has no functions without arguments and no legacy selectors, which the unit tests cover. */
const MESSAGES: readonly (readonly [signature: string, args: readonly unknown[]])[] = [
  ['log(string)', ['%s lonely %% 100%']],
  ['log(string)', ['a \\ "quoted" é\tone']],
  ['log(int256)', [-7n]],
  ['log(uint256)', [2n ** 256n - 1n]],
  ['log(address)', [ALICE]],
  ['log(bool)', [true]],
  ['log(bytes)', ['0x1234']],
  ['log(bytes1)', ['0x12']],
  ['log(bytes32)', [`0x${'ab'.repeat(32)}`]],
  ['log(string,int256)', ['%x %e', -3n]],
  ['log(string,uint256,bool,address)', ['%s|%d|%o', 1n, true, ALICE]],
  ['log(string,string)', ['%d %x', 'a']],
  ['log(string,string)', ['%o %i', 'str']],
  ['log(string,bool,bool,bool)', ['%d %i %s', true, true, false]],
  ['log(string,address,address,address)', ['%x %s %d', ALICE, ALICE, ALICE]],
  ['log(string,uint256,uint256,uint256)', ['%x %e %18e', 255n, 1_234_500n, 15n * 10n ** 17n]],
  ['log(string,uint256,uint256,uint256)', ['%o %i %0e', 1n, 2n, 3n]],
  ['log(string,uint256,uint256)', ['%x %e', 0n, 0n]],
  ['log(string,uint256)', ['%5d %d% %1025e %%d', 5n]],
  ['log(string,uint256)', ['', 5n]],
  ['log(bool,string)', [true, '%s']],
  ['log(address,string,uint256)', [ALICE, '%d', 4n]],
  ['log(uint256,uint256,uint256,uint256)', [1n, 2n, 3n, 4n]],
]

describe.skipIf(ANVIL === null)('the text of console.log is that of anvil', () => {
  let node: Command
  let anvil: RunningAnvil
  beforeAll(async () => {
    ;[node, anvil] = await Promise.all([new Command(['--json']).ready(), startAnvil()])
    await Promise.all([node.ask('anvil_setCode', FORWARDER, FORWARDS), anvil.ask('anvil_setCode', FORWARDER, FORWARDS)])
  })
  afterAll(() => Promise.all([node.end(), anvil[Symbol.asyncDispose]()]))

  it('in every overload and format', async () => {
    for (const [signature, args] of MESSAGES) {
      const abi = parseAbi([`function ${signature}`] as readonly string[])
      const data = encodeFunctionData({ abi, args } as never) // the types of the arguments are in the text of the signature
      for (const each of [node, anvil]) await each.ask('eth_call', { to: FORWARDER, data }, 'latest')
    }
    await anvil.ask('anvil_nodeInfo')
    const lines = await anvil.waitForLine(/^anvil_nodeInfo$/)
    const anvils = lines.slice(lines.indexOf('eth_call')).filter((line) => line !== 'eth_call' && line !== '' && line !== 'anvil_nodeInfo')
    expect(node.events('console').flatMap(({ messages }) => messages)).toEqual(anvils)
    expect(anvils).toHaveLength(MESSAGES.length)
  })

  it('in transactions, also if they revert, and not for other selectors', async () => {
    const data: Hex = `${toFunctionSelector('log(uint256)')}${42n.toString(16).padStart(64, '0')}`
    const unknown: Hex = `0x12345678${data.slice(10)}`
    const before = node.events('console').length
    for (const each of [node, anvil]) {
      await each.ask('eth_sendTransaction', { from: ALICE, to: FORWARDER, data, gas: '0x20000' })
      await each.ask('eth_call', { to: FORWARDER, data: unknown }, 'latest')
      await each.ask('eth_call', { to: `0x${CONSOLE}`, data }, 'latest')
    }
    await anvil.ask('anvil_metadata')
    const lines = await anvil.waitForLine(/^anvil_metadata$/)
    expect(lines.slice(lines.indexOf('anvil_nodeInfo')).filter((line) => line === '42')).toHaveLength(2)
    expect(
      node
        .events('console')
        .slice(before)
        .map(({ messages }) => messages),
    ).toEqual([['42'], ['42']])
  })
})

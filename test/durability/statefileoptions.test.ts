import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { Address } from '../../src/eth/index.ts'
import { createPocketchain } from '../../src/index.ts'
import type { Pocketchain, PocketchainOptions } from '../../src/index.ts'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const BOB = Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8')
const CAROL = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'
const STRANGER = Address.from('0x00000000000000000000000000000000000000aa')
const ETHER = 10n ** 18n
const START = 1_600_000_000
const QUIET = { cadence: 'manual', clock: 'manual', wallet: false, onNote: () => undefined } as const
const GENESIS = JSON.stringify({
  config: { chainId: 31_337 },
  timestamp: START,
  gasLimit: '0x3938700',
  baseFeePerGas: '0x7',
  alloc: { [ALICE]: { balance: '0x5' } },
})

const balance = async (node: Pocketchain, address: string) =>
  BigInt((await node.request({ method: 'eth_getBalance', params: [address, 'latest'] })) as string)

async function fileOf(options: PocketchainOptions): Promise<Buffer> {
  await using node = await createPocketchain({ ...QUIET, ...options })
  await node.chain.mine(2)
  return Buffer.from([...node.stateFile()].join(''))
}

let own: Buffer
/** null where anvil is not installed */
let ofAnvil: Buffer | null = null
let ofGenesis: Buffer
beforeAll(async () => {
  own = await fileOf({ accounts: 2, balance: 3n * ETHER, timestamp: START, hardfork: 'isthmus' })
  ofGenesis = await fileOf({ genesis: GENESIS })
  if (ANVIL === null) return
  const folder = mkdtempSync(join(tmpdir(), 'pocketchain-state-'))
  const path = join(folder, 'state.json')
  await using anvil = await startAnvil('--dump-state', path, '--hardfork', 'prague', '--accounts', '2', '--balance', '3')
  await anvil.ask('evm_mine')
  await anvil.stop()
  ofAnvil = readFileSync(path)
  rmSync(folder, { recursive: true })
})

describe('with a state file', () => {
  const funded = [
    { address: STRANGER, balance: 9n },
    { address: BOB, balance: 9n },
  ]

  it('accounts that it lacks have ether, and the others keep theirs', async () => {
    await using node = await createPocketchain({ ...QUIET, stateFile: own, accounts: 3, balance: ETHER, fundedAccounts: funded })
    const balances = await Promise.all([ALICE, BOB, CAROL, STRANGER].map((each) => balance(node, each)))
    expect(balances).toEqual([3n * ETHER, 3n * ETHER, ETHER, 9n])
    const hash = await node.request({ method: 'eth_sendTransaction', params: [{ from: CAROL, to: STRANGER, value: '0x1' }] })
    await node.chain.mine(1)
    expect(await node.request({ method: 'eth_getTransactionReceipt', params: [hash] })).toMatchObject({ status: '0x1', blockNumber: '0x3' })
  })

  it.skipIf(ANVIL === null)('of anvil too', async () => {
    await using node = await createPocketchain({ ...QUIET, stateFile: ofAnvil!, accounts: 3, balance: ETHER, fundedAccounts: funded })
    const balances = await Promise.all([ALICE, BOB, CAROL, STRANGER].map((each) => balance(node, each)))
    expect(balances).toEqual([3n * ETHER, 3n * ETHER, ETHER, 9n])
    expect(node.chain.sealed.head.header.number).toBe(1)
  })

  it('the keys of another mnemonic have ether too, also after the file of that start', async () => {
    const mnemonic = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
    await using node = await createPocketchain({ ...QUIET, stateFile: own, mnemonic })
    const [first] = node.accounts
    expect(await balance(node, first!.address)).toBe(10_000n * ETHER)
    await node.chain.mine(1)
    await using again = await createPocketchain({ ...QUIET, stateFile: Buffer.from([...node.stateFile()].join('')), accounts: 0 })
    expect(await balance(again, first!.address)).toBe(10_000n * ETHER)
  })

  it('whose accounts are complete, nothing is changed', async () => {
    await using node = await createPocketchain({ ...QUIET, stateFile: own, accounts: 2, balance: ETHER })
    expect(Buffer.from([...node.stateFile()].join('')).equals(own)).toBe(true)
  })

  it.each([
    [{ number: 7 }, "number of the first block of the state file's chain is 0, and 7 was requested; omit the option"],
    [
      { timestamp: START + 1 },
      `and ${START + 1} was requested; omit the option (evm_setNextBlockTimestamp sets the time of the next block), or`,
    ],
    [
      { baseFee: 9n },
      "base fee of the first block of the state file's chain is 1000000000, and 9 was requested; omit the option (anvil_set",
    ],
    [{ genesis: GENESIS }, "the state file's chain"],
  ])('%o, which has no effect, is refused', async (options, message) => {
    for (const stateFile of [own, ...(ofAnvil === null ? [] : [ofAnvil])]) {
      const start = createPocketchain({ ...QUIET, stateFile, ...options })
      await expect(start).rejects.toThrow(message)
      await expect(start).rejects.toThrow('or start without the state file')
    }
  })

  it.each([
    [{ chainType: 'l1' }, "the chain type of the state file's chain is op, and l1 was requested; omit the option, or"],
    [{ hardfork: 'jovian' }, "the hardfork of the state file's chain is isthmus, and jovian was requested"],
    [{ withAccounts: true }, "the set of smart account contracts of the state file's chain is not whole"],
  ] as const)('of pocketchain, %o is refused too', async (options, message) => {
    await expect(createPocketchain({ ...QUIET, stateFile: own, ...options })).rejects.toThrow(message)
  })

  it('the options with which its chain began are accepted', async () => {
    const options = { timestamp: START, hardfork: 'isthmus', number: 0, chainType: 'op', baseFee: 10n ** 9n, chainId: 31_337 } as const
    await using node = await createPocketchain({ ...QUIET, stateFile: own, ...options })
    expect(node.chain.sealed.head.header.number).toBe(2)
    await using same = await createPocketchain({ ...QUIET, stateFile: ofGenesis, genesis: GENESIS })
    expect(same.chain.sealed.head.header.number).toBe(2)
    const other = GENESIS.replace('"0x5"', '"0x6"')
    await expect(createPocketchain({ ...QUIET, stateFile: ofGenesis, genesis: other })).rejects.toThrow(
      "the first block of the state file's chain is 0x",
    )
  })

  it('gas limit, limits of transactions and code, and minimum base fee are those of the start', async () => {
    const options = { gasLimit: 40_000_000n, codeSizeLimit: null, transactionGasCap: null } as const
    await using node = await createPocketchain({ ...QUIET, stateFile: own, ...options })
    expect(node.chain.config).toMatchObject({ codeSizeLimit: null, transactionGasCap: null })
    const [block] = await node.chain.mine(1)
    expect(block!.header.gasLimit).toBe(40_000_000n)
    await using unchanged = await createPocketchain({ ...QUIET, stateFile: own })
    expect(unchanged.chain.config.codeSizeLimit).toBe(24_576)
  })

  it('accounts only, every option has its effect', async () => {
    const stateFile = Buffer.from(JSON.stringify({ alloc: { [STRANGER]: { balance: '0x7' } } }))
    await using node = await createPocketchain({ ...QUIET, stateFile, genesis: GENESIS, number: 5, timestamp: START + 9 })
    expect(node.chain.sealed.head.header).toMatchObject({ number: 5, timestamp: START + 9 })
    expect([await balance(node, ALICE), await balance(node, STRANGER)]).toEqual([5n, 7n])
  })
})

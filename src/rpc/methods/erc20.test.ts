import { describe, expect, it } from 'vitest'
import { Address } from '../../eth/index.ts'
import { ALICE, testNode } from '../node.fixture.ts'
import type { TestNode } from '../node.fixture.ts'

const WETH = Address.from('0x4200000000000000000000000000000000000006')
const PROXY = '0x00000000000000000000000000000000000bca11'
const STRANGER = Address.from('0x00000000000000000000000000000000000a11ce')
const CONSTANT = '0x00000000000000000000000000000000000c0de5'

/** EIP-1167: code of WETH, separate storage. */
const PROXY_CODE = `0x363d3d373d3d3d363d73${WETH.slice(2)}5af43d82803e903d91602b57fd5bf3`

function word(address: string): string {
  return address.slice(2).padStart(64, '0')
}

async function read(node: TestNode, token: string, data: string): Promise<bigint> {
  return BigInt((await node.ask('eth_call', { to: token, data: `0x${data}` }, 'latest')) as string) // eth_call returns hex
}

const balanceOf = (node: TestNode, token: string, holder: string) => read(node, token, `70a08231${word(holder)}`)
const allowance = (node: TestNode, token: string, owner: string, spender: string) =>
  read(node, token, `dd62ed3e${word(owner)}${word(spender)}`)

describe.each(['anvil_dealERC20', 'hardhat_dealERC20', 'anvil_setERC20Balance'])('%s', (name) => {
  it('sets only the given balance', async () => {
    const node = await testNode()
    await node.ask(name, ALICE, WETH, 7)
    await node.ask(name, STRANGER, WETH, '0xde0b6b3a7640000')
    expect(await balanceOf(node, WETH, STRANGER)).toBe(10n ** 18n)
    expect(await balanceOf(node, WETH, ALICE)).toBe(7n)
    await node.ask(name, STRANGER, WETH, 0)
    expect(await balanceOf(node, WETH, STRANGER)).toBe(0n)
    expect(await balanceOf(node, WETH, ALICE)).toBe(7n)
  })
})

it('finds the storage of a token behind a proxy', async () => {
  const node = await testNode()
  await node.ask('anvil_setCode', PROXY, PROXY_CODE)
  await node.ask('anvil_dealERC20', STRANGER, PROXY, 9)
  expect(await balanceOf(node, PROXY, STRANGER)).toBe(9n)
  expect(await balanceOf(node, WETH, STRANGER)).toBe(0n)
})

it('a dealt balance can be transferred', async () => {
  const node = await testNode()
  await node.ask('anvil_dealERC20', ALICE, WETH, 10)
  await node.send({ to: WETH, data: Buffer.from(`a9059cbb${word(STRANGER)}${'4'.padStart(64, '0')}`, 'hex') })
  await node.ask('evm_mine')
  expect(await balanceOf(node, WETH, STRANGER)).toBe(4n)
  expect(await balanceOf(node, WETH, ALICE)).toBe(6n)
})

it('anvil_setERC20Allowance sets the allowance of one spender by one owner', async () => {
  const node = await testNode()
  await node.ask('anvil_setERC20Allowance', ALICE, STRANGER, WETH, 5)
  expect(await allowance(node, WETH, ALICE, STRANGER)).toBe(5n)
  expect(await allowance(node, WETH, STRANGER, ALICE)).toBe(0n)
})

describe('pocketchain_mintUsdc', () => {
  const USDC = Address.from('0x833589fcd6edb6e08f4c7c32d4f71b54bda02913')
  /** The blocklister of the default genesis: the last account of the standard mnemonic. */
  const OPERATOR = '0xa0ee7a142d267c1f36714e4a8f75612f20a79720'
  const supply = (node: TestNode) => read(node, USDC, '18160ddd')

  it('adds to the balance and to the total supply', async () => {
    const node = await testNode()
    expect(await node.ask('pocketchain_mintUsdc', STRANGER, 1_500_000)).toBe('0x16e360')
    expect(await node.ask('pocketchain_mintUsdc', STRANGER, '500000')).toBe('0x1e8480')
    await node.ask('pocketchain_mintUsdc', ALICE, 1)
    expect([await balanceOf(node, USDC, STRANGER), await supply(node)]).toEqual([2_000_000n, 2_000_001n])
  })

  it('the sum can be transferred', async () => {
    const node = await testNode()
    await node.ask('pocketchain_mintUsdc', ALICE, 10)
    await node.send({ to: USDC, data: Buffer.from(`a9059cbb${word(STRANGER)}${'4'.padStart(64, '0')}`, 'hex'), gas: 100_000n })
    await node.ask('evm_mine')
    expect([await balanceOf(node, USDC, ALICE), await balanceOf(node, USDC, STRANGER)]).toEqual([6n, 4n])
  })

  it('leaves a blocked account blocked', async () => {
    const node = await testNode()
    await node.ask('anvil_setBalance', OPERATOR, '0xde0b6b3a7640000')
    await node.ask('eth_sendUnsignedTransaction', { from: OPERATOR, to: USDC, data: `0xf9f92be4${word(STRANGER)}` }) // blacklist(address)
    await node.ask('evm_mine')
    await node.ask('pocketchain_mintUsdc', STRANGER, 7)
    expect([await balanceOf(node, USDC, STRANGER), await read(node, USDC, `fe575a87${word(STRANGER)}`)]).toEqual([7n, 1n])
  })

  it('accepts another token', async () => {
    const node = await testNode()
    await node.ask('anvil_setCode', PROXY, `0x363d3d373d3d3d363d73${USDC.slice(2)}5af43d82803e903d91602b57fd5bf3`)
    expect(await node.ask('pocketchain_mintUsdc', STRANGER, 9, PROXY)).toBe('0x9')
    expect([await balanceOf(node, PROXY, STRANGER), await balanceOf(node, USDC, STRANGER)]).toEqual([9n, 0n])
  })

  it.each([
    [1, STRANGER, 'there is no ERC-20 token at'],
    // Its total supply is its ether.
    [1, WETH, 'cannot store 0 + 1 in one slot'],
    [`0x8${'0'.repeat(63)}`, USDC, 'in one slot'],
    [`0x${'f'.repeat(64)}`, USDC, 'in one slot'],
  ])('rejects %s of %s', async (amount, token, message) => {
    const node = await testNode()
    await node.ask('pocketchain_mintUsdc', STRANGER, 1)
    await expect(node.ask('pocketchain_mintUsdc', STRANGER, amount, token)).rejects.toThrow(message)
    expect([await balanceOf(node, USDC, STRANGER), await supply(node)]).toEqual([1n, 1n])
  })
})

it.each([
  ['answers the same number whatever its storage holds', '0x60005450600760005260206000f3'],
  ['answers a slot in parts only', '0x60005460ff1660005260206000f3'],
  ['reverts', '0x600054600060fd'],
])('rejects a token that %s', async (_, code) => {
  const node = await testNode()
  await node.ask('anvil_setCode', CONSTANT, code)
  await expect(node.ask('anvil_dealERC20', STRANGER, CONSTANT, 7)).rejects.toThrow('unable to set the ERC20 balance: no slot found')
  expect(await node.ask('eth_getStorageAt', CONSTANT, '0x0')).toBe(`0x${'0'.repeat(64)}`)
})

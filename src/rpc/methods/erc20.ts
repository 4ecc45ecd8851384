import { Hex, USDC } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Context } from '../context.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { QUANTITY } from '../../jsonrpc/jsonschema.ts'
import { address, bigInteger } from '../../jsonrpc/schema.ts'
import { tokenNumber, tokenSlot } from '../execution/tokenslot.ts'
import { voidMethods } from './named.ts'
import { ALICE, BOB, WETH } from './examples.ts'

const BALANCE_OF = '70a08231'
const ALLOWANCE = 'dd62ed3e'
const TOTAL_SUPPLY = '18160ddd'

const MAX_UINT256 = 2n ** 256n - 1n

const ERRORS = { [CODE.server]: 'the token does not store that number in one slot' }

/** Token balances without a transfer: finds the slot that a getter reads by trial, and writes it. */
export const ERC20_METHODS: readonly Method[] = [
  ...voidMethods(['anvil_dealERC20', 'hardhat_dealERC20', 'anvil_setERC20Balance'], {
    doc: "Sets the balance of an account of an ERC-20 token, without a transfer: the token's total supply stays.",
    params: [required('address', address), required('token', address), required('amount', bigInteger)],
    errors: ERRORS,
    example: [ALICE, WETH, '0xde0b6b3a7640000'],
    handler: (context, [holder, token, amount]) => setSlot(context, token, callData(BALANCE_OF, holder), amount, 'balance'),
  }),
  ...voidMethods(['anvil_setERC20Allowance'], {
    doc: "Sets how much of an owner's ERC-20 tokens a spender may take.",
    params: [required('owner', address), required('spender', address), required('token', address), required('amount', bigInteger)],
    errors: ERRORS,
    example: [ALICE, BOB, WETH, '0xde0b6b3a7640000'],
    handler: (context, [owner, spender, token, amount]) =>
      setSlot(context, token, callData(ALLOWANCE, owner, spender), amount, 'allowance'),
  }),
  method({
    name: 'pocketchain_mintUsdc',
    doc: 'Gives an account USDC: adds an amount in units of 10^-6 USDC to its balance and to the total supply, without a transaction and an event, and returns the new balance. The token is the one at 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, as on Base, unless another ERC-20 token is given.',
    params: [required('address', address), required('amount', bigInteger), optional('token', address)],
    result: QUANTITY,
    errors: { [CODE.server]: 'there is no such token on this chain, or the sum is too large for it' },
    example: { params: [ALICE, 250_000_000], result: '0xee6b280' },
    handler: (context, [holder, amount, token = USDC]) => mint(context, token, holder, amount),
  }),
]

async function mint({ chain }: Context, token: Address, holder: Address, amount: bigint): Promise<Hex> {
  const { view } = chain.head
  const added = [callData(BALANCE_OF, holder), callData(TOTAL_SUPPLY)].map((getter) => {
    const before = tokenNumber(view, token, getter)
    if (before === null) throw new RpcError(CODE.server, `there is no ERC-20 token at ${token}`)
    const sum = before + amount
    const place = sum > MAX_UINT256 ? null : tokenSlot(view, token, getter, sum)
    if (place === null) throw new RpcError(CODE.server, `unable to mint: token ${token} cannot store ${before} + ${amount} in one slot`)
    return { place, sum }
  })
  // Added to the slot, since USDC marks blocked accounts in the highest bit of their balance.
  await chain.edit((world) => {
    for (const { place } of added) world.setStorage(place.address, place.slot, world.storage(place.address, place.slot) + amount)
  })
  return Hex.fromQuantity(added[0]!.sum)
}

async function setSlot(context: Context, token: Address, data: Uint8Array, amount: bigint, what: string): Promise<void> {
  const place = tokenSlot(context.chain.head.view, token, data, amount)
  if (place === null) throw new RpcError(CODE.server, `unable to set the ERC20 ${what}: no slot found in token ${token}`)
  await context.chain.edit((world) => world.setStorage(place.address, place.slot, amount))
}

function callData(selector: string, ...words: readonly Address[]): Uint8Array {
  return Hex.toBytes(`0x${selector}${words.map((word) => word.slice(2).padStart(64, '0')).join('')}`)
}

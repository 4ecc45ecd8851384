import { Hex } from '../../eth/index.ts'
import type { Address } from '../../eth/index.ts'
import type { Context } from '../context.ts'
import { CODE, RpcError } from '../../jsonrpc/index.ts'
import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { address, bigInteger } from '../../jsonrpc/schema.ts'
import { tokenSlot } from '../execution/tokenslot.ts'
import { commands } from './named.ts'
import { ALICE, BOB, WETH } from './examples.ts'

const BALANCE_OF = '70a08231'
const ALLOWANCE = 'dd62ed3e'

const ERRORS = { [CODE.server]: 'the token does not store that number in one slot' }

/** Token balances without a transfer: finds the slot behind a getter by trial, and writes it. */
export const ERC20_METHODS: readonly Method[] = [
  ...commands(['anvil_dealERC20', 'hardhat_dealERC20', 'anvil_setERC20Balance'], {
    doc: "Sets the balance of an account of an ERC-20 token, without a transfer: the token's total supply stays.",
    params: [required('address', address), required('token', address), required('amount', bigInteger)],
    errors: ERRORS,
    example: [ALICE, WETH, '0xde0b6b3a7640000'],
    handler: (context, [holder, token, amount]) => setSlot(context, token, callData(BALANCE_OF, holder), amount, 'balance'),
  }),
  ...commands(['anvil_setERC20Allowance'], {
    doc: "Sets how much of an owner's ERC-20 tokens a spender may take.",
    params: [required('owner', address), required('spender', address), required('token', address), required('amount', bigInteger)],
    errors: ERRORS,
    example: [ALICE, BOB, WETH, '0xde0b6b3a7640000'],
    handler: (context, [owner, spender, token, amount]) =>
      setSlot(context, token, callData(ALLOWANCE, owner, spender), amount, 'allowance'),
  }),
]

async function setSlot(context: Context, token: Address, data: Uint8Array, amount: bigint, what: string): Promise<void> {
  const place = tokenSlot(context.chain.head.view, token, data, amount)
  if (place === null) throw new RpcError(CODE.server, `unable to set the ERC20 ${what}: no slot found in token ${token}`)
  await context.chain.edit((world) => world.setStorage(place.address, place.slot, amount))
}

function callData(selector: string, ...words: readonly Address[]): Uint8Array {
  return Hex.toBytes(`0x${selector}${words.map((word) => word.slice(2).padStart(64, '0')).join('')}`)
}

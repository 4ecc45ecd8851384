import { setTimeout as delay } from 'node:timers/promises'
import { Abi, Address, Hex } from '../eth/index.ts'
import type { Hash } from '../eth/index.ts'
import type { Pocketchain } from '../index.ts'

/** What the demo needs on the chain before it begins. */
export interface Stage {
  readonly customer: Address
  readonly token: Address
  /** of the token */
  readonly symbol: string
}

export const SHOP = Address.from('0x00000000000000000000000000000000c0ffee01')
export const BARISTA = Address.from('0x00000000000000000000000000000000c0ffee02')
/** What the customer begins with, in the token's unit. */
export const PURSE = 25n
export const UNIT = 10n ** 18n

const SYMBOL = 'DUSD'
/** Creates tokens that stand for those of the L1 (a predeploy of OP chains). */
const TOKEN_FACTORY = Address.from('0x4200000000000000000000000000000000000012')

/** A token of dollars, created as on any OP chain, and some of it for the wallet's only account, which gets no ether. */
export async function setStage(node: Pocketchain): Promise<Stage> {
  const [customer] = node.wallet.keyring.accounts
  if (customer === undefined) throw new Error('the wallet of the demo has no account')
  const token = await createToken(node)
  await node.request({ method: 'anvil_dealERC20', params: [customer.address, token, Hex.fromQuantity(PURSE * UNIT)] })
  return { customer: customer.address, token, symbol: SYMBOL }
}

/** The test hand pays: ether for the shop, in whose name the node sends. */
async function createToken(node: Pocketchain): Promise<Address> {
  const ask = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  await ask('anvil_setBalance', SHOP, Hex.fromQuantity(UNIT))
  await ask('anvil_impersonateAccount', SHOP)
  const create = { from: SHOP, to: TOKEN_FACTORY, data: Hex.fromBytes(creation()) }
  const word = (await ask('eth_call', create, 'pending')) as Hex // what the method answers
  const hash = (await ask('eth_sendTransaction', create)) as Hash // what the method answers
  while ((await ask('eth_getTransactionReceipt', hash)) === null) await delay(LOOK_AGAIN_MS)
  return Address.from(`0x${word.slice(-40)}`)
}

function creation(): Uint8Array {
  const text = (value: string) => new TextEncoder().encode(value)
  const selector = Abi.selector('createStandardL2Token(address,string,string)')
  return Abi.call(selector, [SHOP, text('Demo Dollar'), text(SYMBOL)])
}

/** A fraction of a flashblock. */
const LOOK_AGAIN_MS = 10

/** The two calls of the batch: a coffee, and something for the one who made it. */
export function purchase({ token }: Stage): readonly { readonly to: Address; readonly value: Hex; readonly data: Hex }[] {
  const transfer = (to: Address, amount: bigint) => Hex.fromBytes(Abi.call(Abi.selector('transfer(address,uint256)'), [to, amount * UNIT]))
  return [
    { to: token, value: '0x0', data: transfer(SHOP, 4n) },
    { to: token, value: '0x0', data: transfer(BARISTA, 1n) },
  ]
}

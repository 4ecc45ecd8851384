import { setTimeout as delay } from 'node:timers/promises'
import { Abi, Address, Hex } from '../../eth/index.ts'
import type { Hash } from '../../eth/index.ts'
import type { Pocketchain } from '../../index.ts'

/** The accounts and the token of the demo. */
export interface DemoAccounts {
  readonly customer: Address
  readonly token: Address
  /** symbol of the token */
  readonly symbol: string
}

const SHOP = Address.from('0x00000000000000000000000000000000c0ffee01')
const BARISTA = Address.from('0x00000000000000000000000000000000c0ffee02')
/** Balance of the customer at start, in whole tokens. */
export const CUSTOMER_TOKENS = 25n
const UNIT = 10n ** 18n

const SYMBOL = 'DUSD'
/** OptimismMintableERC20Factory, a predeploy of OP chains. */
const TOKEN_FACTORY = Address.from('0x4200000000000000000000000000000000000012')

/** Creates a token and gives some of it to the only account of the wallet, which has no ether. */
export async function deployToken(node: Pocketchain): Promise<DemoAccounts> {
  const [customer] = node.wallet.keyring.accounts
  if (customer === undefined) throw new Error('the wallet of the demo has no account')
  const token = await createToken(node)
  await node.request({ method: 'anvil_dealERC20', params: [customer.address, token, Hex.fromQuantity(CUSTOMER_TOKENS * UNIT)] })
  return { customer: customer.address, token, symbol: SYMBOL }
}

/** The dev methods give the shop ether and send the transaction from its address. */
async function createToken(node: Pocketchain): Promise<Address> {
  const request = (method: string, ...params: readonly unknown[]) => node.request({ method, params })
  await request('anvil_setBalance', SHOP, Hex.fromQuantity(UNIT))
  await request('anvil_impersonateAccount', SHOP)
  const create = { from: SHOP, to: TOKEN_FACTORY, data: Hex.fromBytes(creationCall()) }
  const word = (await request('eth_call', create, 'pending')) as Hex // result of the method
  const hash = (await request('eth_sendTransaction', create)) as Hash // result of the method
  while ((await request('eth_getTransactionReceipt', hash)) === null) await delay(POLL_INTERVAL_MS)
  return Address.from(`0x${word.slice(-40)}`)
}

function creationCall(): Uint8Array {
  const text = (value: string) => new TextEncoder().encode(value)
  const selector = Abi.selector('createStandardL2Token(address,string,string)')
  return Abi.call(selector, [SHOP, text('Demo Dollar'), text(SYMBOL)])
}

/** A fraction of a flashblock interval. */
const POLL_INTERVAL_MS = 10

/** The two calls of the batch: the price and a tip. */
export function purchaseCalls({ token }: DemoAccounts): readonly { readonly to: Address; readonly value: Hex; readonly data: Hex }[] {
  const transfer = (to: Address, amount: bigint) => Hex.fromBytes(Abi.call(Abi.selector('transfer(address,uint256)'), [to, amount * UNIT]))
  return [
    { to: token, value: '0x0', data: transfer(SHOP, 4n) },
    { to: token, value: '0x0', data: transfer(BARISTA, 1n) },
  ]
}

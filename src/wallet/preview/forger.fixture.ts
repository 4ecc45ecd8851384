import { Address, Hash } from '../../eth/index.ts'
import type { Hex } from '../../eth/index.ts'
import type { Rpc } from '../../jsonrpc/index.ts'

const APPROVAL = Hash.ofText('Approval(address,address,uint256)').slice(2)

/** Without data it logs an Approval of 7 by the sender of the transaction; every view returns 7, so its allowances are as forged as its logs. */
const FORGER: Hex = `0x3660305760075f5230327f${APPROVAL}60205fa3005b60075f5260205ff3`

/** Puts `count` forging tokens and a contract that calls them all on the chain, and returns the address of the latter. `seed`: a byte, for other addresses. */
export async function putForgers(node: Rpc, count: number, seed: number): Promise<Address> {
  const base = BigInt(`0x${seed.toString(16).padStart(2, '0').repeat(20)}`)
  const addressAt = (at: number) => Address.from(`0x${(base + BigInt(at)).toString(16).padStart(40, '0')}`)
  for (let at = 1; at <= count; at++) await node.request({ method: 'anvil_setCode', params: [addressAt(at), FORGER] })
  const [times, first] = [count.toString(16).padStart(4, '0'), base.toString(16).padStart(40, '0')]
  const all = `0x61${times}5b5f5f5f5f5f8573${first}015af150600190038060035700`
  await node.request({ method: 'anvil_setCode', params: [addressAt(0), all] })
  return addressAt(0)
}

import { Address, Hash } from '../../eth/index.ts'
import type { AccessListItem } from '../../eth/index.ts'
import { OP } from '../opcodes.ts'
import type { OpContext, Tracer } from './tracer.ts'

const ACCOUNTS: ReadonlyMap<number, number> = new Map([
  [OP.BALANCE, 0],
  [OP.EXTCODESIZE, 0],
  [OP.EXTCODECOPY, 0],
  [OP.EXTCODEHASH, 0],
  [OP.SELFDESTRUCT, 0],
  [OP.CALL, 1],
  [OP.CALLCODE, 1],
  [OP.DELEGATECALL, 1],
  [OP.STATICCALL, 1],
])

/** Collects the EIP-2930 access list: accounts and slots named by opcodes, including those of failed frames (as in geth). */
export class AccessListTracer implements Tracer {
  readonly #slots = new Map<Address, Set<Hash>>()

  /** `listed`: the transaction's own access list */
  constructor(listed: readonly AccessListItem[] = []) {
    for (const { address, storageKeys } of listed) {
      const slots = this.#slotsOf(address)
      for (const key of storageKeys) slots.add(key)
    }
  }

  step(machine: OpContext): void {
    const { op, stackSize } = machine
    const at = ACCOUNTS.get(op)
    if (at !== undefined) {
      if (stackSize > at) this.#slotsOf(Address.fromBigint(machine.stack(at)))
    } else if ((op === OP.SLOAD || op === OP.SSTORE) && stackSize > 0) {
      this.#slotsOf(machine.address).add(Hash.fromBigint(machine.stack(0)))
    }
  }

  /** In order of first access. */
  items(): readonly AccessListItem[] {
    return [...this.#slots].map(([address, slots]) => ({ address, storageKeys: [...slots] }))
  }

  #slotsOf(address: Address): Set<Hash> {
    const known = this.#slots.get(address)
    if (known !== undefined) return known
    const slots = new Set<Hash>()
    this.#slots.set(address, slots)
    return slots
  }
}

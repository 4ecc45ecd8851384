import type { View } from '../../chain/index.ts'
import { EMPTY_CODE_HASH } from '../../eth/index.ts'
import type { Address, Block, Hash, Transaction } from '../../eth/index.ts'
import type { Deadline, StateReader, TraceFactory, Tracer } from '../../evm/index.ts'
import { withinBudget, withRun } from '../execution/tracing.ts'
import type { ComputeDeps } from '../execution/workerport.ts'
import { SCANNED_CODES, TRACE_TIME_MS } from '../limits.ts'

type CallKind = Parameters<NonNullable<Tracer['enter']>>[0]['kind']

/** Finds the transactions that cannot have inner calls, without executing them. */
export class CallScan {
  /** by code hash: whether the code has an opcode that calls, creates or self-destructs */
  readonly #codes = new Map<Hash, boolean>()

  /**
   * Returns the index of the first transaction that may have inner calls, or null. The transactions before it leave all code as it is before the
   * block, because only calls, creations and authorizations change code. Throws PrunedState, MissingState.
   */
  firstWithCalls(block: Block, stateBefore: StateReader): number | null {
    const index = block.transactions.findIndex((tx) => this.#mayCall(tx, stateBefore))
    return index < 0 ? null : index
  }

  #mayCall({ to, authorizationList }: Transaction, state: StateReader): boolean {
    if (to === null || authorizationList.length > 0) return true
    const codeHash = state.account(to)?.codeHash ?? EMPTY_CODE_HASH
    return codeHash !== EMPTY_CODE_HASH && this.#codeCalls(codeHash, state)
  }

  #codeCalls(codeHash: Hash, state: StateReader): boolean {
    const known = this.#codes.get(codeHash)
    if (known !== undefined) return known
    const calls = hasCallOpcode(state.code(codeHash))
    if (this.#codes.size >= SCANNED_CODES) this.#codes.clear()
    this.#codes.set(codeHash, calls)
    return calls
  }
}

/** Data after the code counts as opcodes, so the result may be true for code that never calls. A delegation (EIP-7702) executes other code. */
function hasCallOpcode(code: Uint8Array): boolean {
  if (code[0] === DELEGATION) return true
  for (let pc = 0; pc < code.length; pc++) {
    const op = code[pc] as number // in range
    if (op >= PUSH1 && op <= PUSH32) pc += op - PUSH1 + 1
    else if (CALL_OPCODES.has(op)) return true
  }
  return false
}

const DELEGATION = 0xef
const PUSH1 = 0x60
const PUSH32 = 0x7f
/** CREATE, CALL, CALLCODE, DELEGATECALL, CREATE2, STATICCALL, SELFDESTRUCT */
const CALL_OPCODES: ReadonlySet<number> = new Set([0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa, 0xff])

/** The addresses that took part in the inner calls of each transaction of a block, without the transaction's own sender and receiver. */
export type BlockParties = readonly (readonly Address[])[]

/** Executes a block again. The transactions before `first` have no inner calls. Throws PrunedState, MissingState, OutOfTime. */
export function partiesOf(view: View, block: Block, first: number, deadline: Deadline): BlockParties {
  return withinBudget((budget) =>
    withRun(view, block, deadline, (run) => {
      run.skipTo(first)
      return block.transactions.map((_, index) => (index < first ? [] : (JSON.parse(run.trace(innerParties, budget)) as Address[]))) // our own text
    }),
  )
}

/**
 * Senders, receivers and beneficiaries of self-destructions, also of calls that failed or were reverted. As in anvil, the address of a creation
 * that halted is not a party.
 */
const innerParties: TraceFactory = ({ budget }) => {
  const parties = new Set<Address>()
  const open: { readonly kind: CallKind; readonly to: Address }[] = []
  let own: readonly Address[] = []
  const add = (party: Address) => {
    if (!parties.has(party)) budget.take(PARTY_BYTES)
    parties.add(party)
  }
  return {
    tracer: {
      enter: ({ kind, depth, from, to }) => {
        open.push({ kind, to })
        if (depth === 0) own = [from, to]
        else {
          add(from)
          if (!CREATIONS.has(kind)) add(to)
        }
      },
      exit: ({ depth, failure }) => {
        const call = open.pop()
        if (call === undefined || depth === 0 || !CREATIONS.has(call.kind)) return
        if (failure === null || failure === 'execution reverted') add(call.to)
      },
    },
    json: () => JSON.stringify([...parties].filter((party) => !own.includes(party))),
  }
}

const CREATIONS: ReadonlySet<CallKind> = new Set(['CREATE', 'CREATE2'])

/** Bytes of the JSON of an address. */
const PARTY_BYTES = 45

/** The name of `partiesOf` as a task of a worker thread. */
export const BLOCK_PARTIES = 'the calls of a block'

/** `partiesOf` in a thread. */
export function partiesTask({ view, deadline }: ComputeDeps, args: readonly unknown[]): BlockParties {
  const [number, first] = args as [number, number] // of `TransactionSearch`
  const block = view.byNumber(number)
  if (block === null) throw new Error(`block ${number} is missing from its view`)
  return partiesOf(view, block, first, deadline(TRACE_TIME_MS))
}

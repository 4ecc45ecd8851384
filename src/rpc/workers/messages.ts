import type { StateSyncStep, PartialView } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { ChainConfig, Tier1Settings } from '../../evm/index.ts'

// What threads tell each other. All of it is plain data, as structured cloning wants it.

export interface BeginMessage {
  readonly kind: 'begin'
  readonly config: ChainConfig
  readonly compat: Compat
  readonly tier1: Omit<Tier1Settings, 'onMismatch'>
}

export interface TaskMessage {
  readonly kind: 'task'
  readonly method: string
  readonly args: readonly unknown[]
  /** null: that of the task before */
  readonly slice: PartialView | null
  /** of its time, before */
  readonly spentMs: number
}

/** First `begin`, then the state, then tasks: the next one when the last one was answered. */
export type ToThread = BeginMessage | { readonly kind: 'feed'; readonly steps: readonly StateSyncStep[] } | TaskMessage

export type FromThread =
  /** it has loaded what it needs */
  | { readonly kind: 'ready' }
  /** JSON */
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'refusal'; readonly code: number; readonly message: string; readonly data: unknown }
  | { readonly kind: 'bug'; readonly report: string }

/** A thread, seen from the one that started it. */
export interface Thread {
  readonly post: (message: ToThread) => void
  /** Once, before anything is posted. `ended`: it has ended, for this reason. */
  readonly listen: (heard: (message: FromThread) => void, ended: (why: string) => void) => void
  /** The program stays while a thread is held. It begins unheld. */
  readonly hold: (isHeld: boolean) => void
  /** Resolves when it has ended, whatever it was doing. */
  readonly end: () => Promise<void>
}

/** Null: there are no threads here. */
export type StartThread = () => Promise<Thread | null>

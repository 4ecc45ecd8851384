import type { BaseValue, MissingKey, PartialView, ReplicaOrigin, StateSyncStep } from '../../chain/index.ts'
import type { Compat } from '../../compat.ts'
import type { ChainConfig, ConsoleCalls, Tier1Settings } from '../../evm/index.ts'

// The messages between the main thread and a worker thread: plain data, for structured cloning.

export interface InitMessage {
  readonly kind: 'init'
  readonly config: ChainConfig
  /** null: the chain is not a fork */
  readonly origin: ReplicaOrigin | null
  readonly compat: Compat
  readonly tier1: Omit<Tier1Settings, 'onMismatch'>
}

export interface TaskMessage {
  readonly kind: 'task'
  readonly method: string
  readonly args: readonly unknown[]
  /** null: that of the previous task */
  readonly slice: PartialView | null
  /** part of its time limit that was used before this message */
  readonly spentMs: number
}

/** Values of the fork block, before the task that lacked them is posted again. */
interface BaseMessage {
  readonly kind: 'base'
  readonly values: readonly BaseValue[]
}

/** One `init`, then the state, then tasks: the next one when the last one was answered. */
export type ToThread = InitMessage | { readonly kind: 'sync'; readonly steps: readonly StateSyncStep[] } | BaseMessage | TaskMessage

export type FromThread =
  /** its modules are loaded */
  | { readonly kind: 'ready' }
  /** JSON */
  | { readonly kind: 'answer'; readonly text: string; readonly console: ConsoleCalls | null }
  | {
      readonly kind: 'refusal'
      readonly code: number
      readonly message: string
      readonly data: unknown
      readonly console: ConsoleCalls | null
    }
  /** values of the fork block that the task needs */
  | { readonly kind: 'missing'; readonly keys: readonly MissingKey[]; readonly tookMs: number }
  | { readonly kind: 'bug'; readonly report: string }

/** A worker thread, as its parent uses it. */
export interface Thread {
  readonly post: (message: ToThread) => void
  /** Called once, before the first message is posted. `onEnd` receives the reason. */
  readonly listen: (onMessage: (message: FromThread) => void, onEnd: (why: string) => void) => void
  /** A held thread keeps the process alive; a new thread is not held. */
  readonly hold: (isHeld: boolean) => void
  /** Terminates the thread, also during a computation. */
  readonly end: () => Promise<void>
}

/** Null: this platform has no threads. */
export type StartThread = () => Promise<Thread | null>

import { build } from '../../../scripts/setup.mjs'
import type { StartThread, Thread, ToThread } from './messages.ts'
import { nodeThreads } from './nodethread.ts'

/** Worker threads of Node, with a record of the messages to them. */
export interface Threads {
  readonly start: StartThread
  readonly started: Thread[]
  /** each resolves with the reason when its thread has ended */
  readonly ended: Promise<string>[]
  /** kinds of the messages to all threads, in order */
  readonly posted: ToThread['kind'][]
  /** Returns how many tasks were posted. */
  readonly tasks: () => number
}

/** Builds the compiled program, which threads run. */
export function buildThreads(): void {
  build()
}

/** Requires `buildThreads`. */
export function threads(): Threads {
  const startNode = nodeThreads(new URL('../../../dist/rpc/workers/entry.js', import.meta.url))
  const started: Thread[] = []
  const ended: Promise<string>[] = []
  const posted: ToThread['kind'][] = []
  const start = async () => {
    const thread = await startNode()
    if (thread === null) throw new Error('this platform has no threads')
    started.push(thread)
    let end: (why: string) => void = () => {}
    ended.push(new Promise((resolve) => (end = resolve)))
    const listen: Thread['listen'] = (onMessage, onEnd) => {
      thread.listen(onMessage, (why) => {
        end(why)
        onEnd(why)
      })
    }
    const post = (message: ToThread) => {
      posted.push(message.kind)
      thread.post(message)
    }
    return { ...thread, post, listen }
  }
  return { start, started, ended, posted, tasks: () => posted.filter((kind) => kind === 'task').length }
}

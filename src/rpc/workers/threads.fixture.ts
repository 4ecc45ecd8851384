import { build } from '../../../scripts/setup.mjs'
import type { StartThread, Thread, ToThread } from './messages.ts'
import { nodeThreads } from './nodethread.ts'

/** Threads as the product has them, and what they were told. */
export interface Threads {
  readonly start: StartThread
  readonly started: Thread[]
  /** why each of them ended, when it has */
  readonly ended: Promise<string>[]
  /** kinds of the messages to all of them, in order */
  readonly told: ToThread['kind'][]
  /** how many tasks they were given */
  readonly tasks: () => number
}

/** Threads begin with compiled code: brings it up to date. */
export function buildThreads(): void {
  build()
}

/** After `buildThreads`. */
export function threads(): Threads {
  const startNode = nodeThreads(new URL('../../../dist/rpc/workers/entry.js', import.meta.url))
  const started: Thread[] = []
  const ended: Promise<string>[] = []
  const told: ToThread['kind'][] = []
  const start = async () => {
    const thread = await startNode()
    if (thread === null) throw new Error('there are no threads here')
    started.push(thread)
    let end: (why: string) => void = () => {}
    ended.push(new Promise((resolve) => (end = resolve)))
    const listen: Thread['listen'] = (heard, over) => {
      thread.listen(heard, (why) => {
        end(why)
        over(why)
      })
    }
    const post = (message: ToThread) => {
      told.push(message.kind)
      thread.post(message)
    }
    return { ...thread, post, listen }
  }
  return { start, started, ended, told, tasks: () => told.filter((kind) => kind === 'task').length }
}

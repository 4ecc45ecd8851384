import type { StartThread } from './messages.ts'

/** Beside this file once it is compiled; sources run without threads. */
const ENTRY = import.meta.url.endsWith('.js') ? new URL('./entry.js', import.meta.url) : null

/** Starts threads of Node. What that needs is loaded with the first one: a browser never gets there. */
export function nodeThreads(entry: URL | null = ENTRY): StartThread {
  return async () => {
    if (entry === null) return null
    const { Worker } = await import('node:worker_threads')
    const worker = new Worker(entry, { name: 'pocketchain call' })
    worker.unref()
    return {
      post: (message) => worker.postMessage(message, []),
      listen: (heard, ended) => {
        let why = 'it ended by itself'
        worker.on('message', heard)
        worker.on('messageerror', (error) => (why = error.message))
        worker.on('error', (error: unknown) => (why = error instanceof Error ? (error.stack ?? error.message) : String(error)))
        worker.on('exit', () => ended(why))
      },
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      end: async () => {
        await worker.terminate()
      },
    }
  }
}

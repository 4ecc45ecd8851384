import type { StartThread } from './messages.ts'

/** In the same folder of the compiled program; null when the sources run. */
const ENTRY = import.meta.url.endsWith('.ts') ? null : new URL('./entry.js', import.meta.url)

/** Starts threads of Node. Imports `node:worker_threads` with the first one, because browsers lack it. */
export function nodeThreads(entry: URL | null = ENTRY): StartThread {
  return async () => {
    if (entry === null) return null
    const { Worker } = await import('node:worker_threads')
    const worker = new Worker(entry, { name: 'pocketchain call' })
    worker.unref()
    return {
      post: (message) => worker.postMessage(message, []),
      listen: (onMessage, onEnd) => {
        let why = 'it exited'
        worker.on('message', onMessage)
        worker.on('messageerror', (error) => (why = error.message))
        worker.on('error', (error: unknown) => (why = error instanceof Error ? (error.stack ?? error.message) : String(error)))
        worker.on('exit', () => onEnd(why))
      },
      hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
      end: async () => {
        await worker.terminate()
      },
    }
  }
}

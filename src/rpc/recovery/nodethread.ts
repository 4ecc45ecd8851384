import type { StartRecoveryThread } from './senders.ts'

/** In the same folder of the compiled program; null when the sources run. */
const ENTRY = import.meta.url.endsWith('.ts') ? null : new URL('./thread.js', import.meta.url)

/** Starts a thread of Node, which does not keep the process alive. Imports `node:worker_threads` then, because browsers lack it. */
export function nodeRecoveryThread(entry: URL | null = ENTRY): StartRecoveryThread | null {
  if (entry === null) return null
  return async (shared, onEnd) => {
    const { Worker } = await import('node:worker_threads')
    const worker = new Worker(entry, { name: 'pocketchain senders', workerData: shared })
    worker.unref()
    worker.on('error', onEnd)
    worker.on('exit', () => onEnd(new Error('the thread that recovers senders has ended')))
    return async () => void (await worker.terminate())
  }
}

import { parentPort } from 'node:worker_threads'
import { threadService } from './threadservice.ts'

// The program of a worker thread.

if (parentPort === null) throw new Error('this file is for worker threads')
const port = parentPort
port.on(
  'message',
  threadService((message) => port.postMessage(message)),
)

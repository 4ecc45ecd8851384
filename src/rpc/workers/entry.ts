import { parentPort } from 'node:worker_threads'
import { desk } from './desk.ts'

// What a thread of Node begins with.

if (parentPort === null) throw new Error('this file is for worker threads')
const port = parentPort
port.on(
  'message',
  desk((message) => port.postMessage(message)),
)

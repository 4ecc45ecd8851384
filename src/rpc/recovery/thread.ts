import { workerData } from 'node:worker_threads'
import { Secp256k1 } from '../../eth/index.ts'
import { SignatureRing } from './ring.ts'

// The program of the thread that recovers senders.

const ring = new SignatureRing(workerData as SharedArrayBuffer) // by nodethread.ts
for (let position = 0; ; position = (position + 1) | 0) {
  ring.waitFor(position)
  if (ring.take(position)) ring.finish(position, Secp256k1.recover)
}

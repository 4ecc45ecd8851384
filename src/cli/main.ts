#!/usr/bin/env node
import './nodeversion.ts'
import { setFlagsFromString } from 'node:v8'
import { EXIT } from './exit.ts'
import { run } from './run.ts'

// V8 collects garbage once the old space has grown by this share, by default by up to three times. 100,000 mined blocks then take 205 MB instead of
// 306, and 20 s of CPU instead of 18 (one run each, on a busy machine). It is an option of the command because the heap of a program that imports
// pocketchain is the program's.
setFlagsFromString('--heap-growing-percent=50')

const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second signal ends the process without waiting for open requests.
    if (stop.signal.aborted) process.exit(EXIT.good)
    stop.abort()
  })
}
// EPIPE: the node continues when the reader of its output ends (`pocketchain | head`).
process.stdout.on('error', () => undefined)
process.stderr.on('error', () => undefined)

try {
  process.exitCode = await run(process.argv.slice(2), {
    env: process.env,
    folder: process.cwd(),
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    coloured: process.stdout.isTTY,
    isRewritable: process.stderr.isTTY,
    stop: stop.signal,
  })
} catch (error) {
  process.stderr.write(`pocketchain: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exitCode = EXIT.failed
}

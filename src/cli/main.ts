#!/usr/bin/env node
import './nodeversion.ts'
import './v8flags.ts'
import { saveBytecode } from './codecache.ts'
import { EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import { run } from './run.ts'

/** A connection to a host that has vanished, and output that is not read, would keep a stopped process alive. */
const LEFT_OPEN_MS = 500
/** A signal within this time is a copy of the first: npm passes on a signal that the terminal has sent to its whole process group. */
const COPY_MS = 500
/** By then the first client has usually connected, and the code of its requests is compiled. */
const SAVE_BYTECODE_AFTER_MS = 1_000
/** By then, or at the end, a test run has used most methods: the first 400 requests of later ones take 7 % less CPU time. */
const SAVE_BYTECODE_AGAIN_AFTER_MS = 20_000

let isBytecodeSaved = false
const stop = new AbortController()
let stoppedMs = 0
let abandon: () => ExitCode = () => EXIT.good
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!stop.signal.aborted) {
      stoppedMs = performance.now()
      stop.abort()
    } else if (signal !== 'SIGHUP' && performance.now() - stoppedMs > COPY_MS) {
      // Without waiting for open requests. A terminal that is closed may send SIGHUP several times.
      process.exit(abandon())
    }
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
    drained: () => (process.stdout.writableNeedDrain ? new Promise((resolve) => process.stdout.once('drain', resolve)) : null),
    err: (text) => process.stderr.write(text),
    coloured: process.stdout.isTTY,
    isRewritable: process.stderr.isTTY,
    stop: stop.signal,
    onDump: (giveUp) => (abandon = giveUp),
    onReady: () => {
      setTimeout(() => {
        isBytecodeSaved = true
        saveBytecode(false)
      }, SAVE_BYTECODE_AFTER_MS).unref()
      setTimeout(saveBytecode, SAVE_BYTECODE_AGAIN_AFTER_MS, true).unref()
    },
  })
  // Not after a shorter run, whose bytecode later ones would have to be content with.
  if (isBytecodeSaved) saveBytecode(true)
} catch (error) {
  process.stderr.write(`pocketchain: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  process.exitCode = EXIT.failed
}
if (stop.signal.aborted) setTimeout(() => process.exit(), LEFT_OPEN_MS).unref()

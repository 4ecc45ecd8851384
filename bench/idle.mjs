// node --expose-gc bench/idle.mjs [hours]: memory of an idle node. Needs a build (npm run build).
// With the manual clock an hour of blocks takes seconds. The heap is measured after each hour. At the end a reset drops all retained
// blocks; heap above the start value is growth not caused by blocks. At most 4 hours: after 8,192 blocks the oldest state is dropped, and a
// reset then keeps the rest of it until it is pruned.
import { createPocketchain } from '../dist/exports/index.js'

const HOURS = Math.min(4, Number(process.argv[2] ?? 4))
const HOUR_MS = 3_600_000
/** Advances in steps, so that timers and sockets run as in real time. */
const STEP_MS = 60_000
const GOAL_MB = 10

if (globalThis.gc === undefined) throw new Error('run it with node --expose-gc')
const node = await createPocketchain({ clock: 'manual', timestamp: 1_700_000_000 })
const server = await node.listen()
const { chain } = node
// Code and caches of the first minutes do not count as growth.
await advance(HOUR_MS / 6)
await chain.reset()
const startMb = await heapMb()
print('start', startMb, 0)
let lastMb = startMb
for (let hour = 1; hour <= HOURS; hour++) {
  const startedMs = performance.now()
  const before = chain.head.view.head.header.number
  await advance(HOUR_MS)
  const blocks = chain.head.view.head.header.number - before
  const mb = await heapMb()
  print(
    `hour ${hour}`,
    mb,
    mb - lastMb,
    `${blocks} blocks, ${(((mb - lastMb) * 1024) / blocks).toFixed(2)} KB each, ${Math.round(performance.now() - startedMs)} ms`,
  )
  lastMb = mb
}
const { rss } = process.memoryUsage()
await chain.reset()
const beyondMb = (await heapMb()) - startMb
print(
  'without blocks',
  startMb + beyondMb,
  beyondMb,
  `${(beyondMb / HOURS).toFixed(2)} MB per idle hour beyond the kept blocks, goal below ${GOAL_MB}`,
)
console.log(`resident before that: ${(rss / 2 ** 20).toFixed(0)} MB`)
await server.close()
await node.close()
process.exitCode = beyondMb / HOURS < GOAL_MB ? 0 : 1

async function advance(durationMs) {
  for (let doneMs = 0; doneMs < durationMs; doneMs += STEP_MS) {
    await chain.clock.advance(STEP_MS)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Objects and their buffers. Collects twice, since finalizers of the first run release more. */
async function heapMb() {
  for (let i = 0; i < 2; i++) {
    globalThis.gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return (heapUsed + external) / 2 ** 20
}

function print(name, mb, growthMb, note = '') {
  console.log(`${name.padEnd(15)} ${mb.toFixed(1).padStart(7)} MB ${growthMb.toFixed(1).padStart(7)} MB more  ${note}`)
}

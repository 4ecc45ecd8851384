import { writeSync } from 'node:fs'
import type { Address } from '../eth/index.ts'
import { ForkCache } from './forkcache.ts'
import { ForkState } from './forkstate.ts'
import { resolveForkBlock } from './pin.ts'
import { slotOf } from './upstream.fixture.ts'
import { Upstream } from './upstream.ts'

/*
 * A program that tests kill: `reader.fixture.js <url> <cache path> <address> <first slot> <slots>`. It fetches one slot per round, and prints a line
 * for each.
 */

const [url = '', path = '', address = '', first = '0', count = '0'] = process.argv.slice(2)
const upstream = new Upstream([url])
const cache = new ForkCache(path, { warn: (line) => writeSync(2, `${line}\n`) })
const state = new ForkState({ upstream, block: await resolveForkBlock(upstream, { blockNumber: 98 }, cache), cache })
for (let i = Number(first); i < Number(first) + Number(count); i++) {
  await state.fetch([{ kind: 'slot', address: address as Address, slot: slotOf(i) }])
  writeSync(1, `slot ${i}\n`)
}
await state.close()

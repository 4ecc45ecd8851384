// Empty blocks by the thousand.
import { NoAnswer } from '../load.mjs'

const BLOCKS = 100_000
const QUICK_BLOCKS = 5_000
const LIMIT_MS = 60_000
/** Before all of them a part is mined, which says how long all would take. */
const PART = 20
const METHODS = { ours: 'anvil_mine', anvil: 'anvil_mine', hardhat: 'hardhat_mine' }

export async function mining(field) {
  const blocks = field.options.quick ? QUICK_BLOCKS : BLOCKS
  const [cells, memory] = [{}, {}]
  for (const name of field.names) {
    const peer = await field.start(name, 'held')
    try {
      const partMs = name === 'ours' ? 0 : await mine(field, peer, blocks / PART)
      if (partMs * PART > LIMIT_MS) {
        cells[name] = (partMs * PART) / 1_000
        field.report.note(
          `mining: ${name} made ${blocks / PART} blocks in ${(partMs / 1_000).toFixed(1)} s; what stands for all of them is ${PART} times that.`,
        )
      } else {
        cells[name] = (await mine(field, peer, blocks)) / 1_000
        memory[name] = peer.anonymousMb
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      cells[name] = Infinity
      field.report.note(`mining: ${name} was not done after ${LIMIT_MS / 1_000} s and was ended.`)
      peer.kill()
    }
    await field.stop(peer)
  }
  const name = `anvil_mine of ${blocks.toLocaleString('en-US')} blocks`
  field.report.value({ group: 'mining', name, unit: 's', better: 'less', cells })
  field.report.value({ group: 'memory', name: `RssAnon after ${name}`, unit: 'MB', better: 'less', cells: memory })
  if ('hardhat' in cells) field.report.note('mining: Hardhat makes no such blocks, it notes that they exist (hardhat_mine reserves them).')
}

/** @returns {Promise<number>} milliseconds */
async function mine(field, peer, blocks) {
  field.say(`mining ${blocks} empty blocks, ${peer.name}`)
  const before = Number(await peer.rpc('eth_blockNumber'))
  const startMs = performance.now()
  await peer.rpc(METHODS[peer.name], [`0x${blocks.toString(16)}`], LIMIT_MS)
  const elapsedMs = performance.now() - startMs
  const mined = Number(await peer.rpc('eth_blockNumber')) - before
  if (mined !== blocks) field.report.complain(`mining: ${peer.name} mined ${mined} blocks and not ${blocks}`)
  return elapsedMs
}

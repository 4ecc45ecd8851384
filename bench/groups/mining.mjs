// Thousands of empty blocks.
import { NoAnswer } from '../load.mjs'

const BLOCKS = 100_000
const QUICK_BLOCKS = 5_000
const LIMIT_MS = 60_000
/** A part is mined first to estimate the total time. */
const PART = 20
const METHODS = { ours: 'anvil_mine', anvil: 'anvil_mine', hardhat: 'hardhat_mine' }

export async function mining(participants) {
  const blocks = participants.options.quick ? QUICK_BLOCKS : BLOCKS
  const [cells, memory] = [{}, {}]
  for (const name of participants.names) {
    const peer = await participants.start(name, 'held')
    try {
      const partMs = name === 'ours' ? 0 : await mine(participants, peer, blocks / PART)
      if (partMs * PART > LIMIT_MS) {
        cells[name] = (partMs * PART) / 1_000
        participants.report.note(
          `mining: ${name} made ${blocks / PART} blocks in ${(partMs / 1_000).toFixed(1)} s; the time for all of them is extrapolated, ${PART} times that.`,
        )
      } else {
        cells[name] = (await mine(participants, peer, blocks)) / 1_000
        memory[name] = peer.anonymousMb
      }
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      cells[name] = Infinity
      participants.report.note(`mining: ${name} did not finish within ${LIMIT_MS / 1_000} s and was stopped.`)
      peer.kill()
    }
    await participants.stop(peer)
  }
  const name = `anvil_mine of ${blocks.toLocaleString('en-US')} blocks`
  participants.report.value({ group: 'mining', name, unit: 's', better: 'less', cells })
  participants.report.value({ group: 'memory', name: `RssAnon after ${name}`, unit: 'MB', better: 'less', cells: memory })
  if ('hardhat' in cells) participants.report.note('mining: hardhat_mine reserves empty blocks without building them.')
}

/** @returns {Promise<number>} milliseconds */
async function mine(participants, peer, blocks) {
  participants.say(`mining ${blocks} empty blocks, ${peer.name}`)
  const before = Number(await peer.rpc('eth_blockNumber'))
  const startMs = performance.now()
  await peer.rpc(METHODS[peer.name], [`0x${blocks.toString(16)}`], LIMIT_MS)
  const elapsedMs = performance.now() - startMs
  const mined = Number(await peer.rpc('eth_blockNumber')) - before
  if (mined !== blocks) participants.report.complain(`mining: ${peer.name} mined ${mined} blocks and not ${blocks}`)
  return elapsedMs
}

// Empty blocks by the thousand.
import { NoAnswer } from '../load.mjs'

const BLOCKS = 100_000
const QUICK_BLOCKS = 5_000
const LIMIT_MS = 60_000
const METHODS = { ours: 'anvil_mine', anvil: 'anvil_mine', hardhat: 'hardhat_mine' }

export async function mining(field) {
  const blocks = field.options.quick ? QUICK_BLOCKS : BLOCKS
  const [cells, memory] = [{}, {}]
  for (const name of field.names) {
    const peer = await field.start(name, 'held')
    field.say(`mining ${blocks} empty blocks, ${name}`)
    const startMs = performance.now()
    try {
      await peer.rpc(METHODS[name], [`0x${blocks.toString(16)}`], LIMIT_MS)
      cells[name] = (performance.now() - startMs) / 1_000
      const height = Number(await peer.rpc('eth_blockNumber'))
      if (height !== blocks) field.report.complain(`mining: ${name} is at block ${height} and not ${blocks}`)
      memory[name] = peer.anonymousMb
      await field.stop(peer)
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error
      cells[name] = Infinity
      field.report.note(`mining: ${name} was not done after ${LIMIT_MS / 1_000} s and was ended.`)
      await field.kill(peer)
    }
  }
  const name = `anvil_mine of ${blocks.toLocaleString('en-US')} blocks`
  field.report.value({ group: 'mining', name, unit: 's', better: 'less', cells })
  field.report.value({ group: 'memory', name: `RssAnon after ${name}`, unit: 'MB', better: 'less', cells: memory })
  if ('hardhat' in cells) field.report.note('mining: Hardhat makes no such blocks, it notes that they exist (hardhat_mine reserves them).')
}

// From the spawn to the first response, with default options.
import { Peer } from '../peers.mjs'
import { median } from '../table.mjs'

const STARTS = 7
const QUICK_STARTS = 2

export async function starts(participants) {
  const times = participants.options.quick ? QUICK_STARTS : STARTS
  const samples = Object.fromEntries(participants.names.map((name) => [name, { ms: [], mb: [] }]))
  for (let i = 0; i < times; i++) {
    for (const name of participants.names) {
      participants.say(`starting ${name}, ${i + 1} of ${times}`)
      const peer = await Peer.start(participants.program(name))
      samples[name].ms.push(peer.startedMs)
      samples[name].mb.push(peer.residentMb)
      await peer.stop()
    }
  }
  const cells = (what) => Object.fromEntries(Object.entries(samples).map(([name, sample]) => [name, median(sample[what])]))
  participants.report.value({ group: 'start', name: 'spawn to first response', unit: 'ms', better: 'less', cells: cells('ms') })
  participants.report.value({
    group: 'memory',
    name: 'resident at the first response, code included',
    unit: 'MB',
    better: 'less',
    cells: cells('mb'),
  })
}

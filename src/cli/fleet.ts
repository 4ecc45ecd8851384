import { FleetError, fleetStatus, handOver } from '../fleet/index.ts'
import type { FleetReport } from '../fleet/index.ts'
import type { FleetCommand } from './command.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Settings } from './options.ts'
import type { Terminal } from './terminal.ts'

/** `pocketchain fleet status` and `fleet hand-over`. Throws CommandError. */
export async function runFleet(command: FleetCommand, { fleet, database, json }: Settings, { out }: Terminal): Promise<ExitCode> {
  if (fleet === null || database === null) throw new CommandError(EXIT.usage, `${command} needs --fleet <url> and --database <url>`)
  try {
    if (command === 'fleet status') {
      const report = await fleetStatus({ nats: fleet, database })
      out(json ? `${JSON.stringify(report)}\n` : statusText(report))
    } else {
      const sequencer = await handOver({ nats: fleet, database })
      out(json ? `${JSON.stringify({ sequencer })}\n` : `${sequencer} is the sequencer now\n`)
    }
    return EXIT.good
  } catch (error) {
    throw error instanceof FleetError ? new CommandError(EXIT.failed, error.message, error) : error
  }
}

function statusText({ holder, epoch, leaseMs, head, members }: FleetReport): string {
  const lease = leaseMs !== null && leaseMs > 0 ? `for ${Math.round(leaseMs)} ms more unless it is renewed` : 'ended'
  const lines = members.map(({ name, role, isSequencer, head: number, lagMs, counts, problem }) => {
    const part = isSequencer ? 'sequencer' : role === 'sequencer' ? 'standby' : role
    const lag = isSequencer ? '' : `  lag ${lagMs} ms  gaps ${counts.gaps}  repaired ${counts.repairedFrames}  resyncs ${counts.resyncs}`
    return `${part.padEnd(10)}${name.padEnd(32)}block ${number}${lag}${problem === null ? '' : `  ${problem}`}\n`
  })
  return `epoch ${epoch}, lease of ${holder ?? 'nobody'}, ${lease}; newest block ${head}\n${lines.join('')}`
}

import { FleetError, fleetStatus, handOver, verifyFleet } from '../fleet/index.ts'
import type { FleetReport } from '../fleet/index.ts'
import type { FleetCommand } from './command.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import { Progress } from './log/progress.ts'
import type { Invocation } from './settings.ts'
import { type Terminal, grouped } from './terminal.ts'

/** `pocketchain fleet status`, `hand-over` and `verify`. Throws CommandError. */
export async function runFleet(command: FleetCommand, { settings, range }: Invocation, terminal: Terminal): Promise<ExitCode> {
  const { fleet, database, json } = settings
  const print = (value: object, text: string) => terminal.out(json ? `${JSON.stringify(value)}\n` : text)
  try {
    if (command === 'fleet verify') {
      if (database === null) throw new CommandError(EXIT.usage, `${command} needs --database <url>`)
      const verified = await verifyFleet(database, { ...numbersOf(range), onProgress: progressOn(terminal) })
      print(verified, `blocks ${verified.from} to ${verified.to} with ${verified.transactions} transactions are as they were committed\n`)
      return EXIT.good
    }
    if (fleet === null || database === null) throw new CommandError(EXIT.usage, `${command} needs --fleet <url> and --database <url>`)
    if (command === 'fleet status') {
      const report = await fleetStatus({ nats: fleet, database })
      print(report, statusText(report))
    } else {
      const sequencer = await handOver({ nats: fleet, database })
      print({ sequencer }, `${sequencer} is the sequencer now\n`)
    }
    return EXIT.good
  } catch (error) {
    throw error instanceof FleetError
      ? new CommandError(error.reason === 'options' ? EXIT.usage : EXIT.failed, error.message, error)
      : error
  }
}

function numbersOf(range: Invocation['range']): { readonly from?: number; readonly to?: number } {
  return Object.fromEntries(Object.entries(range).map(([name, text]) => [name, blockNumber(name, text)]))
}

function blockNumber(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new CommandError(EXIT.usage, `--${name}: expected the number of a block, not ${JSON.stringify(text.slice(0, 50))}`)
}

/** A line each second. */
function progressOn({ err }: Terminal): (number: number, to: number) => void {
  const progress = new Progress({ line: (line) => err(`pocketchain: ${line}\n`), rewrite: null, intervalMs: 1_000 })
  return (number, to) => progress.update(() => `verified: block ${grouped(number)} of ${grouped(to)}`)
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

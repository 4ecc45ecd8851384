import type { Cadence } from '../chain/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { CadenceName, Settings } from './options.ts'

/** When blocks come, from the options that speak of it. Throws CommandError when they contradict each other. */
export function cadenceOf(settings: Settings): Cadence {
  const kind = kindOf(settings)
  if (settings.flashblockTime !== null && kind !== 'preconf') throw contradiction('--flashblock-time', kind, 'preconf')
  if (settings.blockTime !== null && (kind === 'instant' || kind === 'manual'))
    throw contradiction('--block-time', kind, 'preconf or native')
  return BUILD[kind](settings)
}

/** One line for people. */
export function cadenceText(cadence: Cadence): string {
  if (cadence.kind === 'preconf') return `every ${cadence.blockTimeMs / 1_000} s, promised every ${cadence.flashblockMs} ms (preconf)`
  if (cadence.kind === 'native') return `every ${cadence.blockTimeMs} ms (native)`
  return cadence.kind === 'instant' ? 'one per transaction (instant)' : 'only when told (manual)'
}

/** An imported chain stands still unless somebody says otherwise: its blocks are what one wants to look at. */
function kindOf(settings: Settings): CadenceName {
  if (settings.noMining) {
    if (settings.cadence !== null && settings.cadence !== 'manual') throw contradiction('--no-mining', settings.cadence, 'manual')
    return 'manual'
  }
  return settings.cadence ?? (settings.import === null || settings.blockTime !== null ? 'preconf' : 'manual')
}

const BUILD: Readonly<Record<CadenceName, (settings: Settings) => Cadence>> = {
  preconf: ({ blockTime, flashblockTime }) => {
    const blockTimeMs = blockTime ?? 2_000
    if (blockTimeMs % 1_000 !== 0)
      throw new CommandError(
        EXIT.usage,
        '--block-time must be whole seconds under --cadence preconf; --cadence native has blocks every 0.2 s',
      )
    const flashblockMs = flashblockTime ?? 200
    if (flashblockMs > blockTimeMs) throw new CommandError(EXIT.usage, '--flashblock-time must not be longer than the block time')
    return { kind: 'preconf', blockTimeMs, flashblockMs }
  },
  native: ({ blockTime }) => {
    const blockTimeMs = blockTime ?? 200
    // The BaseTime predeploy takes the millisecond parts 0, 200, 400, 600 and 800 only.
    if (blockTimeMs % 200 !== 0) throw new CommandError(EXIT.usage, '--block-time must be a multiple of 0.2 under --cadence native')
    return { kind: 'native', blockTimeMs }
  },
  instant: () => ({ kind: 'instant' }),
  manual: () => ({ kind: 'manual' }),
}

function contradiction(flag: string, kind: string, wanted: string): CommandError {
  return new CommandError(EXIT.usage, `${flag} has no meaning under --cadence ${kind}; it goes with ${wanted}`)
}

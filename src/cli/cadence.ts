import { CADENCES, cadenceProblem } from '../chain/index.ts'
import type { Cadence, CadenceKind } from '../chain/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { Settings } from './options.ts'

/** Returns the cadence of the settings. Throws CommandError if they contradict each other. */
export function cadenceOf(settings: Settings): Cadence {
  const kind = kindOf(settings)
  if (settings.flashblockTime !== null && kind !== 'preconf') throw contradiction('--flashblock-time', kind, 'preconf')
  if (settings.blockTime !== null && (kind === 'instant' || kind === 'manual'))
    throw contradiction('--block-time', kind, 'preconf or native')
  const cadence = BUILD[kind](settings)
  const problem = cadenceProblem(cadence)
  if (problem !== null) throw new CommandError(EXIT.usage, problem)
  return cadence
}

/** Describes a cadence in one line. */
export function cadenceText(cadence: Cadence): string {
  if (cadence.kind === 'preconf') return `every ${cadence.blockTimeMs / 1_000} s, flashblocks every ${cadence.flashblockMs} ms (preconf)`
  if (cadence.kind === 'native') return `every ${cadence.blockTimeMs} ms (native)`
  return cadence.kind === 'instant' ? 'one per transaction (instant)' : 'on request (manual)'
}

/** The default for an imported chain is manual, so that its last block stays the head. */
function kindOf(settings: Settings): CadenceKind {
  if (settings.noMining) {
    if (settings.cadence !== null && settings.cadence !== 'manual') throw contradiction('--no-mining', settings.cadence, 'manual')
    return 'manual'
  }
  return settings.cadence ?? (settings.import === null || settings.blockTime !== null ? 'preconf' : 'manual')
}

const BUILD: Readonly<Record<CadenceKind, (settings: Settings) => Cadence>> = {
  preconf: ({ blockTime, flashblockTime }) => {
    if (blockTime === null && flashblockTime === null) return CADENCES.preconf
    const blockTimeMs = blockTime ?? CADENCES.preconf.blockTimeMs
    if (blockTimeMs % 1_000 !== 0)
      throw new CommandError(
        EXIT.usage,
        '--block-time must be whole seconds under --cadence preconf; --cadence native accepts multiples of 0.2',
      )
    return { kind: 'preconf', blockTimeMs, flashblockMs: flashblockTime ?? CADENCES.preconf.flashblockMs }
  },
  native: ({ blockTime: blockTimeMs }) => (blockTimeMs === null ? CADENCES.native : { kind: 'native', blockTimeMs }),
  instant: () => ({ kind: 'instant' }),
  manual: () => ({ kind: 'manual' }),
}

function contradiction(flag: string, kind: string, required: string): CommandError {
  return new CommandError(EXIT.usage, `${flag} has no effect under --cadence ${kind}; it requires ${required}`)
}

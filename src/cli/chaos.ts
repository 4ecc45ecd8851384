import { readFileSync } from 'node:fs'
import { CHAOS_PROFILES } from '../chain/index.ts'
import type { ChaosName, ChaosProfile } from '../chain/index.ts'
import { parseChaosProfile } from '../node/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ChaosSource, Settings } from './options.ts'

/** Reads and validates the profile of `--chaos`; null without the option. Throws CommandError with the file and the key. */
export function chaosProfileOf({ chaos: source }: Pick<Settings, 'chaos'>): ChaosName | ChaosProfile | null {
  if (source === null || source.kind === 'name') return source === null ? null : source.name
  try {
    return parseChaosProfile(source.kind === 'file' ? readJson(source) : source.profile)
  } catch (error) {
    if (error instanceof RangeError) throw unusable(source, error.message)
    throw error
  }
}

function readJson(source: ChaosSource & { readonly kind: 'file' }): unknown {
  try {
    return JSON.parse(readFileSync(source.path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const names = Object.keys(CHAOS_PROFILES).join(', ')
    throw unusable(
      source,
      error instanceof SyntaxError ? `is not JSON: ${reason}` : `is none of ${names}, and cannot be read as a file: ${reason}`,
    )
  }
}

/** Rates in the configuration file are exit code 2, a file of its own 3. */
function unusable(source: ChaosSource, reason: string): CommandError {
  if (source.kind === 'file') return new CommandError(EXIT.file, `--chaos ${source.path}: ${reason}`)
  return new CommandError(EXIT.usage, `chaos: ${reason}`)
}

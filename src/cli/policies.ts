import { readFileSync } from 'node:fs'
import type { PolicyJson } from '../paymaster/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { PolicyPlace, Settings } from './options.ts'

/** The sponsor's policies, checked before anything starts; null: none are named. Throws CommandError that names the place and the field. */
export async function policiesOf({ sponsorPolicies: place }: Pick<Settings, 'sponsorPolicies'>): Promise<readonly PolicyJson[] | null> {
  if (place === null) return null
  const { parsePolicies } = await import('../paymaster/index.ts')
  const policies = place.kind === 'file' ? listIn(place.path) : place.list
  try {
    parsePolicies(policies)
  } catch (error) {
    if (error instanceof RangeError) throw unusable(place, error.message)
    throw error
  }
  return policies as readonly PolicyJson[] // that was just checked
}

function listIn(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw unusable({ kind: 'file', path }, error instanceof SyntaxError ? `is not JSON: ${why}` : `cannot be read: ${why}`)
  }
}

/** A list in the configuration file is a wrong key of it; another file is a file that cannot be used. */
function unusable(place: PolicyPlace, why: string): CommandError {
  if (place.kind === 'list') return new CommandError(EXIT.usage, `${place.source}: ${why}`)
  return new CommandError(EXIT.file, `--sponsor-policies ${place.path}: ${why}`)
}

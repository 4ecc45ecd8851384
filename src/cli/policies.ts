import { readFileSync } from 'node:fs'
import type { PolicyJson } from '../paymaster/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { PolicySource, Settings } from './options.ts'

/** Reads and validates the sponsor's policies; null without the option. Throws CommandError with the file and the field. */
export async function policiesOf({ sponsorPolicies: source }: Pick<Settings, 'sponsorPolicies'>): Promise<readonly PolicyJson[] | null> {
  if (source === null) return null
  const { parsePolicies } = await import('../paymaster/index.ts')
  const policies = source.kind === 'file' ? readJson(source.path) : source.list
  try {
    parsePolicies(policies)
  } catch (error) {
    if (error instanceof RangeError) throw unusable(source, error.message)
    throw error
  }
  return policies as readonly PolicyJson[] // validated by parsePolicies
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw unusable({ kind: 'file', path }, error instanceof SyntaxError ? `is not JSON: ${reason}` : `cannot be read: ${reason}`)
  }
}

/** A list in the configuration file is exit code 2, a policy file 3. */
function unusable(source: PolicySource, reason: string): CommandError {
  if (source.kind === 'list') return new CommandError(EXIT.usage, `${source.source}: ${reason}`)
  return new CommandError(EXIT.file, `--sponsor-policies ${source.path}: ${reason}`)
}

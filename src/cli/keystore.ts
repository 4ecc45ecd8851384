import { readFileSync } from 'node:fs'
import { KeystoreError, openKeystore } from '../wallet/index.ts'
import type { Keystore } from '../wallet/index.ts'
import { CommandError, EXIT } from './exit.ts'
import type { Settings } from './options.ts'
import type { Variables } from './settings.ts'

/** The variable with the password. There is no flag for it: every user of the machine can read command lines. */
const PASSWORD = 'POCKETCHAIN_KEYSTORE_PASSWORD'

/** Opens the file of --keystore; null without that option. Throws CommandError. */
export async function keystoreOf(settings: Settings, env: Variables): Promise<Keystore | null> {
  const { keystore, keystorePasswordFile } = settings
  if (keystore === null) return null
  const password = passwordOf(keystorePasswordFile, env)
  try {
    return await openKeystore(keystore, password)
  } catch (error) {
    if (error instanceof KeystoreError) throw new CommandError(EXIT.file, `--keystore: ${error.message}`, error)
    throw error
  }
}

function passwordOf(file: string | null, env: Variables): string {
  const password = file === null ? env[PASSWORD] : firstLine(file)
  if (password !== undefined) return password
  throw new CommandError(
    EXIT.usage,
    `--keystore requires a password: set ${PASSWORD}, or name a file that contains it with --keystore-password-file`,
  )
}

function firstLine(path: string): string {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/, 1)[0] ?? ''
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CommandError(EXIT.file, `--keystore-password-file ${path} cannot be read: ${why}`)
  }
}

// `npm start`: set up what is missing, then be the command. The same process, so signals, exit code and terminal are the command's own.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT, SetUpFailed, setUp } from './setup.mjs'

try {
  setUp()
} catch (error) {
  if (!(error instanceof SetUpFailed)) throw error
  process.stderr.write(`pocketchain: set-up failed: ${error.message}\n`)
  process.exit(1)
}
const command = join(ROOT, 'dist', 'cli', 'main.js')
process.argv[1] = command
await import(pathToFileURL(command).href)

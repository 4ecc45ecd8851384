// `npm start`: sets up what is missing, then runs the command in the same process, which keeps arguments, exit code, terminal and Ctrl-C.
import './version.mjs'
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
if (process.env['npm_lifecycle_event'] === 'start') endWithParent()
const command = join(ROOT, 'dist', 'cli', 'main.js')
process.argv[1] = command
await import(pathToFileURL(command).href)

/**
 * npm runs a script through a shell and sends SIGTERM to the shell only, which ends without a signal to this process: the node would keep running
 * and keep its port. A change of the parent process id shows that the shell ended.
 */
function endWithParent() {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    process.kill(process.pid, 'SIGTERM')
  }, 200)
  timer.unref()
}

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
 * and keep its port. A change of the parent process id shows that the shell ended; a signal to the whole process group has also reached this process.
 */
function endWithParent() {
  const parent = process.ppid
  let changes = 0
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    changes += 1
    // Not at the first tick, when a signal to the process group may still wait for this turn of the event loop to end.
    if (changes === 2) process.kill(process.pid, 'SIGTERM')
  }, 100)
  timer.unref()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.once(signal, () => {
      clearInterval(timer)
      // The command listens once it is loaded. Until then the signal ends the process, as it would without this listener.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
    })
  }
}

// Ten million logs through the store, in a separate process: see bench/store.mjs.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const QUICK_BLOCKS = 4_000

export async function store(participants) {
  const { quick, dist } = participants.options
  const args = [fileURLToPath(new URL('../store.mjs', import.meta.url)), '--json', '--dist', dist]
  if (quick) args.push('--blocks', String(QUICK_BLOCKS))
  participants.say('store: importing synthetic logs')
  const found = JSON.parse(await outputOf(args))
  if (found.missing !== undefined) {
    participants.report.note(`store: ${found.missing}`)
    return
  }
  for (const { name, unit, better, value } of found.rows)
    participants.report.value({ group: 'store', name, unit, better, cells: { ours: value } })
  for (const line of found.notes) participants.report.note(`store: ${line}`)
  for (const line of found.wrong) participants.report.complain(`store: ${line}`)
}

function outputOf(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', (chunk) => (text += chunk))
    child.once('close', (code) => (code === 0 ? resolve(text) : reject(new Error(`bench/store.mjs ended with ${code}`))))
  })
}

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** A compiled test program: Node 20 does not run TypeScript. */
export interface Program {
  readonly start: (...args: readonly string[]) => Running
  readonly remove: () => void
}

export interface Running {
  readonly process: ChildProcessWithoutNullStreams
  /** the lines of its output so far */
  readonly lines: readonly string[]
  /** Resolves with the first line that has this beginning; rejects if the program ends first. */
  readonly waitForOutput: (beginning: string) => Promise<string>
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null; readonly err: string }>
}

/** `entry`: relative to the root of the repository. */
export function compile(entry: string): Program {
  // in node_modules, so that the program's imports resolve
  const cache = join(ROOT, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const out = mkdtempSync(join(cache, 'storage-'))
  const config = join(out, 'tsconfig.json')
  const unchecked = { noCheck: true, allowJs: false, checkJs: false } // `npm test` checks the types
  const compilerOptions = { ...unchecked, noEmit: false, rootDir: ROOT, outDir: out, paths: {} }
  const files = [join(ROOT, entry)]
  writeFileSync(
    config,
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, files, include: [join(ROOT, 'src', '**', '*.d.ts')] }),
  )
  writeFileSync(join(out, 'package.json'), '{ "type": "module" }')
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  spawnSync(process.execPath, [tsc, '-p', config], { cwd: ROOT })
  const program = join(out, entry.replace(/\.ts$/, '.js'))
  return { start: (...args) => run([program, ...args]), remove: () => rmSync(out, { recursive: true, force: true }) }
}

function run(args: readonly string[]): Running {
  const child = spawn(process.execPath, args)
  const lines: string[] = []
  const waiting = new Set<() => void>()
  let err = ''
  child.stderr.on('data', (data: Buffer) => (err += data.toString()))
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => {
    lines.push(line)
    for (const check of waiting) check()
  })
  // A pipe may still hold lines when the process has ended.
  const read = new Promise<void>((resolve) => reader.once('close', resolve))
  const exit = new Promise<[number | null, NodeJS.Signals | null]>((resolve) => child.once('exit', (...how) => resolve(how)))
  const ended = Promise.all([exit, read]).then(([[code, signal]]) => ({ code, signal, err }))
  const waitForOutput = (beginning: string) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        const line = lines.find((one) => one.startsWith(beginning))
        if (line === undefined) return
        waiting.delete(check)
        resolve(line)
      }
      waiting.add(check)
      check()
      void ended.then((how) =>
        reject(new Error(`ended before it printed '${beginning}': ${JSON.stringify(how)}; ${lines.slice(-3).join(' | ')}`)),
      )
    })
  return { process: child, lines, waitForOutput, ended }
}

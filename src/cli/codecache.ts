import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script, constants } from 'node:vm'

/** A shorter process (`--help`) has compiled too little of the bundle. */
const LEAST_SECONDS = 1

/**
 * Evaluates a bundle (CommonJS, ASCII) with the bytecode that an earlier process saved beside it, and returns its exports. V8 ignores the bytecode of
 * another version or of other flags; then the process saves its own when it ends. Node 20 has no `module.enableCompileCache`.
 */
export function evaluateBundle(bundle: URL): object {
  const path = fileURLToPath(bundle)
  // The file is beside the bundle and not in a folder of temporary files: only who may write the bundle may write what is executed in its place.
  const cache = `${path}.cache`
  const cachedData = readIfPresent(cache)
  const script = new Script(`(function (exports, require, __filename) {${readFileSync(path, 'latin1')}\n})`, {
    filename: path,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    ...(cachedData === undefined ? {} : { cachedData }),
  })
  if (script.cachedDataRejected !== false) process.once('exit', () => save(script, cache))
  const exports = {}
  const evaluate = script.runInThisContext() as (exports: object, require: NodeJS.Require, filename: string) => void
  evaluate(exports, createRequire(bundle), path)
  return exports
}

function save(script: Script, cache: string): void {
  if (process.uptime() < LEAST_SECONDS) return
  const fresh = `${cache}.${process.pid}`
  try {
    writeFileSync(fresh, script.createCachedData())
    renameSync(fresh, cache)
  } catch {
    // The folder of the package may be read-only: every start compiles then.
    rmSync(fresh, { force: true })
  }
}

function readIfPresent(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

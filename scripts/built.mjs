// Lets the system tests import the compiled modules of dist/ wherever they name one of src/. Node loads those in a tenth of the time in which the
// test runner transforms the sources, once for each of a hundred files.
import { existsSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { ROOT, build } from './setup.mjs'

const SOURCES = join(ROOT, 'src')

/** vitest's globalSetup: the system tests also start the command of dist/. */
export function setup() {
  build()
}

/** Plugin of Vite. Modules that are not in dist/, such as fixtures and those that only the bundle of the command contains, remain those of src/. */
export function builtModules() {
  return {
    name: 'modules of dist/',
    /** @type {'pre'} */
    enforce: 'pre',
    /** @returns {{ id: string, external: true } | null} */
    resolveId(/** @type {string} */ path, /** @type {string | undefined} */ importer) {
      if (!path.endsWith('.ts') || importer === undefined) return null
      const source = resolve(importer, '..', path)
      if (!source.startsWith(SOURCES + sep)) return null
      const built = join(ROOT, 'dist', `${relative(SOURCES, source).slice(0, -'.ts'.length)}.js`)
      return existsSync(built) ? { id: built, external: true } : null
    },
  }
}

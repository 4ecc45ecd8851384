import type * as crypto from 'node:crypto'
import type * as fs from 'node:fs'
import type Module from 'node:module'

interface NodeModules {
  readonly crypto: typeof crypto
  readonly fs: typeof fs
  readonly module: typeof Module
}

/** Returns a module of Node; `undefined` in a browser, where an import of it would fail. */
export function nodeModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const node = (globalThis as { process?: Partial<NodeJS.Process> }).process
  return node?.getBuiltinModule?.(name)
}

import { readFileSync } from 'node:fs'

/** Version of the package. */
export const VERSION = readVersion()

/** Reads package.json, whose relative path is the same from src/ and dist/. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown'
}

import { readFileSync } from 'node:fs'

export const VERSION = readVersion()

/** The package's own, found from src/ and from dist/ alike. */
function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown'
}

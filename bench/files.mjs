import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Bytes that the files of a folder occupy; sparse files may appear larger. */
export function sizeOf(/** @type {string} */ folder) {
  let bytes = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    bytes += entry.isDirectory() ? sizeOf(path) : statSync(path).blocks * 512
  }
  return bytes
}

import { createRequire } from 'node:module'

/** The binary of foundry's cast for this platform, null if it is not installed. Its npm wrapper does not forward exit codes. */
export const CAST = binary()

function binary(): string | null {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/cast-${process.platform}-${arch}/bin/cast`)
  } catch {
    return null
  }
}

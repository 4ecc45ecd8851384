import type { Keystore } from './keystore.ts'

/** The keys of a keystore file, or of a directory of them; in Node alone, and loaded when first wanted. Throws KeystoreError. */
export async function openKeystore(path: string, password: string): Promise<Keystore> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.open(path, password)
}

import type { PrivateKey } from '../../eth/index.ts'
import type { Keystore } from './keystore.ts'

// In Node alone, and loaded when first wanted: the rest of the room runs in a page.

/** The keys of a keystore file, or of a directory of them. Throws KeystoreError. */
export async function openKeystore(path: string, password: string): Promise<Keystore> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.open(path, password)
}

/** Adds a key to a directory of keystore files, behind scrypt and readable by its owner alone; answers the new file. Throws KeystoreError, DecodeError. */
export async function saveKey(directory: string, privateKey: PrivateKey, password: string): Promise<string> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.save(directory, privateKey, password)
}

import type { PrivateKey } from '../../eth/index.ts'
import type { Keystore } from './keystore.ts'

// Loaded on first use, since it needs Node: the rest of the module also runs in a browser.

/** Opens a keystore file, or a directory of them. Throws KeystoreError. */
export async function openKeystore(path: string, password: string): Promise<Keystore> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.open(path, password)
}

/** Encrypts a key with scrypt into a new file of a directory, with file mode 0600; returns the file's path. Throws KeystoreError and DecodeError. */
export async function saveKey(directory: string, privateKey: PrivateKey, password: string): Promise<string> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.save(directory, privateKey, password)
}

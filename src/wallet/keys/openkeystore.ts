import type { PrivateKey } from '../../eth/index.ts'
import type { Keystore } from './keystore.ts'

// Imports keystorefile.ts on demand: it needs Node, and the other files of the wallet run in browsers.

/** Opens a keystore file, or a directory of them. Throws KeystoreError. */
export async function openKeystore(path: string, password: string): Promise<Keystore> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.open(path, password)
}

/** Adds a key to a directory of keystore files, encrypted with scrypt and readable by its owner only; returns the path of the new file. Throws KeystoreError, DecodeError. */
export async function saveKey(directory: string, privateKey: PrivateKey, password: string): Promise<string> {
  const { KeystoreFile } = await import('./keystorefile.ts')
  return KeystoreFile.save(directory, privateKey, password)
}

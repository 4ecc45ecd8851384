import type { UnincludedOperationJson, WaitReason } from '../../src/bundler/results.ts'

/** Texts for the reasons why an operation waits in the bundler's pool: a short phrase and a sentence. */
const WAIT_TEXTS: Readonly<Record<WaitReason, { readonly phrase: string; readonly sentence: string }>> = {
  bundle: { phrase: 'waits for the next bundle', sentence: 'It is valid, and waits for the next bundle.' },
  request: {
    phrase: 'waits for a request: bundling is manual',
    sentence: 'The bundler is in manual mode: it waits for debug_bundler_sendBundleNow.',
  },
  nonce: {
    phrase: 'waits for the operation before it',
    sentence: 'It waits for the operations of its account with lower nonces.',
  },
  price: {
    phrase: 'its price is below the base fee',
    sentence: 'Its price is below the base fee: it waits until the base fee falls, or until a replacement offers more.',
  },
  block: { phrase: 'sent in a bundle', sentence: 'Its bundle is in the pool of the node, and in no block yet.' },
}

/** The bundler takes the bundle back, so that a replacement is not needed. */
const PRICED_OUT_BUNDLE = {
  phrase: 'its bundle pays less than the base fee',
  sentence: 'Its bundle pays less than the base fee: the bundler cancels it, and the operation waits until the base fee falls.',
}

/** Returns the texts for the reason why a pooled operation waits. */
export function waitTextOf(waitsFor: WaitReason, status: UnincludedOperationJson['status']): (typeof WAIT_TEXTS)[WaitReason] {
  return waitsFor === 'price' && status === 'submitted' ? PRICED_OUT_BUNDLE : WAIT_TEXTS[waitsFor]
}

/** Returns the reason why the operation is in no block, as a short phrase. */
export function phraseOf({ waitsFor, status, reason, replacedBy }: UnincludedOperationJson): string {
  if (waitsFor !== null) return waitTextOf(waitsFor, status).phrase
  return replacedBy === null ? (reason ?? 'dropped') : 'replaced by another operation'
}

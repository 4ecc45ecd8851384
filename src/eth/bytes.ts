/** Byte operations for Node and browsers. Results may be Buffers and are for reading only. */
export const Bytes = { ofText, ofBase64, concat }

/** `undefined` in a browser, where portable and slower code is used. */
export const NodeBuffer: typeof Buffer | undefined = globalThis.Buffer

/** UTF-8. For 33 characters TextEncoder takes 290 ns, Buffer 110. */
function ofText(text: string): Uint8Array {
  return NodeBuffer === undefined ? new TextEncoder().encode(text) : NodeBuffer.from(text)
}

/** Returns new memory. Trusts `base64` to be valid. */
function ofBase64(base64: string): Uint8Array<ArrayBuffer> {
  if (NodeBuffer !== undefined) return new Uint8Array(NodeBuffer.from(base64, 'base64'))
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Three words take 90 ns with Buffer's pooled memory, 410 without. */
function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (NodeBuffer !== undefined) return NodeBuffer.concat(parts)
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

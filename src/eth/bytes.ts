/** Texts and lists as one run of bytes, in Node and in a browser. What comes back may be a Buffer: it is for whoever only reads it. */
export const Bytes = { ofText, ofBase64, concat }

/** Absent in a browser, where what all platforms have does the same more slowly. */
export const NodeBuffer: typeof Buffer | undefined = globalThis.Buffer

/** UTF-8. A TextEncoder takes 290 ns for 33 characters, Buffer 110. */
function ofText(text: string): Uint8Array {
  return NodeBuffer === undefined ? new TextEncoder().encode(text) : NodeBuffer.from(text)
}

/** In memory of their own. `base64` is ours: nothing is checked. */
function ofBase64(base64: string): Uint8Array<ArrayBuffer> {
  if (NodeBuffer !== undefined) return new Uint8Array(NodeBuffer.from(base64, 'base64'))
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Three words: 90 ns with Buffer, which takes memory from a pool, and 410 without. */
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

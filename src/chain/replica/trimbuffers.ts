/**
 * The same plain value with bytes that own their memory. Between threads the whole of what bytes are cut out of would be copied: of one
 * transaction that was imported, the chain file.
 */
export function tight<T>(value: T): T
export function tight(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.byteLength === value.buffer.byteLength ? value : value.slice()
  if (Array.isArray(value)) return value.map((item) => tight(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, tight(field)]))
}

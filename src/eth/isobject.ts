/** Returns whether a JSON value is an object, not an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the value if it is a JSON object, else an object without fields. */
export function objectFields(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

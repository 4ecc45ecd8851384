/** A control move that is not possible now. Nothing has changed. */
export class PromiseError extends Error {
  override readonly name = 'PromiseError'
}

/** A number in a request that the chain has no room for, such as a depth above its height. Nothing has changed. */
export class OutOfRange extends RangeError {
  override readonly name = 'OutOfRange'
}

/** A number in a request is outside the range that the chain accepts, such as a depth above its height. Nothing has changed. */
export class OutOfRange extends RangeError {
  override readonly name = 'OutOfRange'
}

/** A change was requested after the node was closed. */
export class ChainClosed extends Error {
  override readonly name = 'ChainClosed'

  constructor() {
    super('the node is closed and its chain does not change any more')
  }
}

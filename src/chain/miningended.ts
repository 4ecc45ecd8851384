/** The node was stopped while it mined or replaced many blocks. Those before are sealed. */
export class MiningEnded extends Error {
  override readonly name = 'MiningEnded'

  constructor(done: string) {
    super(`the node is stopping; ${done}`)
  }
}

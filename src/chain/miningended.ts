/** The node was stopped while it mined many blocks. Those before are sealed. */
export class MiningEnded extends Error {
  override readonly name = 'MiningEnded'

  constructor(mined: number, count: number) {
    super(`the node is stopping; ${mined} of ${count} blocks were mined: mine the rest when it runs again`)
  }
}

/** The process ends while it mines many blocks. Those before are sealed. */
export class MiningEnded extends Error {
  override readonly name = 'MiningEnded'

  constructor(mined: number, count: number) {
    super(`the node ends; ${mined} of ${count} blocks are mined`)
  }
}

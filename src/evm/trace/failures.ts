/** What keeps an opcode from beginning, in geth's words; any other failure is its own doing. */
const UNSTARTED = ['out of gas', 'stack ', 'gas uint64 overflow', 'write protection', 'max initcode size exceeded']

/** geth logs such an opcode with its error, and takes nothing for touched by it. */
export function isUnstarted(failure: string): boolean {
  return UNSTARTED.some((prefix) => failure.startsWith(prefix))
}

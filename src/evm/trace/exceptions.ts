/** geth's messages of errors that prevent an opcode from executing. */
const PRE_EXECUTION_ERRORS = ['out of gas', 'stack ', 'gas uint64 overflow', 'write protection', 'max initcode size exceeded']

/** geth logs such an opcode with its error and does not count its operands as accessed. */
export function isPreExecutionError(failure: string): boolean {
  return PRE_EXECUTION_ERRORS.some((prefix) => failure.startsWith(prefix))
}

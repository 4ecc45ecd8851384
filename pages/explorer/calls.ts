import { decodeCall } from './abi.ts'

/** Returns the name of a call for a list: the function's, if its selector is known, else the selector. */
export function nameOfCall(to: string | null, input: string): string {
  if (to === null) return 'create'
  if (input.length < 10) return 'transfer'
  return decodeCall(to, input)?.name ?? input.slice(0, 10)
}

/**
 * `unreachable`: no answer. `rate-limit`: refused for too many requests until the retries ended. `malformed`: an answer that is not JSON-RPC or has
 * values of a wrong shape. `refused`: upstream's error for a method that a fork requires. `pruned`: upstream lacks the fork block's state.
 * `reorganised`: the fork block's number has another hash. `chain`: another chain id than expected. `block`: the requested fork block or transaction
 * does not exist. `method`: a method that is never sent upstream. `native`: a program calls a native precompile that only upstream has.
 */
export type UpstreamReason =
  | 'unreachable'
  | 'rate-limit'
  | 'malformed'
  | 'refused'
  | 'pruned'
  | 'reorganised'
  | 'chain'
  | 'block'
  | 'method'
  | 'native'

/** A value of the forked chain is not available. The message names upstream by scheme and host; paths and queries may contain access keys. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly reason: UpstreamReason

  constructor(reason: UpstreamReason, message: string) {
    super(message)
    this.reason = reason
  }
}

import type { ServerResponse } from 'node:http'
import { JSON_TYPE } from '../http/answer.ts'
import type { Answer } from '../http/answer.ts'
import { CRASHED } from '../deps.ts'

/**
 * Returns the answer of `handle`, without a time limit. `signal` is aborted when the client disconnects. A rejection is reported to `onError` and
 * becomes status 500 with -32603.
 */
export async function answerUntilClosed(
  response: ServerResponse,
  handle: (signal: AbortSignal) => Promise<Answer>,
  onError: (error: unknown) => void,
): Promise<Answer> {
  const disconnected = new AbortController()
  const abort = () => disconnected.abort()
  response.once('close', abort)
  try {
    return await handle(disconnected.signal)
  } catch (error) {
    onError(error)
    return { status: 500, type: JSON_TYPE, body: CRASHED }
  } finally {
    response.off('close', abort)
  }
}

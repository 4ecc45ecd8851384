import type { View } from '../../chain/index.ts'
import { CODE, RpcError, invalidParams } from '../../jsonrpc/index.ts'
import type { Context } from '../context.ts'
import { receiptJson } from '../json.ts'
import type { Json } from '../json.ts'
import { RECEIPT_WAIT_MS } from '../limits.ts'
import { submit } from '../submission.ts'

/**
 * Adds the transaction to the pool and returns its receipt once the chain announces a block that has it. `timeoutMs` is RECEIPT_WAIT_MS by
 * default or if 0. Throws RpcError -32602 for a longer time, code 4 with the hash as data after the time-out, and ChainClosed if the node is closed.
 */
export async function submitAndWait(context: Context, tx: Parameters<typeof submit>[1], timeoutMs: number | undefined): Promise<Json> {
  const limitMs = limitOf(timeoutMs)
  const hash = await submit(context, tx)
  const { chain } = context
  const reason = `the transaction was added to the mempool but wasn't confirmed within ${limitMs} ms`
  return new Promise<Json>((resolve, reject) => {
    const ignoreClose = chain.onClose((error) => {
      end()
      reject(error)
    })
    const timer = setTimeout(() => {
      end()
      reject(new RpcError(CODE.unconfirmed, reason, hash))
    }, limitMs)
    const resolveIn = (view: View) => {
      const place = view.locate(hash)
      if (place === null) return
      end()
      resolve(receiptJson(place))
    }
    const unsubscribe = chain.head.subscribe(({ view }) => resolveIn(view))
    const end = () => {
      clearTimeout(timer)
      unsubscribe()
      ignoreClose()
    }
    resolveIn(chain.head.view)
  })
}

function limitOf(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined || timeoutMs === 0) return RECEIPT_WAIT_MS
  if (timeoutMs <= RECEIPT_WAIT_MS) return timeoutMs
  throw invalidParams(`time out too long, timeout: ${timeoutMs} ms, max: ${RECEIPT_WAIT_MS} ms`)
}

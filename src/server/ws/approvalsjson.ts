import type { Question } from '../../wallet/index.ts'

const cache = new WeakMap<Question, string>()

/**
 * Returns the pending questions as JSON. Each question is immutable and may be long, so it is serialised once. A question that cannot be serialised
 * (nested deeper than the stack) is reported to `onError` and omitted.
 */
export function approvalsJson(pending: readonly Question[], onError: (error: unknown) => void): string {
  const texts: string[] = []
  for (const question of pending) {
    try {
      const text = cache.get(question) ?? JSON.stringify(question)
      cache.set(question, text)
      texts.push(text)
    } catch (error) {
      onError(error)
    }
  }
  return `[${texts.join(',')}]`
}

import type { Question } from '../wallet/index.ts'

const written = new WeakMap<Question, string>()

/**
 * The questions that wait, as JSON. Each is written once, however often the queue changes: it may be long, and never changes itself. One
 * that cannot be written (it nests deeper than the stack) is told to `onError` and left out: it must not take the others along.
 */
export function queueText(pending: readonly Question[], onError: (error: unknown) => void): string {
  const texts: string[] = []
  for (const question of pending) {
    try {
      const text = written.get(question) ?? JSON.stringify(question)
      written.set(question, text)
      texts.push(text)
    } catch (error) {
      onError(error)
    }
  }
  return `[${texts.join(',')}]`
}

import { LISTED_GAPS } from './limits.ts'
import type { AuditReport, Gap } from './report.ts'

/** The times without connection. */
export class Gaps {
  readonly #open = new Map<Gap['source'], { readonly fromMs: number; readonly reason: string }>()
  readonly #list: Gap[] = []
  #count = 0
  #totalMs = 0

  begin(source: Gap['source'], reason: string, nowMs: number): void {
    if (!this.#open.has(source)) this.#open.set(source, { fromMs: nowMs, reason })
  }

  end(source: Gap['source'], nowMs: number): void {
    const open = this.#open.get(source)
    if (open === undefined) return
    this.#open.delete(source)
    this.#count++
    this.#totalMs += nowMs - open.fromMs
    if (this.#list.length < LISTED_GAPS) this.#list.push({ source, ...open, toMs: nowMs })
  }

  summary(nowMs: number): AuditReport['gaps'] {
    const open = [...this.#open].map(([source, gap]): Gap => ({ source, ...gap, toMs: null }))
    const openMs = open.reduce((sum, { fromMs }) => sum + nowMs - fromMs, 0)
    return { count: this.#count + open.length, totalMs: this.#totalMs + openMs, list: [...this.#list, ...open] }
  }
}

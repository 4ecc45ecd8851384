import type { Warning } from '../question.ts'
import { LINE_END, blankRuns, lineEndCount } from './blanks.ts'

/** Warns of texts with large gaps, which hide what follows: the page shows about 15 lines of 50 characters without scrolling. */
export function gapWarnings(texts: readonly string[]): readonly Warning[] {
  return texts.some(hasGap) ? [GAP] : []
}

function hasGap(text: string): boolean {
  const runs = text.match(BLANKS) ?? []
  if (runs.some((run) => run.length - lineEndCount(run) >= GAP_CHARS || lineEndCount(run) >= GAP_LINES)) return true
  // Lines with at most two visible characters form a gap too.
  return text.split(LINE_END).filter((line) => line.length < GAP_CHARS && line.replaceAll(BLANK, '').length <= 2).length >= SPARSE_LINES
}

/** Half of the visible lines. */
const GAP_LINES = 8
/** Four lines. */
const GAP_CHARS = 200
/** Over two screens; fewer short lines are common in lists and tables. */
const SPARSE_LINES = 40

const BLANKS = blankRuns(8)
const BLANK = blankRuns(1)

const GAP: Warning = {
  code: 'hidden-text',
  level: 'caution',
  text: 'There are large gaps in what you sign, and text behind them is easily missed: read it to its end.',
}

import type { Warning } from '../question.ts'

/** Texts that hide a part of themselves behind emptiness: the box in which a person reads one shows some 15 lines of 50 characters. */
export function gapWarnings(texts: readonly string[]): readonly Warning[] {
  return texts.some(hasGap) ? [GAP] : []
}

function hasGap(text: string): boolean {
  const runs = text.match(BLANKS) ?? []
  if (runs.some((run) => run.length - lineEnds(run) >= GAP_CHARS || lineEnds(run) >= GAP_LINES)) return true
  // Lines with one or two visible characters each make a gap, too.
  return text.split(LINE_END).filter((line) => line.length < GAP_CHARS && line.replaceAll(BLANK, '').length <= 2).length >= SPARSE_LINES
}

function lineEnds(run: string): number {
  return run.match(LINE_ENDS)?.length ?? 0
}

/** Half of the box. */
const GAP_LINES = 8
/** Four lines of the box. */
const GAP_CHARS = 200
/** More than two boxes; fewer short lines are common in lists and tables. */
const SPARSE_LINES = 40

/** Characters without ink: spaces, control, format and combining ones, and letters that are drawn as nothing. */
const BLANK = /[\s\p{Z}\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]/gu
const BLANKS = /[\s\p{Z}\p{C}\p{M}\u115f\u1160\u2800\u3164\uffa0]{8,}/gu
export const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/
const LINE_ENDS = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/g

const GAP: Warning = {
  code: 'hidden-text',
  level: 'caution',
  text: 'There are large gaps in what you sign, and text behind them is easily missed: read it to its end.',
}

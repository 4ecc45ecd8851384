/** Characters without ink, for the wallet's warnings and its page. Imports nothing, since the page bundles it. */

/** Matches runs of at least `min` blank characters: spaces, control, format and combining characters, and letters without a glyph. */
export function blankRuns(min: number): RegExp {
  return new RegExp(`[\\s\\p{Z}\\p{C}\\p{M}\\u115f\\u1160\\u2800\\u3164\\uffa0]{${min},}`, 'gu')
}

export const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/

export function lineEndCount(text: string): number {
  return text.split(LINE_END).length - 1
}

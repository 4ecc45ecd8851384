// Figures and tables, for a terminal and as markdown.

/**
 * @param {readonly string[]} titles
 * @param {readonly (readonly string[])[]} rows a cell per title
 * @returns {string} first column left-aligned, the others right-aligned
 */
export function table(titles, rows) {
  const widths = titles.map((title, i) => rows.reduce((most, row) => Math.max(most, row[i].length), title.length))
  const line = (cells) => cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The same as markdown. @returns {string} */
export function markdown(/** @type {readonly string[]} */ titles, /** @type {readonly (readonly string[])[]} */ rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(titles), `|${titles.map((_, i) => (i === 0 ? ' --- ' : ' ---: ')).join('|')}|`, ...rows.map(line)].join('\n')
}

/** Three significant digits. */
export function figure(value) {
  if (!Number.isFinite(value)) return '-'
  if (value === 0) return '0'
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(value >= 10 ? 1 : value >= 0.1 ? 2 : 3)
}

/** `a` as a multiple of `b`. */
export function ratio(a, b) {
  return Number.isFinite(a / b) && a > 0 && b > 0 ? `${figure(a / b)}x` : '-'
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]
}

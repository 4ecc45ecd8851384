/**
 * Foreign text for display on one line. Control, format and direction characters become escapes such as `\u{202e}`; a text longer than
 * `maxChars` is truncated with an ellipsis.
 */
export function visibleText(text: string, maxChars: number): string {
  // Truncated first, since a string may have megabytes. A character has at most two UTF-16 units.
  const seen = Array.from(text.slice(0, 2 * maxChars))
  const shown = seen.slice(0, maxChars).map((char) => (INVISIBLE.test(char) ? `\\u{${char.codePointAt(0)?.toString(16) ?? ''}}` : char))
  return seen.length > maxChars || text.length > 2 * maxChars ? `${shown.join('')}…` : shown.join('')
}

/** A token's symbol as its contract gives it, for display; quoted if it has spaces, since it could continue the text around it. null if it is blank. */
export function symbolText(symbol: string, maxChars: number): string | null {
  const text = symbol.trim()
  if (text === '') return null
  return /\p{Zs}/u.test(text) ? `“${visibleText(text, maxChars)}”` : visibleText(text, maxChars)
}

/**
 * A character that has no glyph or changes the direction: control and format characters (soft hyphens, zero-width and direction marks, tags), private and
 * unassigned ones, lone surrogates, line ends, and letters and marks without ink.
 */
export const INVISIBLE = /[\u034f\u17b4\u17b5\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/u

/** A fenced block of a page. */
export interface CodeBlock {
  /** path of the page, relative to the root */
  readonly path: string
  /** number of its first line, from 1 */
  readonly line: number
  readonly language: string
  readonly text: string
  readonly lines: readonly string[]
  /** location in the page, for test names */
  readonly title: string
}

/** The fenced blocks of a page, in order. */
export function codeBlocks(path: string, text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = []
  let heading = ''
  let open: { readonly language: string; readonly line: number; readonly lines: string[] } | null = null
  for (const [i, line] of text.split('\n').entries()) {
    const fence = /^```(.*)$/.exec(line)
    if (fence !== null && open === null) open = { language: fence[1]?.trim() ?? '', line: i + 2, lines: [] }
    else if (fence !== null && open !== null) {
      const { language, lines, line: first } = open
      blocks.push({ path, language, lines, line: first, text: lines.join('\n'), title: `${path}:${first} ${heading}` })
      open = null
    } else if (open !== null) open.lines.push(line)
    else heading = /^#+ (.*)$/.exec(line)?.[1] ?? heading
  }
  if (open !== null) throw new Error(`${path}:${open.line} a block of code that never ends`)
  return blocks
}

/** Returns the output that `// → …` and `# → …` document, in order. */
export function expectedOutputs(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => /(?:\/\/|#) → (.*)$/.exec(line)?.[1]?.trim() ?? [])
}

/** Matches the text; `…` matches any text. */
export function likeness(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's')
}

/** Targets of Markdown links to files, without their anchors. */
export function relativeLinks(text: string): readonly string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '')
  const links = [...prose.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target]) => target ?? '')
  return links.filter((target) => !/^[a-z]+:/.test(target))
}

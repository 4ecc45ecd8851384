import { describe, expect, it } from 'vitest'
import { gapWarnings } from './gaps.ts'

const isTold = (text: string): boolean => gapWarnings([text]).length > 0

describe('gapWarnings', () => {
  it.each([
    ['', 'nothing'],
    ['Sign in to the shop.\n\nNonce: 3f9c11\n', 'a message'],
    [`{\n${' '.repeat(100)}"deep": true\n}`, 'text that is set in'],
    [Array.from({ length: 300 }, (_, i) => `line ${i}`).join('\n'), 'a long text'],
    ['x'.repeat(200_000), 'one long word'],
    ['नमस्ते दुनिया '.repeat(100), 'a script with combining characters'],
    ['👩‍👩‍👧‍👦'.repeat(100), 'joined characters'],
  ])('has no warning for %j (%s)', (text) => expect(isTold(text)).toBe(false))

  it.each([
    ['line ends', '\n'],
    ['carriage returns', '\r'],
    ['line ends of Windows', '\r\n'],
    ['paragraph ends', '\u2029'],
    ['spaces', ' '],
    ['tabs', '\t'],
    ['spaces that do not break', '\u00a0'],
    ['wide spaces', '\u3000'],
    ['spaces of no width', '\u200b'],
    ['empty Braille', '\u2800'],
    ['Hangul fillers', '\u3164'],
    ['soft hyphens', '\u00ad'],
    ['marks without a letter', '\u034f'],
    ['spaces and line ends', ' \n\t\n'],
  ])('warns of text behind many %s', (_, blank) => {
    for (const text of [`${blank.repeat(200_000)}I owe`, `Hi${blank.repeat(300)}I owe`, `Hi${blank.repeat(300)}`]) {
      expect(isTold(text)).toBe(true)
    }
  })

  it('warns of eight blank lines, and of forty lines with one dot each', () => {
    expect([isTold(`Hi${'\n'.repeat(7)}I owe`), isTold(`Hi${'\n'.repeat(8)}I owe`)]).toEqual([false, true])
    expect(isTold(`Hi\n${'.\n'.repeat(40)}I owe`)).toBe(true)
    expect(isTold(`Hi\n${'\n\n\n.'.repeat(20)}I owe`)).toBe(true)
  })

  it('warns once for any number of texts', () => {
    const gap = '\n'.repeat(100)
    expect(gapWarnings(['Hi', gap, gap])).toMatchObject([{ code: 'hidden-text', level: 'caution' }])
    expect(gapWarnings([])).toEqual([])
  })
})

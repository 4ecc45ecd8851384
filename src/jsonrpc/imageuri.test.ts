import { expect, it } from 'vitest'
import { isImageUri } from './imageuri.ts'

it.each([
  ['data:image/png;base64,iVBORw0KGgo=', true],
  ['data:image/svg+xml,%3Csvg%20xmlns%3D', true],
  ['data:image/svg+xml;utf8;charset=utf-8,%3Csvg%3E', true],
  ['data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>', false],
  ['data:image/x-icon;base64,AAAB', false],
  ['data:text/html,%3Cscript%3E', false],
  ['data:image/png;base64,', false],
  ['https://example.org/icon.png', false],
  ['javascript:alert(1)', false],
  ['data:image/png,a"onerror="x', false],
])('%s: %s', (text, isOne) => {
  expect(isImageUri(text)).toBe(isOne)
})

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { overflow } from './explorer/explorer.fixture.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Returns the violations that axe finds in the page, of any impact, with their elements: of all rules in light colors, and in dark ones of the rule that
 * depends on colors. The page remains light.
 */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await page.evaluate(violations, ['color-contrast'])
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await page.evaluate(violations, null)
  return [...light, ...dark.map((violation) => `dark: ${violation}`)]
}

/** Returns the violations that axe finds in the layouts for phones and desktops, and the widths that the page exceeds. The page remains wide. */
export async function layoutFaults(page: Page): Promise<readonly string[]> {
  const faults: string[] = []
  for (const width of [320, 390, 1_280]) {
    await page.setViewportSize({ width, height: 900 })
    // The style sheets have no other layout for 320 px than for 390.
    if (width > 320) faults.push(...(await axeViolations(page)).map((violation) => `${width} px: ${violation}`))
    const excess = await overflow(page)
    if (excess > 0) faults.push(`${width} px: the page is ${excess} px wider`)
  }
  return faults
}

/** Runs in the page. */
async function violations(rules: readonly string[] | null): Promise<readonly string[]> {
  const { axe } = globalThis as unknown as AxePage // the script defines it
  // Other results would have an entry for each element.
  const found = await axe.run({ resultTypes: ['violations'], ...(rules === null ? {} : { runOnly: rules }) })
  return found.violations.map(({ id, help, nodes }) => `${id} (${help}): ${nodes.map(({ html }) => html.slice(0, 200)).join(' ')}`)
}

interface AxePage {
  readonly axe: {
    readonly run: (options: {
      readonly resultTypes: readonly string[]
      readonly runOnly?: readonly string[]
    }) => Promise<{ readonly violations: readonly Violation[] }>
  }
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}

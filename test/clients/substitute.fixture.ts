import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The built command as a shell word list. */
export const COMMAND = `${JSON.stringify(process.execPath)} ${JSON.stringify(fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url)))}`

export interface Outcome {
  readonly passed: readonly string[]
  readonly failed: readonly string[]
}

export interface SuiteRun {
  /** Folder of the suite, in which its own vitest is installed. */
  readonly folder: string
  /** Arguments of `vitest run`. */
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Text of the shell script that the suite starts as `anvil`. */
  readonly anvil: string
}

/** Runs another project's tests with a script in place of anvil. Returns the titles of the tests with their file. */
export async function runSuite({ folder, args = [], env = {}, anvil }: SuiteRun): Promise<Outcome> {
  const temporary = mkdtempSync(join(tmpdir(), 'pocketchain-suite-'))
  try {
    writeFileSync(join(temporary, 'anvil'), `#!/bin/sh\n${anvil}\n`, { mode: 0o755 })
    const report = join(temporary, 'report.json')
    const child = spawn(join(folder, 'node_modules/.bin/vitest'), ['run', '--reporter=json', `--outputFile=${report}`, ...args], {
      cwd: folder,
      env: { ...process.env, ...env, PATH: `${temporary}${delimiter}${process.env['PATH']}` },
      stdio: 'ignore',
    })
    await new Promise((resolve) => child.once('close', resolve))
    return outcomeOf(JSON.parse(readFileSync(report, 'utf8')) as Report, folder)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** The used fields of vitest's report. */
interface Report {
  readonly testResults: readonly {
    readonly name: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

function outcomeOf({ testResults }: Report, folder: string): Outcome {
  const titles = (status: string) =>
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.filter((each) => each.status === status).map(({ fullName }) => `${relative(folder, name)} ${fullName.trim()}`),
    )
  return { passed: titles('passed'), failed: titles('failed') }
}

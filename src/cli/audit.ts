import { randomUUID } from 'node:crypto'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { AuditError, MAX_MINUTES, audit, endpointsOf, reportHtml, reportText } from '../audit/index.ts'
import type { AuditReport } from '../audit/index.ts'
import type { AuditArguments } from './command.ts'
import { CommandError, EXIT } from './exit.ts'
import type { ExitCode } from './exit.ts'
import type { Terminal } from './terminal.ts'

/** Watches an endpoint and prints the report. Throws CommandError. */
export async function runAudit({ rpc, ws, minutes, html, json }: AuditArguments, terminal: Terminal): Promise<ExitCode> {
  const file = html === undefined ? null : resolve(terminal.folder, html)
  try {
    const durationMs = minutes === undefined ? Infinity : minutesOf(minutes) * 60_000
    const endpoints = endpointsOf(rpc ?? null, ws ?? null)
    // An unusable path is found before the audit, not after it.
    if (file !== null) await assertWritable(file)
    const isRewritable = terminal.isRewritable === true
    const onStart = (line: string) => terminal.err(`pocketchain: watching ${line}; Ctrl-C ends the audit\n`)
    const onProgress = (line: string) => terminal.err(`\r\u001b[K${line}`)
    const report = await audit({ endpoints, durationMs, stop: terminal.stop, onStart, ...(isRewritable ? { onProgress } : {}) })
    if (isRewritable) terminal.err('\r\u001b[K')
    return await print(report, file, json === true, terminal)
  } catch (error) {
    if (error instanceof AuditError) throw new CommandError(EXIT.usage, `audit: ${error.message}`)
    throw error
  }
}

async function print(report: AuditReport, file: string | null, isJson: boolean, { out }: Terminal): Promise<ExitCode> {
  out(isJson ? `${JSON.stringify(report)}\n` : reportText(report))
  if (file !== null) await writeAtomically(file, reportHtml(report))
  return EXIT.good
}

function minutesOf(text: string): number {
  const minutes = Number(text)
  if (text.trim() !== '' && minutes > 0 && minutes <= MAX_MINUTES) return minutes
  throw new CommandError(
    EXIT.usage,
    `--minutes: expected a number above 0 and up to ${MAX_MINUTES}, not ${JSON.stringify(text.slice(0, 50))}`,
  )
}

async function assertWritable(file: string): Promise<void> {
  const existing = await stat(file).catch(() => null)
  if (existing?.isDirectory() === true) throw new CommandError(EXIT.file, `--html: ${file} is a folder`)
  await writeAtomically(file, '')
}

/** A reader sees the former content or the whole new one. An empty text only checks that the file can be written. */
async function writeAtomically(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomUUID()}.tmp`
  try {
    await writeFile(draft, text)
    if (text !== '') await rename(draft, file)
    else await rm(draft)
  } catch (error) {
    await rm(draft, { force: true })
    throw new CommandError(EXIT.file, `--html: ${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
  }
}

import type { ExitCode } from './exit.ts'
import { run } from './run.ts'

/** A command that runs in this process. */
export interface Started {
  readonly out: () => string
  readonly err: () => string
  /** resolves when the command ends */
  readonly exit: Promise<ExitCode>
  /** Resolves when stdout matches. Rejects if the command ends before. */
  readonly waitForOutput: (pattern: RegExp) => Promise<string>
  /** as SIGINT does */
  readonly stop: () => void
}

export interface TestTerminal {
  readonly env?: Readonly<Record<string, string>>
  /** `/` by default, which has no configuration file above it */
  readonly folder?: string
  readonly coloured?: boolean
}

export function start(argv: readonly string[], { env = {}, folder = '/', coloured = false }: TestTerminal = {}): Started {
  const stop = new AbortController()
  const waiting: (() => void)[] = []
  let [out, err] = ['', '']
  const exit = run(argv, {
    env,
    folder,
    coloured,
    stop: stop.signal,
    out: (text) => {
      out += text
      for (const look of waiting) look()
    },
    err: (text) => {
      err += text
    },
  })
  return {
    out: () => out,
    err: () => err,
    exit,
    waitForOutput: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(out)
          if (found !== null) resolve(found[0])
        }
        waiting.push(look)
        look()
        exit.then((code) => reject(new Error(`ended with ${code} before it printed ${pattern}: ${err}`)), reject)
      }),
    stop: () => stop.abort(),
  }
}

/** Runs a command that ends by itself. */
export async function finish(argv: readonly string[], world: TestTerminal = {}): Promise<{ code: ExitCode; out: string; err: string }> {
  const { exit, out, err } = start(argv, world)
  return { code: await exit, out: out(), err: err() }
}

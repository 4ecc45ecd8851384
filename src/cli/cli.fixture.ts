import type { ExitCode } from './exit.ts'
import { run } from './run.ts'

/** A command that runs in this process, and the world it was given. */
export interface Started {
  readonly out: () => string
  readonly err: () => string
  /** resolves when the command ends */
  readonly exit: Promise<ExitCode>
  /** resolves when stdout matches; rejects when the command ends before */
  readonly says: (pattern: RegExp) => Promise<string>
  /** as SIGINT does */
  readonly stop: () => void
}

export interface World {
  readonly env?: Readonly<Record<string, string>>
  /** `/` has no configuration file above it */
  readonly folder?: string
  readonly coloured?: boolean
}

export function start(argv: readonly string[], { env = {}, folder = '/', coloured = false }: World = {}): Started {
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
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(out)
          if (found !== null) resolve(found[0])
        }
        waiting.push(look)
        look()
        exit.then((code) => reject(new Error(`ended with ${code} before it said ${pattern}: ${err}`)), reject)
      }),
    stop: () => stop.abort(),
  }
}

/** A command that is expected to end by itself. */
export async function finish(argv: readonly string[], world: World = {}): Promise<{ code: ExitCode; out: string; err: string }> {
  const { exit, out, err } = start(argv, world)
  return { code: await exit, out: out(), err: err() }
}

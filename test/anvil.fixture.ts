import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { foundryBinary } from './foundry.fixture.ts'

/** The binary of foundry's anvil for this platform, null if it is not installed. Its npm wrapper does not forward signals. */
export const ANVIL = foundryBinary('anvil')

export interface RunningAnvil extends AsyncDisposable {
  readonly url: string
  /** Returns the result as the type that the caller expects. Throws an Error with the message of the error response. */
  readonly ask: <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>
  /** Resolves with the lines of stdout since the start as soon as one of them matches. */
  readonly waitForLine: (line: RegExp) => Promise<readonly string[]>
  /** Sends SIGINT, after which anvil writes its state file; resolves when the process has ended. */
  readonly stop: () => Promise<void>
}

/** Starts anvil on any free port. */
export async function startAnvil(...args: readonly string[]): Promise<RunningAnvil> {
  if (ANVIL === null) throw new Error('anvil is not installed')
  const child = spawn(ANVIL, ['--port', '0', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let err = ''
  child.stderr.on('data', (data: Buffer) => (err += data.toString()))
  const lines: string[] = []
  const waiting = new Set<() => void>()
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      for (const look of waiting) look()
      const found = /^Listening on .*:(\d+)$/.exec(line)?.[1]
      if (found !== undefined) resolve(found)
    })
    void ended.then(() => reject(new Error(`anvil ended before it listened: ${err}`)))
  })
  const url = `http://127.0.0.1:${port}`
  const stop = () => {
    child.kill('SIGINT')
    return ended
  }
  return {
    url,
    stop,
    waitForLine: (pattern) =>
      new Promise((resolve) => {
        const look = () => {
          if (!lines.some((line) => pattern.test(line))) return
          waiting.delete(look)
          resolve([...lines])
        }
        waiting.add(look)
        look()
      }),
    ask: async <T>(method: string, ...params: readonly unknown[]) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      const { result, error } = (await response.json()) as { result: T; error?: { message: string } } // a JSON-RPC response
      if (error !== undefined) throw new Error(error.message)
      return result
    },
    [Symbol.asyncDispose]: stop,
  }
}

import { startAnvil } from '../anvil.fixture.ts'
import { launch } from '../command.fixture.ts'

/** A process under test: the command of this package, or anvil. */
export interface Peer extends AsyncDisposable {
  readonly url: string
  readonly ask: (method: string, ...params: readonly unknown[]) => Promise<unknown>
}

/** The first dev account of this node and of anvil. */
export const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
export const ALICE_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
export const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

export interface PeerStart {
  readonly title: string
  readonly start: () => Promise<Peer>
}

/** The configurations under which a client that reads its nonce at `latest` can send transactions one after another. */
export const SEQUENTIAL: readonly PeerStart[] = [
  command('preconf with --latest promised', '--latest', 'promised'),
  command('native', '--cadence', 'native'),
  command('instant', '--cadence', 'instant'),
]

export const REFERENCE: PeerStart = { title: 'anvil', start: () => startAnvil() }

/** The command with these flags. */
export function command(title: string, ...flags: readonly string[]): PeerStart {
  return {
    title,
    start: async () => {
      const { url, ask, stop } = await launch(...flags)
      return { url, ask, [Symbol.asyncDispose]: async () => void (await stop()) }
    },
  }
}

/** Returns the result and the time it took, as text. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly took: string }> {
  const startMs = performance.now()
  const result = await work()
  return { result, took: `${((performance.now() - startMs) / 1000).toFixed(2)} s` }
}

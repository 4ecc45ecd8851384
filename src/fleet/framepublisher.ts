import { ChangeRecorder } from '../chain/index.ts'
import type { Chain } from '../chain/index.ts'
import type { Bus } from './bus.ts'
import { Frame } from './frame.ts'
import { HEARTBEAT_MS } from './limits.ts'

interface PublisherDeps {
  readonly chain: Chain
  readonly bus: Pick<Bus, 'publish'>
  readonly epoch: number
  /** Number of the newest commit. */
  readonly commit: () => number
}

/** Sends each head event of the sequencer as a frame, numbered from 1 in its epoch. */
export class FramePublisher {
  readonly #deps: PublisherDeps
  readonly #recorder = new ChangeRecorder()
  readonly #unsubscribe: () => void
  readonly #heartbeat: NodeJS.Timeout
  #next = 1

  constructor(deps: PublisherDeps) {
    this.#deps = deps
    this.#unsubscribe = deps.chain.head.subscribe((event) => {
      this.#send(this.#next++, Frame.encode({ commit: deps.commit(), sentAtMs: monotonicMs(), change: this.#recorder.changeOf(event) }))
    })
    this.#heartbeat = setInterval(
      () => this.#send(HEARTBEAT, Frame.encodeHeartbeat({ newest: this.newest, sentAtMs: monotonicMs() })),
      HEARTBEAT_MS,
    )
    this.#heartbeat.unref()
  }

  /** Number of the newest frame; 0 before the first. */
  get newest(): number {
    return this.#next - 1
  }

  close(): void {
    clearInterval(this.#heartbeat)
    this.#unsubscribe()
  }

  #send(number: number, frame: Uint8Array): void {
    this.#deps.bus.publish(this.#deps.epoch, number, frame)
  }
}

/** A change of the system's time does not change it. */
function monotonicMs(): number {
  return Math.round(performance.now())
}

/** In place of a frame's number: the message only contains the number of the newest frame. */
export const HEARTBEAT = 0

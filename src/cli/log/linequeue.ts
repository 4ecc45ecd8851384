import { WAITING_ENTRIES } from './limits.ts'

/** Returns the text to print, or a promise of it; '' prints nothing. */
type Entry = () => string | Promise<string>

/** Prints a text. Returns null, or a promise that resolves when the output accepts more. */
type Print = (text: string) => Promise<void> | null

/** Prints entries in order. An entry is produced when all before it are printed; the queue is closed until `open`. */
export class LineQueue {
  readonly #print: Print
  readonly #onBug: (error: unknown) => void
  readonly #waiting: Entry[] = []
  #isOpen = false
  #isBusy = false
  #dropped = 0

  constructor(print: Print, onBug: (error: unknown) => void) {
    this.#print = print
    this.#onBug = onBug
  }

  /** Never throws. Beyond WAITING_ENTRIES the entry is dropped and counted. */
  push(entry: Entry): void {
    if (this.#waiting.length >= WAITING_ENTRIES) {
      this.#dropped++
      return
    }
    this.#waiting.push(entry)
    this.#run()
  }

  /** Prints the waiting lines, and from now on each line as soon as the output accepts it. */
  open(): void {
    this.#isOpen = true
    this.#run()
  }

  #run(): void {
    while (this.#isOpen && !this.#isBusy) {
      const entry = this.#waiting.shift() ?? this.#droppedEntry()
      if (entry === null) return
      try {
        const text = entry()
        const waiting = typeof text === 'string' ? this.#write(text) : text.then((each) => this.#write(each))
        if (waiting !== null) void this.#await(waiting)
      } catch (error) {
        this.#onBug(error)
      }
    }
  }

  async #await(waiting: Promise<unknown>): Promise<void> {
    this.#isBusy = true
    try {
      await waiting
    } catch (error) {
      this.#onBug(error)
    }
    this.#isBusy = false
    this.#run()
  }

  #write(text: string): Promise<void> | null {
    return text === '' ? null : this.#print(text)
  }

  #droppedEntry(): Entry | null {
    const dropped = this.#dropped
    if (dropped === 0) return null
    this.#dropped = 0
    return () => `${dropped} entries of the log were dropped: more than ${WAITING_ENTRIES} waited to be printed\n`
  }
}

export type Listener = (value: unknown) => void

/** The methods of Node's EventEmitter that MetaMask's provider has, except `emit`: only the wallet emits events. */
export interface EventMethods<P> {
  on(event: string, listener: Listener): P
  addListener(event: string, listener: Listener): P
  prependListener(event: string, listener: Listener): P
  once(event: string, listener: Listener): P
  prependOnceListener(event: string, listener: Listener): P
  off(event: string, listener: Listener): P
  removeListener(event: string, listener: Listener): P
  /** Removes the listeners of `event`, or of all events without it. */
  removeAllListeners(event?: string): P
  listeners(event: string): Listener[]
  listenerCount(event: string): number
  eventNames(): string[]
  /** Without effect: there is no limit to warn of. */
  setMaxListeners(count: number): P
  getMaxListeners(): number
}

interface Entry {
  readonly listener: Listener
  readonly isOnce: boolean
}

/**
 * Methods that hold their listeners in a closure. As in Node's EventEmitter a listener that was added twice is called twice, and each
 * removal removes the newest of its entries. `provider`: what the methods return, for chaining.
 */
export function eventMethods<P>(provider: () => P): {
  readonly methods: EventMethods<P>
  readonly emit: (event: string, value: unknown) => void
} {
  const entries = new Map<string, readonly Entry[]>()
  const of = (event: string): readonly Entry[] => entries.get(event) ?? []
  const set = (event: string, list: readonly Entry[]): P => {
    if (list.length === 0) entries.delete(event)
    else entries.set(event, list)
    return provider()
  }
  const append = (event: string, listener: Listener): P => set(event, [...of(event), { listener: checked(listener), isOnce: false }])
  const remove = (event: string, listener: Listener): P => {
    const at = of(event).findLastIndex((entry) => entry.listener === listener)
    return at === -1 ? provider() : set(event, of(event).toSpliced(at, 1))
  }
  return {
    methods: {
      on: append,
      addListener: append,
      prependListener: (event, listener) => set(event, [{ listener: checked(listener), isOnce: false }, ...of(event)]),
      once: (event, listener) => set(event, [...of(event), { listener: checked(listener), isOnce: true }]),
      prependOnceListener: (event, listener) => set(event, [{ listener: checked(listener), isOnce: true }, ...of(event)]),
      off: remove,
      removeListener: remove,
      removeAllListeners: (event) => {
        if (event === undefined) entries.clear()
        else entries.delete(event)
        return provider()
      },
      listeners: (event) => of(event).map(({ listener }) => listener),
      listenerCount: (event) => of(event).length,
      eventNames: () => [...entries.keys()],
      setMaxListeners: () => provider(),
      getMaxListeners: () => 0, // EventEmitter's number for "no limit"
    },
    emit: (event, value) => {
      // The list as it is now: a listener that is added during an event receives the next one.
      for (const { listener, isOnce } of of(event)) {
        if (isOnce) remove(event, listener)
        try {
          listener(value)
        } catch (error) {
          reportError(error) // the other listeners are still called
        }
      }
    },
  }
}

function checked(listener: unknown): Listener {
  if (typeof listener === 'function') return listener as Listener // with any parameters
  throw new TypeError(`a listener is a function, not ${listener === null ? 'null' : typeof listener}`)
}

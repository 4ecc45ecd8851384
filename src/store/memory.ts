import { MemoryStorage } from './storage/index.ts'
import { Store } from './store.ts'

/** A store that ends with the process. */
export class MemoryStore extends Store {
  constructor() {
    super(new MemoryStorage())
  }
}

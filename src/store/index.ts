export { MemoryStore } from './memory.ts'

import { LOG_KEYS, TAGS } from '../record/index.ts'
import { KIND_HASHES, KIND_INTERNAL_BYTES, KIND_LOGS, KIND_NULL, KIND_OBJECTS, KIND_TRANSACTIONS, KIND_TRUE } from '../writer/layout.ts'

/** Kinds whose value is not a string of hex digits. */
const WITHOUT_DIGITS: ReadonlySet<number> = new Set([
  KIND_NULL,
  KIND_TRUE,
  KIND_HASHES,
  KIND_OBJECTS,
  KIND_INTERNAL_BYTES,
  KIND_LOGS,
  KIND_TRANSACTIONS,
])

/** By tag: the text before a field's value, which is a comma, the key, and `"0x` before hex digits. */
export const TAG_TEXTS: readonly string[] = TAGS.map(({ key, kind }) => `,"${key}":${WITHOUT_DIGITS.has(kind) ? '' : '"0x'}`)

const [ADDRESS, TOPICS, DATA, BLOCK_HASH, NUMBER, TIMESTAMP, TIMESTAMP_MS, TX_HASH, TX_INDEX, INDEX, REMOVED] = LOG_KEYS

/** The texts between the values of a log, in the order of LOG_TEXTS (writer/layout.ts). All values but the topics are hex digits. */
export const LOG_LITERALS: readonly string[] = [
  `{"${ADDRESS}":"0x`,
  `","${TOPICS}":[`,
  `],"${DATA}":"0x`,
  ...[BLOCK_HASH, NUMBER, TIMESTAMP, TIMESTAMP_MS, TX_HASH, TX_INDEX, INDEX].map((key) => `","${key}":"0x`),
  `","${REMOVED}":false},`,
]

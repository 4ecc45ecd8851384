import { LOG_KEYS, TAGS } from '../record/index.ts'
import { HASHES, HIDDEN, LOGS, NULL, OBJECTS, TRANSACTIONS, TRUE } from '../writer/layout.ts'

/** Kinds that are not printed as a string of hex digits. */
const NO_DIGITS: ReadonlySet<number> = new Set([NULL, TRUE, HASHES, OBJECTS, HIDDEN, LOGS, TRANSACTIONS])

/** What is printed before the value of a field, by its tag: the comma that separates it from the field before, its key, how the value begins. */
export const TAG_TEXTS: readonly string[] = TAGS.map(({ key, kind }) => `,"${key}":${NO_DIGITS.has(kind) ? '' : '"0x'}`)

const [ADDRESS, TOPICS, DATA, BLOCK_HASH, NUMBER, TIMESTAMP, TIMESTAMP_MS, TX_HASH, TX_INDEX, INDEX, REMOVED] = LOG_KEYS

/** What stands between the values of a log, in the order of LOG_TEXTS (writer/layout.ts). All values are hex digits, but for the topics: a list. */
export const LOG_LITERALS: readonly string[] = [
  `{"${ADDRESS}":"0x`,
  `","${TOPICS}":[`,
  `],"${DATA}":"0x`,
  ...[BLOCK_HASH, NUMBER, TIMESTAMP, TIMESTAMP_MS, TX_HASH, TX_INDEX, INDEX].map((key) => `","${key}":"0x`),
  `","${REMOVED}":false},`,
]

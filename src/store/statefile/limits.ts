/** Text of a state file that is read: V8 has no longer strings, and its JSON is read as one. Also what unpacking one may give. */
export const STATE_FILE_BYTES = 500 * 2 ** 20

/** Records of blocks that go into one; as base64 text they are a third more. */
export const STATE_FILE_RECORD_BYTES = 256 * 2 ** 20

/** Accounts and slots that are taken from the state at one go, text of them, and bytes of records, that are written at one go: about a millisecond each. */
export const STATE_FILE_KEYS_PER_PIECE = 512
export const STATE_FILE_TEXT_PER_PIECE = 128 * 1024
export const STATE_FILE_BYTES_PER_PIECE = 384 * 1024

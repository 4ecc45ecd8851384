/** Text of a state file, written or read: V8's longest string, as JSON.parse reads it whole. Also the limit of decompression. */
export const STATE_FILE_BYTES = 500 * 2 ** 20

/** Records of blocks in a state file; base64 makes them a third longer. */
export const STATE_FILE_RECORD_BYTES = 256 * 2 ** 20
/** The same when a file is read, with the length before each record. */
export const STATE_FILE_RECORD_BYTES_READ = 2 * STATE_FILE_RECORD_BYTES

/** Per step of writing, about a millisecond each: accounts and slots read from the state, their text, bytes of records. */
export const STATE_FILE_KEYS_PER_PIECE = 512
export const STATE_FILE_TEXT_PER_PIECE = 128 * 1024
export const STATE_FILE_BYTES_PER_PIECE = 384 * 1024

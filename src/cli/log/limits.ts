/** Characters of one line of the log, time and indentation not included. A string in a contract can have megabytes. */
export const LINE_CHARS = 1_000

/** Lines of one console.log message, whose text may have line breaks. */
export const MESSAGE_LINES = 50

/** Lines of one call tree. A transaction can make 300,000 calls. */
export const TREE_LINES = 500

/** Call trees per flashblock or block: each executes the block again up to its transaction. */
export const TRACED_TRANSACTIONS = 20

/** Transactions per flashblock or block whose console output and failures are printed. */
export const DETAILED_TRANSACTIONS = 200

/** Entries that wait for a call tree, for ABI files or for the reader of the output before later ones are dropped. */
export const WAITING_ENTRIES = 1_000

/** Bytes of one ABI file. Artifacts of large contracts have 2 MB; build-info files of Hardhat are larger and are skipped. */
export const ABI_FILE_BYTES = 8 * 2 ** 20

/** ABI files of one folder: OpenZeppelin compiles to 400. */
export const ABI_FILES = 2_000

/** Bytes of the ABI files of one folder, which take half a second to parse. */
export const ABI_FOLDER_BYTES = 64 * 2 ** 20

/** Nested folders below a folder of ABI files: `artifacts/contracts/a/b/C.sol`. */
export const ABI_FOLDER_DEPTH = 8

/** Fragments with one selector that are tried: four bytes collide by chance. */
export const FRAGMENTS_PER_SELECTOR = 4

/** Artifacts of the current folder are searched again after this time, because contracts are compiled again while the node runs. */
export const FOLDER_INTERVAL_MS = 5_000

/** Progress is printed for operations that take longer. */
export const PROGRESS_AFTER_MS = 1_000

/** Time between two progress lines where lines cannot be rewritten. */
export const PROGRESS_INTERVAL_MS = 5_000

/** Time between two updates of a progress line on a terminal. */
export const PROGRESS_REWRITE_MS = 100

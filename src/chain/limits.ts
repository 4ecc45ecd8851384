/** Transactions in the pool, executable or waiting; beyond it `txpool is full`. 65,536 signed transfers are about 30 MB. */
export const POOL_TRANSACTIONS = 65_536
/** Of these, from one sender: a script that signs thousands in advance fits, one runaway sender does not fill the pool. */
export const POOL_TRANSACTIONS_PER_SENDER = 16_384
/** Bytes of one transaction, as geth's pool has it. */
export const TRANSACTION_BYTES = 128 * 1024
/** Blocks that one `mine` call may seal. */
export const MINE_BLOCKS = 1_000_000
/** Of these, what the call answers: whole blocks are large. */
export const MINED_BLOCKS = 1_000
/** What a change of many blocks takes before everybody else has a turn: a twentieth of a flashblock's time. */
export const BREATH_MS = 10
/** geth's params.MinGasLimit; OP chains need more for their deposits. */
export const LEAST_GAS_LIMIT = 5_000n
/** Snapshots kept; the oldest is forgotten. */
export const SNAPSHOTS = 4_096
/** Blocks that one reorg may replace. */
export const REORG_BLOCKS = 8_192
/** Blocks that a rewind announces as gone, the newest: all that a reorg may replace. Of a reset that removes millions nobody wants to hear each. */
export const REMOVED_BLOCKS = REORG_BLOCKS
/** Versions that another thread has: a minute and a half of flashblocks. One that would have to learn more at a time is given up for a new one. */
export const FEED_VERSIONS = 512
/** Accounts and slots that it learns at a time: 20 ms. Above, a new one takes the whole state in pieces, and others have turns between them. */
export const FEED_KEYS = 20_000
/** Of one such piece: 2 to 4 ms. */
export const FEED_SET_KEYS = 2_000

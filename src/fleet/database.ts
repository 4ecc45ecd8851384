import { Socket } from 'node:net'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { Hash } from '../eth/index.ts'
import type { WriteSet } from '../evm/index.ts'
import type { StorageChange } from '../store/index.ts'
import { FleetError } from './errors.ts'
import { RENEW_LEASE } from './lease.ts'
import { BLOCKS_PER_QUERY, CLOSE_MS, CONNECT_MS, DATABASE_CONNECTIONS, LEASE_MS, STATEMENT_MS, VANISHED_S } from './limits.ts'
import { loadLibraries } from './libraries.ts'
import type { RecordChange } from './sharedrecords.ts'
import { WriteSets } from '../store/index.ts'

/** The version of the tables. A database of a newer one is refused. */
const SCHEMA_VERSION = 1

const SCHEMA = `
CREATE SCHEMA IF NOT EXISTS pocketchain;
CREATE TABLE IF NOT EXISTS pocketchain.chain (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  schema_version integer NOT NULL,
  chain_id bigint NOT NULL,
  definition text NOT NULL,
  epoch bigint NOT NULL DEFAULT 0,
  holder text,
  expires_at timestamptz,
  commit_number bigint NOT NULL DEFAULT 0,
  frame_number bigint NOT NULL DEFAULT 0,
  head bigint NOT NULL DEFAULT -1,
  imported bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS pocketchain.block (
  number bigint PRIMARY KEY,
  hash bytea NOT NULL,
  record bytea NOT NULL,
  writes bytea NOT NULL,
  edits bytea[] NOT NULL DEFAULT '{}',
  state_root bytea NOT NULL
);
ALTER TABLE pocketchain.block ALTER COLUMN record SET STORAGE EXTERNAL;
CREATE TABLE IF NOT EXISTS pocketchain.record (key text PRIMARY KEY, value bytea NOT NULL);
`

/** The chain of a database. */
export interface FleetChain {
  readonly chainId: number
  /** The definition of the chain, for every process of the fleet, as JSON. */
  readonly definition: string
}

/** The state of the database: lease, newest commit and newest block. */
export interface Position {
  readonly epoch: number
  /** Id of the process that has the lease; null: none had it yet. */
  readonly holder: string | null
  /** Milliseconds until the lease ends, by the clock of the database; negative if it has ended, null: none had it yet. */
  readonly leaseMs: number | null
  readonly commit: number
  /** Number of the first frame that follows the newest commit. */
  readonly frame: number
  /** Number of the newest block; -1 for none. */
  readonly head: number
  /** Number of the newest block that came from a chain file, which is final; 0 for none. */
  readonly imported: number
}

/** A sealed block as stored in the database. */
export interface StoredBlock {
  readonly number: number
  readonly hash: Hash
  readonly record: Uint8Array
  /** Changes from the state of the previous block, with its edits, to the state of this block. */
  readonly writes: WriteSet
  /** Changes by dev methods after the block, in their order. */
  readonly edits: readonly WriteSet[]
  /** With the edits. */
  readonly stateRoot: Hash
}

/** Changes of the store since the last commit, as one commit. */
export interface FleetCommit {
  readonly epoch: number
  /** Number of this commit: one above the former. */
  readonly commit: number
  /** Number of the first frame that announces it. */
  readonly frame: number
  readonly changes: readonly StoreChange[]
}

/** One flush of the store. */
export type StoreChange = Pick<StorageChange, 'truncateTo' | 'edits' | 'stateRoot'> & {
  readonly blocks: readonly {
    readonly number: number
    readonly hash: Hash
    readonly record: Uint8Array
    readonly writes: WriteSet
    readonly stateRoot: Hash
  }[]
}

/** The history of a fleet in PostgreSQL, and the lease of its sequencer. Every method rejects with FleetError. */
export class Database {
  readonly #pool: Pool
  readonly #sockets: ReadonlySet<Socket>
  readonly #inUse = new Set<PoolClient>()
  readonly #name: string

  private constructor(pool: Pool, sockets: ReadonlySet<Socket>, name: string) {
    this.#pool = pool
    this.#sockets = sockets
    this.#name = name
  }

  /** Connects, and creates the tables in an empty database. Rejects with FleetError. */
  static async connect(url: string): Promise<Database> {
    const config = configOf(url)
    const { Pool } = await loadLibraries()
    const sockets = new Set<Socket>()
    const pool = new Pool({
      ...config,
      stream: () => {
        const socket = new Socket()
        sockets.add(socket)
        return socket.once('close', () => sockets.delete(socket))
      },
      max: DATABASE_CONNECTIONS,
      connectionTimeoutMillis: CONNECT_MS,
      statement_timeout: STATEMENT_MS,
      // A process that stops in the middle of a commit would keep the row of the lease locked, and no other process could take over.
      idle_in_transaction_session_timeout: LEASE_MS,
      query_timeout: STATEMENT_MS + CONNECT_MS,
      keepAlive: true,
      options: SERVER_SETTINGS,
      application_name: 'pocketchain',
    })
    // A connection that is lost while it is idle; the next query opens another one.
    pool.on('error', () => undefined)
    // One that is lost between two statements of a transaction, whose next statement fails. Without a listener the process would end.
    pool.on('connect', (client) => client.on('error', () => undefined))
    const database = new Database(pool, sockets, `${config.host ?? 'localhost'}:${config.port ?? 5432}/${config.database ?? ''}`)
    try {
      await database.#prepare()
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Returns null for a database without a chain. */
  async chain(): Promise<FleetChain | null> {
    const [row] = await this.#query('SELECT chain_id, definition FROM pocketchain.chain')
    return row === undefined ? null : { chainId: Number(row['chain_id']), definition: String(row['definition']) }
  }

  /** Stores the chain. Returns false, and stores nothing, if the database has one already. */
  async createChain({ chainId, definition }: FleetChain): Promise<boolean> {
    const inserted = await this.#query(
      `INSERT INTO pocketchain.chain (schema_version, chain_id, definition) VALUES ($1, $2, $3)
       ON CONFLICT DO NOTHING RETURNING chain_id`,
      [SCHEMA_VERSION, chainId, definition],
    )
    if ((await this.chain()) === null)
      throw new FleetError('database', `${this.#name} does not keep the chain; check its triggers and rules`)
    return inserted.length > 0
  }

  async position(): Promise<Position> {
    const [row] = await this.#query(
      `SELECT epoch, holder, commit_number, frame_number, head, imported, extract(epoch FROM expires_at - clock_timestamp()) * 1000 AS lease
       FROM pocketchain.chain`,
    )
    if (row === undefined) throw new FleetError('database', `the chain of ${this.#name} was removed; start the fleet again`)
    return {
      epoch: Number(row['epoch']),
      holder: row['holder'] === null ? null : (row['holder'] as string),
      leaseMs: row['lease'] === null ? null : Number(row['lease']),
      commit: Number(row['commit_number']),
      frame: Number(row['frame_number']),
      head: Number(row['head']),
      imported: Number(row['imported']),
    }
  }

  /** Takes the lease if no process has it, and returns its epoch. Returns null while another process has it. Time is the database's. */
  async takeLease(holder: string, leaseMs: number): Promise<number | null> {
    const [row] = await this.#query(
      `UPDATE pocketchain.chain SET epoch = epoch + 1, holder = $1, frame_number = 1, expires_at = clock_timestamp() + $2 * interval '1 millisecond'
       WHERE expires_at IS NULL OR expires_at < clock_timestamp() RETURNING epoch`,
      [holder, leaseMs],
    )
    return row === undefined ? null : Number(row['epoch'])
  }

  /** Returns false if another process has taken the lease since. After an abort of `signal` the next attempt uses another connection. */
  async renewLease(epoch: number, leaseMs: number, signal: AbortSignal | null = null): Promise<boolean> {
    const rows = await this.#query(`${RENEW_LEASE} RETURNING epoch`, [epoch, leaseMs], signal)
    return rows.length === 1
  }

  /** Ends the lease, so that another process need not wait for its end. An abort of `signal` ends the attempt. */
  async endLease(epoch: number, signal: AbortSignal | null = null): Promise<void> {
    await this.#query('UPDATE pocketchain.chain SET expires_at = clock_timestamp() WHERE epoch = $1', [epoch], signal)
  }

  /** Commits in one transaction, if the epoch is the current one. Rejects with FleetError `deposed` if it is not; then nothing has changed. */
  async commit({ epoch, commit, frame, changes }: FleetCommit): Promise<void> {
    await this.#transaction(async (client) => {
      const { rowCount } = await client.query({
        name: 'fence',
        text: 'UPDATE pocketchain.chain SET commit_number = $2, frame_number = $3 WHERE epoch = $1 AND commit_number = $2 - 1',
        values: [epoch, commit, frame],
      })
      if (rowCount !== 1) throw deposed()
      for (const change of changes) await write(client, change)
      // Renewals wait for the end of a long commit, as does a process that would take the lease. One that was ended before stays so; now() is the begin.
      await client.query({
        name: 'head',
        text: `UPDATE pocketchain.chain SET head = coalesce((SELECT max(number) FROM pocketchain.block), -1),
          expires_at = CASE WHEN expires_at > now() THEN greatest(expires_at, clock_timestamp() + $1 * interval '1 millisecond') ELSE expires_at END`,
        values: [LEASE_MS],
      })
    })
  }

  /** Yields the blocks from…to in pieces. */
  async *blocks(from: number, to: number): AsyncGenerator<readonly StoredBlock[]> {
    for (let start = from; start <= to; start += BLOCKS_PER_QUERY) {
      const rows = await this.#rows({
        text: 'SELECT number, hash, record, writes, edits, state_root FROM pocketchain.block WHERE number BETWEEN $1 AND $2 ORDER BY number',
        values: [start, Math.min(to, start + BLOCKS_PER_QUERY - 1)],
      })
      yield rows.map((row) => this.#storedBlock(row))
    }
  }

  async noteImported(epoch: number, number: number): Promise<void> {
    await this.#query('UPDATE pocketchain.chain SET imported = $2 WHERE epoch = $1', [epoch, number])
  }

  async hashOf(number: number): Promise<Hash | null> {
    const [row] = await this.#query('SELECT hash FROM pocketchain.block WHERE number = $1', [number])
    return row === undefined ? null : Hash.from(row['hash'] as Buffer) // bytea
  }

  /** Writes records of wallet, sponsor and bundler, if the epoch is the current one. Rejects as `commit` does. */
  async commitRecords(epoch: number, records: Iterable<RecordChange>): Promise<void> {
    await this.#transaction(async (client) => {
      const { rowCount } = await client.query('SELECT 1 FROM pocketchain.chain WHERE epoch = $1 FOR UPDATE', [epoch])
      if (rowCount !== 1) throw deposed()
      for (const [key, value] of records) {
        if (value === null) await client.query('DELETE FROM pocketchain.record WHERE key = $1', [key])
        else await client.query({ name: 'record', text: PUT_RECORD, values: [key, asBuffer(value)] })
      }
    })
  }

  /** All records of wallet, sponsor and bundler. */
  async records(): Promise<readonly (readonly [string, Uint8Array])[]> {
    const rows = await this.#query('SELECT key, value FROM pocketchain.record')
    return rows.map(({ key, value }) => [key as string, value as Buffer]) // text and bytea
  }

  /** Rejects the queries that wait for the server, which may never answer: without a reset the connection seems to be open. */
  abort(): void {
    for (const client of this.#inUse) this.#release(client, true)
  }

  async close(): Promise<void> {
    // A connection to a host that has vanished seems to be open, and would not end.
    setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), CLOSE_MS).unref()
    await this.#pool.end()
  }

  #storedBlock(row: Row): StoredBlock {
    try {
      return storedBlock(row)
    } catch (error) {
      throw new FleetError(
        'database',
        `block ${String(row['number'])} in ${this.#name} is damaged (${error instanceof Error ? error.message : String(error)}); restore the database from a backup`,
        error,
      )
    }
  }

  async #prepare(): Promise<void> {
    const [version] = await this.#query("SELECT to_regclass('pocketchain.chain') IS NOT NULL AS is_there")
    if (version?.['is_there'] === true) {
      const [row] = await this.#query('SELECT schema_version FROM pocketchain.chain')
      const found = Number(row?.['schema_version'] ?? SCHEMA_VERSION)
      if (found > SCHEMA_VERSION) {
        throw new FleetError(
          'database',
          `${this.#name} was made by a newer pocketchain (tables of version ${found}, this one has ${SCHEMA_VERSION}); update this program`,
        )
      }
      if (row !== undefined) return
    }
    // Two processes that start concurrently would both create the schema.
    await this.#transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(7265462)')
      await client.query(SCHEMA)
    })
  }

  async #transaction(work: (client: PoolClient) => Promise<void>): Promise<void> {
    await this.#use(async (client) => {
      await client.query('BEGIN')
      await work(client)
      await client.query('COMMIT')
    })
  }

  #query(text: string, values: readonly unknown[] = [], signal: AbortSignal | null = null): Promise<readonly Row[]> {
    return this.#rows({ text, values: [...values] }, signal)
  }

  #rows(query: QueryConfig, signal: AbortSignal | null = null): Promise<readonly Row[]> {
    return this.#use(async (client) => (await client.query<Row>(query)).rows, signal)
  }

  /** An abort of `signal` closes the connection, with which `work` rejects. */
  async #use<T>(work: (client: PoolClient) => Promise<T>, signal: AbortSignal | null = null): Promise<T> {
    let client: PoolClient | null = null
    const abandon = () => client !== null && this.#release(client, true)
    try {
      client = await this.#pool.connect()
      this.#inUse.add(client)
      signal?.addEventListener('abort', abandon)
      if (signal?.aborted === true) this.#release(client, false)
      signal?.throwIfAborted()
      const result = await work(client)
      this.#release(client, false)
      return result
    } catch (error) {
      // The connection's state is unknown after an error of the connection itself.
      abandon()
      throw this.#errorOf(error)
    } finally {
      signal?.removeEventListener('abort', abandon)
    }
  }

  #release(client: PoolClient, isBroken: boolean): void {
    if (this.#inUse.delete(client)) client.release(isBroken)
  }

  #errorOf(error: unknown): FleetError {
    return error instanceof FleetError ? error : databaseError(error, this.#name)
  }
}

/** For the server's side of a connection: probes while it is idle, and a limit for answers that are not acknowledged. */
const SERVER_SETTINGS = `-c tcp_keepalives_idle=${VANISHED_S / 2} -c tcp_keepalives_interval=1 -c tcp_keepalives_count=${VANISHED_S / 2} -c tcp_user_timeout=${VANISHED_S * 1_000}`

type Row = Readonly<Record<string, unknown>>

async function write(client: PoolClient, { truncateTo, blocks, edits, stateRoot }: StoreChange): Promise<void> {
  if (truncateTo !== undefined) await client.query('DELETE FROM pocketchain.block WHERE number > $1', [truncateTo])
  if (blocks.length === 1) await client.query({ name: 'block', text: ONE_BLOCK, values: [...blockValues(blocks[0]!)] }) // length 1
  else if (blocks.length > 1) await client.query(MANY_BLOCKS, columns(blocks.map(blockValues)))
  if (edits === undefined || WriteSets.isEmpty(edits)) return
  await client.query(
    `UPDATE pocketchain.block SET edits = edits || ARRAY[$1::bytea], state_root = coalesce($2, state_root)
     WHERE number = (SELECT max(number) FROM pocketchain.block)`,
    [Buffer.from(WriteSets.encode(edits)), stateRoot === undefined ? null : Buffer.from(Hash.toBytes(stateRoot))],
  )
}

const PUT_RECORD = 'INSERT INTO pocketchain.record (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value'
const ONE_BLOCK = 'INSERT INTO pocketchain.block (number, hash, record, writes, state_root) VALUES ($1, $2, $3, $4, $5)'
const MANY_BLOCKS = `INSERT INTO pocketchain.block (number, hash, record, writes, state_root)
  SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])`

function blockValues({ number, hash, record, writes, stateRoot }: StoreChange['blocks'][number]): readonly unknown[] {
  return [
    number,
    Buffer.from(Hash.toBytes(hash)),
    asBuffer(record),
    asBuffer(WriteSets.encode(writes)),
    Buffer.from(Hash.toBytes(stateRoot)),
  ]
}

function columns(rows: readonly (readonly unknown[])[]): unknown[][] {
  return [0, 1, 2, 3, 4].map((column) => rows.map((row) => row[column]))
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function storedBlock(row: Row): StoredBlock {
  return {
    number: Number(row['number']),
    hash: Hash.from(row['hash'] as Buffer),
    record: row['record'] as Buffer,
    writes: WriteSets.decode(row['writes'] as Buffer),
    edits: (row['edits'] as Buffer[]).map((each) => WriteSets.decode(each)),
    stateRoot: Hash.from(row['state_root'] as Buffer),
  }
}

/** Throws FleetError. The message repeats no part of the URL that may be secret. */
export function configOf(url: string): { host?: string; port?: number; database?: string; user?: string; password?: string; ssl?: object } {
  let parsed: URL
  let credentials: { database?: string; user?: string; password?: string }
  try {
    parsed = new URL(url)
    const { username, password, pathname } = parsed
    credentials = {
      ...(pathname.length < 2 ? {} : { database: decodeURIComponent(pathname.slice(1)) }),
      ...(username === '' ? {} : { user: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    }
  } catch {
    throw new FleetError('database', 'the URL of the database cannot be read; it has the form postgres://user:password@host:5432/database')
  }
  if (parsed.protocol !== 'postgres:' && parsed.protocol !== 'postgresql:') {
    throw new FleetError('database', `the URL of the database begins with ${parsed.protocol}//, not with postgres://`)
  }
  const socket = parsed.searchParams.get('host')
  const port = parsed.port === '' ? parsed.searchParams.get('port') : parsed.port
  const sslmode = parsed.searchParams.get('sslmode')
  return {
    host: socket ?? decodeURIComponent(parsed.hostname).replace(/^\[(.*)\]$/, '$1'), // IPv6
    ...(port === null ? {} : { port: Number(port) }),
    ...credentials,
    ...(sslmode === null || sslmode === 'disable' ? {} : { ssl: { rejectUnauthorized: sslmode !== 'require' && sslmode !== 'prefer' } }),
  }
}

function deposed(): FleetError {
  return new FleetError('deposed', 'another process is the sequencer now; this one stops, and its last changes were not committed')
}

const NO_TABLES = 'lacks a table of the fleet; restore the database from a backup, or use an empty one'

/** By SQLSTATE, or the system's error code. */
const ADVICE: Readonly<Record<string, readonly [FleetError['reason'], string]>> = {
  '28P01': ['credentials', 'refuses the password; check the user and the password in the URL'],
  '28000': ['credentials', 'refuses the user; check the user in the URL, and pg_hba.conf'],
  '3D000': ['database', 'does not exist; create it with createdb'],
  '42501': ['credentials', 'does not allow this user to make or write the tables; grant CREATE on the database, or use its owner'],
  '25006': ['read-only', 'is read-only; use the primary server, or end its recovery'],
  '53100': ['full', 'has no disk space left; free some, and the fleet continues by itself'],
  '42P01': ['database', NO_TABLES],
  '3F000': ['database', NO_TABLES],
  '57014': ['unavailable', 'did not finish a statement in time; look for a lock in pg_stat_activity, or for a slow disk'],
  '25P03': ['unavailable', 'ended a transaction of this process, which stood still for too long; find what stopped the process'],
  '53300': ['unavailable', 'has no connection left; raise max_connections'],
}

function databaseError(error: unknown, name: string): FleetError {
  const { code = '', message = String(error) } = error as { code?: string; message?: string } // errors of pg and of Node
  const [reason, advice] = ADVICE[code] ?? (code === '' ? adviceOfClient(message) : null) ?? [null, null]
  if (reason !== null) return new FleetError(reason, `PostgreSQL at ${name} ${advice}`, error)
  const isConnection = !/^[0-9A-Z]{5}$/.test(code) || code.startsWith('08') || code.startsWith('57P')
  if (isConnection)
    return new FleetError(
      'unavailable',
      `PostgreSQL at ${name} cannot be reached (${message}); check that it runs, and the host and port in the URL`,
      error,
    )
  return new FleetError(
    'database',
    `PostgreSQL at ${name} refuses a statement: ${message} (${code}); the log of PostgreSQL has its text`,
    error,
  )
}

/** The client's own errors have no code. */
function adviceOfClient(message: string): (typeof ADVICE)[string] | null {
  if (message.startsWith('SASL')) return ADVICE['28P01'] ?? null
  if (message.includes('does not support SSL'))
    return ['database', 'has no TLS; remove sslmode from the URL, or turn ssl on in postgresql.conf']
  return null
}

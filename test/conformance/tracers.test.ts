import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseGenesis } from '../../src/chain/index.ts'
import type { Genesis } from '../../src/chain/index.ts'
import { Address, Hex, Transaction } from '../../src/eth/index.ts'
import {
  callTrace,
  erc7562Trace,
  executeTransaction,
  flatCallTrace,
  StateOverlay,
  prestateTrace,
  rulesAt,
  TraceBudget,
  World,
} from '../../src/evm/index.ts'
import type { BlockContext, StateReader, Trace, TraceContext } from '../../src/evm/index.ts'

// geth's traces (eth/tracers/internal/tracetest/testdata): a state, a block, a transaction, and the trace.

const VECTORS = new URL('../../../shared/vectors/tracers/', import.meta.url)
const LIMIT_BYTES = 1 << 26

interface Vector {
  readonly genesis: { readonly config: Readonly<Record<string, unknown>>; readonly [key: string]: unknown }
  readonly context: Readonly<Record<'number' | 'difficulty' | 'timestamp' | 'gasLimit' | 'miner', string>> & {
    readonly baseFeePerGas?: string
  }
  /** without 0x in one file */
  readonly input: string
  readonly result: unknown
  readonly tracerConfig?: Readonly<Record<string, boolean>>
}

type Config = Readonly<Record<string, boolean>>

/** By folder. */
const MAKERS: Readonly<Record<string, (start: TraceContext, config: Config) => Trace>> = {
  call_tracer: calls,
  call_tracer_withLog: calls,
  call_tracer_legacy: calls,
  call_tracer_flat: (start, config) =>
    flatCallTrace(start, { convertParityErrors: is(config, 'convertParityErrors'), includePrecompiles: is(config, 'includePrecompiles') }),
  prestate_tracer: prestate,
  prestate_tracer_legacy: prestate,
  prestate_tracer_with_diff_mode: prestate,
  erc7562_tracer: (start, config) => erc7562Trace(start, { withLog: is(config, 'withLog'), ignoredOpcodes: null }),
}

/** Traces of the former JavaScript tracers: fewer fields, some in another format. */
const LEGACY = /_legacy$/

describe.skipIf(!existsSync(VECTORS))('traces equal those of geth', () => {
  for (const folder of Object.keys(MAKERS)) {
    describe(folder, () => {
      test.each(filesIn(folder))('%s', (file) => {
        const vector = JSON.parse(readFileSync(new URL(`${folder}/${file}`, VECTORS), 'utf8')) as Vector
        const traced = trace(folder, vector)
        if (LEGACY.test(folder)) expect(traced).toMatchObject(currentFormat(vector.result) as object)
        else expect(comparable(folder, traced)).toEqual(comparable(folder, vector.result))
      })
    })
  }

  test('all recorded traces are covered', () => {
    expect(Object.keys(MAKERS).flatMap(filesIn)).toHaveLength(97)
  })

  test('negative control: another tracer config gives another trace', () => {
    const vector = JSON.parse(readFileSync(new URL('call_tracer/simple.json', VECTORS), 'utf8')) as Vector
    expect(trace('call_tracer', { ...vector, tracerConfig: { onlyTopCall: true } })).not.toEqual(vector.result)
  })
})

function calls(start: TraceContext, config: Config): Trace {
  return callTrace(start, { onlyTopCall: is(config, 'onlyTopCall'), withLog: is(config, 'withLog') })
}

function prestate(start: TraceContext, config: Config): Trace {
  return prestateTrace(start, {
    diffMode: is(config, 'diffMode'),
    disableCode: is(config, 'disableCode'),
    disableStorage: is(config, 'disableStorage'),
    includeEmpty: is(config, 'includeEmpty'),
  })
}

function is(config: Config, key: string): boolean {
  return config[key] === true
}

function filesIn(folder: string): string[] {
  if (!existsSync(VECTORS)) return []
  return readdirSync(new URL(folder, VECTORS)).filter((name) => name.endsWith('.json'))
}

function trace(folder: string, vector: Vector): unknown {
  const genesis = genesisOf(vector)
  const before = new StateOverlay(NOWHERE)
  before.apply(genesis.state)
  const message = Transaction.decode(Hex.toBytes(vector.input.startsWith('0x') ? vector.input : `0x${vector.input}`))
  const context = contextOf(vector, genesis)
  const world = new World(before, { traced: true })
  const start: TraceContext = { message, context, stateBefore: before, state: world, location: null, budget: new TraceBudget(LIMIT_BYTES) }
  const { tracer, json } = MAKERS[folder]?.(start, vector.tracerConfig ?? {}) ?? expect.fail(`no tracer for ${folder}`)
  const executed = executeTransaction(message, context, world, { tracer })
  const traced: unknown = JSON.parse(json(executed))
  world.release()
  return traced
}

/** As in geth's runner: the genesis is the state before, the context is the block. */
function contextOf({ context }: Vector, { config, mixHash, excessBlobGas, blobGasUsed }: Genesis): BlockContext {
  const [number, timestamp] = [Number(context.number), Number(context.timestamp)]
  const rules = rulesAt(config, number, timestamp)
  const hasBlobs = excessBlobGas !== null && blobGasUsed !== null
  return {
    config,
    rules,
    env: {
      number,
      timestamp,
      gasLimit: BigInt(context.gasLimit),
      coinbase: Address.from(context.miner),
      prevRandao: mixHash,
      difficulty: BigInt(context.difficulty),
      baseFeePerGas: rules.has('london') ? BigInt(context.baseFeePerGas ?? 0) : null,
      blobBaseFee: rules.has('cancun') || hasBlobs ? 1n : null,
      parentBeaconBlockRoot: null,
      blockHash: () => null,
    },
  }
}

/** Go matches config keys case-insensitively. Forks planned after the merge do not affect earlier blocks. */
function genesisOf({ genesis }: Vector): Genesis {
  const isMined = Number(genesis.config['terminalTotalDifficulty'] ?? 0) > 0
  const entries = Object.entries(genesis.config).filter(([key]) => !isMined || !key.endsWith('Time'))
  const config = Object.fromEntries(entries.map(([key, value]) => [key.charAt(0).toLowerCase() + key.slice(1), value]))
  return parseGenesis(JSON.stringify({ ...genesis, config }), () => expect.fail('the file has no config'))
}

/** geth's runner parses both sides into structures with default values; flat traces also lose their location. */
function comparable(folder: string, result: unknown): unknown {
  if (folder === 'call_tracer_withLog') return withLogPlaces(result as LoggedFrame)
  if (folder !== 'call_tracer_flat') return result
  return (result as readonly Record<string, unknown>[]).map((frame) => {
    const { action, error, result: outcome, subtraces, traceAddress, type } = frame
    return { action: withoutNothing(action), error, result: withoutNothing(outcome ?? {}), subtraces, traceAddress, type }
  })
}

interface LoggedFrame {
  readonly logs?: readonly object[]
  readonly calls?: readonly LoggedFrame[]
}

function withLogPlaces(frame: LoggedFrame): LoggedFrame {
  const { logs, calls } = frame
  return {
    ...frame,
    ...(logs === undefined ? undefined : { logs: logs.map((log) => ({ index: '0x0', position: '0x0', ...log })) }),
    ...(calls === undefined ? undefined : { calls: calls.map(withLogPlaces) }),
  }
}

function withoutNothing(value: unknown): unknown {
  const entries = Object.entries(value as object).filter(([, each]) => !NOTHING.has(each))
  return Object.fromEntries(entries.map(([key, each]) => [key, typeof each === 'string' ? each.toLowerCase() : each]))
}

const NOTHING: ReadonlySet<unknown> = new Set(['0x', '0x0', null, Address.zero])

/** The fields of a legacy result that the current tracer has, in its format. */
function currentFormat(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(currentFormat)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([key, each]) => {
    const isNothing = each === '0x' || (typeof each === 'object' && Object.keys(each as object).length === 0)
    return (key === 'input' || !isNothing) && each !== 'internal failure'
  })
  return Object.fromEntries(entries.map(([key, each]) => [key, key === 'to' ? String(each).toLowerCase() : currentFormat(each)]))
}

const NOWHERE: StateReader = { account: () => null, code: () => new Uint8Array(), storage: () => 0n, slots: () => [] }

import { CADENCES, CHAOS_PROFILES } from '../chain/index.ts'
import { COMPAT } from '../compat.ts'
import { isObject } from '../eth/index.ts'
import type { PocketchainOptions } from './options.ts'

/** Throws RangeError for an unknown option or a wrong value. In JavaScript, and in a test runner that strips types, nothing else checks them. */
export function checkOptions(options: PocketchainOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue
    const names = NAMES.get(name)
    const shown = typeof value === 'string' ? `"${value}"` : String(value)
    if (!KNOWN.has(name)) throw new RangeError(`unknown option ${name}; the options of createPocketchain are ${[...KNOWN].join(', ')}`)
    if (names !== undefined && typeof value !== 'object' && !names.includes(value))
      throw new RangeError(`${name} must be one of ${names.join(', ')}, not ${shown}`)
    if (WHOLE_NUMBERS.has(name) && !(Number.isSafeInteger(value) && value >= 0))
      throw new RangeError(`${name} must be a whole number such as 1, not ${shown}`)
    if (BIGINTS.has(name) && typeof value !== 'bigint' && !(value === null && name === 'transactionGasCap'))
      throw new RangeError(`${name} must be a bigint such as 10n ** 18n, not ${shown}`)
  }
  const { fork, cadence } = options
  if (fork !== undefined && !(isObject(fork) && 'url' in fork))
    throw new RangeError("fork must be an object with the url of the chain to fork, such as { url: 'https://mainnet.base.org' }")
  if (isObject(cadence)) checkCadence(cadence)
}

function checkCadence(cadence: Readonly<Record<string, unknown>>): void {
  const fields = new Map<unknown, object>(Object.entries(CADENCES)).get(cadence['kind'])
  if (fields === undefined)
    throw new RangeError(`cadence.kind must be one of ${Object.keys(CADENCES).join(', ')}, not ${String(cadence['kind'])}`)
  const unknown = Object.keys(cadence).find((name) => !(name in fields))
  if (unknown !== undefined) throw new RangeError(`unknown option cadence.${unknown}; this cadence has ${Object.keys(fields).join(', ')}`)
}

const NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['cadence', Object.keys(CADENCES)],
  ['chaos', Object.keys(CHAOS_PROFILES)],
  ['clock', ['real', 'manual']],
  ['order', ['fees', 'fifo']],
  ['compat', Object.keys(COMPAT)],
  ['latest', ['sealed', 'promised']],
  ['chainType', ['op', 'l1']],
  ['tier1', ['on', 'off', 'shadow']],
])
const NUMBERS = ['chainId', 'accounts', 'number', 'timestamp', 'prune', 'stateHistory', 'workers'] as const
const FEES = ['baseFee', 'minBaseFee', 'minGasPrice', 'l1BaseFee', 'l1BlobBaseFee'] as const
const AMOUNTS = [...FEES, 'balance', 'gasLimit', 'transactionGasCap'] as const
const CHOICES = ['cadence', 'clock', 'chaos', 'seed', 'order', 'compat', 'latest', 'chainType', 'hardfork', 'tier1'] as const
const ACCOUNTS = ['mnemonic', 'derivationPath', 'fundedAccounts', 'autoImpersonate', 'clientVersion'] as const
const CONTENT = ['fork', 'genesis', 'importedChain', 'stateFile', 'data', 'codeSizeLimit', 'factories', 'withAccounts'] as const
const PARTS = ['wallet', 'bundler', 'sponsor', 'fleet', 'observer', 'executionNotes'] as const
const CALLBACKS = ['onImported', 'onMining', 'onForkProgress', 'onNote', 'onError'] as const
/** Every key of PocketchainOptions: its test fails to compile if one is missing. */
export const OPTION_NAMES = [...CHOICES, ...NUMBERS, ...ACCOUNTS, ...CONTENT, ...AMOUNTS, ...PARTS, ...CALLBACKS] as const

const KNOWN: ReadonlySet<string> = new Set(OPTION_NAMES)
const WHOLE_NUMBERS: ReadonlySet<string> = new Set(NUMBERS)
const BIGINTS: ReadonlySet<string> = new Set(AMOUNTS)

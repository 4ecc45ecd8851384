import { randomBytes } from 'node:crypto'
import type { Cadence, Chain, ChainOptions, FeeParameters, Genesis, L1Options } from '../chain/index.ts'
import type { Address } from '../eth/index.ts'
import { BlockRecord, JsonField, encodeBlock, genesisText, readGenesis } from '../store/index.ts'
import { FleetError } from './errors.ts'

/** The settings of a chain that, together with its genesis, determine its blocks. */
export type ChainSettings = Pick<ChainOptions, 'l1' | 'feeParameters' | 'gasLimit' | 'coinbase' | 'seed' | 'cadence' | 'startsAtHeadTime'>

/** The definition of a chain that all processes of a fleet share. */
export interface Definition {
  /** Names the chain on the bus; random. */
  readonly id: string
  readonly genesis: Genesis
  readonly settings: ChainSettings
}

export const Definition = { encode, decode }

/** Returns it as JSON. */
function encode({ genesis, config, genesisState }: Pick<Chain, 'genesis' | 'config' | 'genesisState'>, settings: ChainSettings): string {
  const { l1, feeParameters, gasLimit, coinbase, seed, cadence, startsAtHeadTime } = settings
  const record = Buffer.from(encodeBlock(genesis)).toString('base64')
  const values = JSON.stringify({ l1, feeParameters, gasLimit, coinbase, seed, cadence, startsAtHeadTime }, (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}` : value,
  )
  const id = randomBytes(ID_BYTES).toString('hex')
  return `{"id":"${id}","block":"${record}","genesis":${[...genesisText(config, genesisState)].join('')},"settings":${values}}`
}

const ID_BYTES = 6

/** Throws FleetError for a text that this program did not write. */
function decode(text: string): Definition {
  try {
    const json = new JsonField(JSON.parse(text), 'definition')
    const settings = json.key('settings')
    const { header } = BlockRecord.checked(Buffer.from(json.key('block').text(), 'base64'), 0).decode()
    return {
      id: json.key('id').text(),
      genesis: readGenesis(json.key('genesis'), header),
      settings: {
        l1: readL1(settings.key('l1')),
        feeParameters: readFees(settings.key('feeParameters')),
        gasLimit: settings.key('gasLimit').quantity(),
        coinbase: settings.key('coinbase').text() as Address, // written from an Address
        seed: settings.key('seed').text(),
        cadence: settings.key('cadence').value as Cadence, // written from a Cadence
        // absent in definitions of version 0.2.0
        startsAtHeadTime: settings.key('startsAtHeadTime').value === true,
      },
    }
  } catch (error) {
    throw new FleetError(
      'database',
      `the definition of the chain in the database cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  }
}

function readL1(field: JsonField): L1Options {
  return {
    baseFee: field.key('baseFee').quantity(),
    blobBaseFee: field.key('blobBaseFee').quantity(),
    baseFeeScalar: field.key('baseFeeScalar').number(),
    blobBaseFeeScalar: field.key('blobBaseFeeScalar').number(),
    operatorFeeScalar: field.key('operatorFeeScalar').number(),
    operatorFeeConstant: field.key('operatorFeeConstant').quantity(),
    daFootprintGasScalar: field.key('daFootprintGasScalar').number(),
  }
}

function readFees(field: JsonField): FeeParameters {
  return {
    denominator: field.key('denominator').quantity(),
    elasticity: field.key('elasticity').quantity(),
    minBaseFee: field.key('minBaseFee').quantity(),
  }
}

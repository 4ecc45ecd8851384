import { CODE, invalidParams } from '../../jsonrpc/index.ts'
import { required } from '../method.ts'
import type { Method } from '../method.ts'
import { BOOLEAN } from '../../jsonrpc/jsonschema.ts'
import { address, bigInteger, storageSlot } from '../../jsonrpc/schema.ts'
import { atMost } from './bounds.ts'
import { voidMethods, prefixed, named } from './named.ts'
import { SEQUENCER_FEE_VAULT } from './examples.ts'

/** geth's params.MaxGasLimit */
const gasLimit = atMost(bigInteger, 2n ** 63n - 1n, 'gas')
/** All ether is less than 2^128 wei, so the price of a unit of gas cannot exceed it. */
const price = atMost(bigInteger, 2n ** 128n - 1n, 'wei')

export const NEXT_BLOCK_METHODS: readonly Method[] = [
  ...named(['evm_setBlockGasLimit', 'anvil_setBlockGasLimit'], {
    doc: 'Sets the gas limit of coming blocks.',
    params: [required('gas', gasLimit)],
    result: BOOLEAN,
    errors: { [-32602]: "less than a block's deposits need" },
    example: { params: ['0x1c9c380'], result: true },
    handler: async ({ chain }, [gas]) => {
      await chain.setGasLimit(gas)
      return true
    },
  }),
  ...voidMethods([...prefixed('setCoinbase'), 'miner_setEtherbase'], {
    doc: 'Sets the fee recipient of coming blocks.',
    params: [required('address', address)],
    example: [SEQUENCER_FEE_VAULT],
    handler: ({ chain }, [target]) => chain.setCoinbase(target),
  }),
  ...voidMethods(prefixed('setNextBlockBaseFeePerGas'), {
    doc: 'Sets the base fee of the next block in wei; those after it follow from it.',
    params: [required('wei', price)],
    example: ['0x3b9aca00'],
    handler: ({ chain }, [wei]) => chain.setNextBaseFee(wei),
  }),
  ...voidMethods([...prefixed('setMinGasPrice'), 'miner_setGasPrice'], {
    doc: 'Sets the least that a transaction must offer per gas to enter the pool, in wei.',
    params: [required('wei', price)],
    example: ['0x3b9aca00'],
    errors: { [CODE.invalidParams]: 'with `--compat anvil` on a chain with EIP-1559' },
    handler: ({ chain, compat }, [wei]) => {
      if (compat.minGasPrice === 'refused' && chain.head.view.head.header.baseFeePerGas !== null)
        throw invalidParams('anvil_setMinGasPrice is not supported when EIP-1559 is active')
      chain.setMinGasPrice(wei)
    },
  }),
  ...voidMethods(['hardhat_setPrevRandao', 'anvil_setPrevRandao', 'anvil_setNextBlockPrevRandao'], {
    doc: 'Sets the randomness (PREVRANDAO, `mixHash`) of the next block.',
    params: [required('prevRandao', storageSlot)],
    example: [`0x${'2a'.padStart(64, '0')}`],
    handler: ({ chain }, [prevRandao]) => chain.setNextPrevRandao(prevRandao),
  }),
]

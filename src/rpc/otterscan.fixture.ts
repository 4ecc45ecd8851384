import { Hex } from '../eth/index.ts'
import type { Address } from '../eth/index.ts'

/** The recipients of the contract's payments and of its self-destruction. */
export const PAID: Address = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8' as Address // lower case
export const HEIR: Address = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc' as Address // lower case

/** The first byte of the call data selects the action. Without data the contract only receives value. */
export const DO = { everything: '0x01', payAndRevert: '0x02', callThatReverts: '0x03', selfDestruct: '0x04', createInVain: '0x05' } as const

const RUNTIME = [
  // jumps to the offset in the first byte of the data; stops without data
  '36156100475760003560001a6001146100495760003560001a6002146100b45760003560001a6003146100e45760003560001a6004146100f95760003560001a600514610110575b00',
  // everything: pays 5, CREATE with 3 and CREATE2 with 2 (each a contract of one byte), STATICCALL of precompile 4, DELEGATECALL and CALLCODE to itself
  '5b600060006000600060057370997970c51812dc3a010c7d01b50e0d17dc79c85af15069600160005360016000f3600052600a60166003f0506007600a60166002f550600060006004600060045afa506000600060006000305af45060006000600060006001305af25000',
  // payAndRevert: pays 5 and reverts with 0xdeadbeef
  '5b600060006000600060057370997970c51812dc3a010c7d01b50e0d17dc79c85af15063deadbeef6000526004601cfd',
  // callThatReverts: calls itself to pay and revert
  '5b600260005360006000600160006000305af15000',
  // selfDestruct
  '5b733c44cdddb6a900fa2b585dd299e03d12fa4293bcff',
  // createInVain: CREATE with 1 wei of init code that reverts
  '5b6460006000fd6000526005601b6001f05000',
].join('')

const SIZE = (RUNTIME.length / 2).toString(16).padStart(4, '0')

export const OTTER_INIT_CODE: Uint8Array = Hex.toBytes(`0x61${SIZE}80600c6000396000f3${RUNTIME}`)

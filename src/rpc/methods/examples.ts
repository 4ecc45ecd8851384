// Values of the examples in the reference.

/** The first two dev accounts. */
export const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
export const BOB = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8'
export const WETH = '0x4200000000000000000000000000000000000006'
export const SEQUENCER_FEE_VAULT = '0x4200000000000000000000000000000000000011'
export const BLOCK_HASH = '0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7'
export const TRANSACTION_HASH = '0x205405746564cbcf1dd53fb5ac92c7622d3792d82f03c59d9baddf2443d91864'

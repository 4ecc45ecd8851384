import type { Address } from './address.ts'
import type { Hash } from './hash.ts'

/** The root of an empty trie: keccak(rlp('')). */
export const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421' as Hash

/** keccak(rlp([])). */
export const EMPTY_OMMERS = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347' as Hash

/** keccak of no bytes: the code hash of an account without code. */
export const EMPTY_CODE_HASH = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470' as Hash

/** EIP-7685, sha256 of no bytes: the hash of a block without requests, as every OP block is. */
export const EMPTY_REQUESTS_HASH = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' as Hash

/** USDC on Base and in the default genesis. */
export const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' as Address

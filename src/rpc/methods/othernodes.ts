import { randomBytes } from 'node:crypto'
import { DecodeError, Hex, PersonalMessage, Secp256k1 } from '../../eth/index.ts'
import type { Address, Hash, PrivateKey } from '../../eth/index.ts'
import { UnknownAccount } from '../accounts.ts'
import { CODE, invalidParams } from '../../jsonrpc/index.ts'
import { ADDRESS, BOOLEAN, BYTES, STRING, listOf, orNull } from '../../jsonrpc/jsonschema.ts'
import { address, anything, blockRef, bytes, hash, prefixOptional, quantity } from '../../jsonrpc/schema.ts'
import { findTransaction } from '../blocks.ts'
import { callRequest } from '../execution/request.ts'
import { transactionJson } from '../json.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { TRANSACTION } from '../results.ts'
import { sendTransaction } from './send.ts'
import { signTransaction } from './sign.ts'
import { POOL_TOO_LARGE, wholePool } from './txpool.ts'
import { ALICE, BOB, TRANSACTION_HASH } from './examples.ts'
import { sentWith } from './otterscan.ts'

// Names of geth, Hardhat and Ganache for what this node has under others, and the `personal_` methods for development accounts, whose passwords are ignored.

const NO_ACCOUNT = { [CODE.server]: 'unknown account' }
const PASSWORD = optional('password', anything)
const SIGNATURE =
  '0xa114c834af73872c6c9efe918d85b0b1b34a486d10f9011e2630e28417c828c060dbd65cda67e73d52ebb7c555260621dbc1b0b4036acb61086bba091ac3f1641b'
/** The second account of the default mnemonic. */
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

export const OTHER_NODE_METHODS: readonly Method[] = [
  method({
    name: 'eth_requestAccounts',
    doc: 'As eth_accounts, for pages that take this node as their wallet.',
    params: [],
    result: listOf(ADDRESS),
    example: { params: [], result: [ALICE] },
    handler: ({ accounts }) => accounts.addresses,
  }),
  method({
    name: 'eth_networkId',
    doc: 'As net_version.',
    params: [],
    result: STRING,
    example: { params: [], result: '31337' },
    handler: ({ chain }) => String(chain.config.chainId),
  }),
  method({
    name: 'eth_getCompilers',
    doc: 'Always empty: a node compiles nothing.',
    params: [],
    result: listOf(STRING),
    example: { params: [], result: [] },
    handler: () => [],
  }),
  method({
    name: 'eth_pendingTransactions',
    doc: 'The transactions of the pool that can be executed, and those that wait for an earlier nonce.',
    params: [],
    result: listOf(TRANSACTION),
    errors: POOL_TOO_LARGE,
    example: { params: [], result: [{ hash: TRANSACTION_HASH, type: '0x2', blockNumber: null }] },
    handler: ({ chain }) => {
      const { pending, queued } = wholePool(chain)
      return [...pending.values(), ...queued.values()].flat().map((tx) => transactionJson(tx, null))
    },
  }),
  method({
    name: 'eth_getTransactionBySenderAndNonce',
    doc: 'The transaction that an account sent with a nonce, sealed, pre-confirmed or in the pool, or null. On a fork upstream is asked, too, if it has ots_getTransactionBySenderAndNonce.',
    params: [required('sender', address), required('nonce', quantity)],
    result: orNull(TRANSACTION),
    example: { params: [ALICE, '0x0'], result: { hash: TRANSACTION_HASH, type: '0x2', nonce: '0x0' } },
    handler: ({ chain }, [sender, nonce]) => {
      const sent = sentWith(chain.head.view, sender, nonce)
      const wanted = sent ?? chain.pool.bySenderAndNonce(sender, nonce)?.hash ?? null
      const found = wanted === null ? null : findTransaction(chain, wanted)
      return found === null ? null : transactionJson(found.tx, found.place)
    },
  }),
  method({
    name: 'evm_addAccount',
    doc: 'Lets eth_sendTransaction send from an address without a signature, as anvil_impersonateAccount; false if it could already.',
    params: [required('address', address), PASSWORD],
    result: BOOLEAN,
    example: { params: [BOB, 'password'], result: true },
    handler: ({ accounts }, [added]) => {
      const isNew = !accounts.addresses.includes(added)
      if (isNew) accounts.impersonate(added)
      return isNew
    },
  }),
  method({
    name: 'evm_removeAccount',
    doc: 'Ends what evm_addAccount began; false if it had not.',
    params: [required('address', address), PASSWORD],
    result: BOOLEAN,
    example: { params: [BOB, 'password'], result: true },
    handler: ({ accounts }, [removed]) => accounts.stopImpersonating(removed),
  }),
  method({
    name: 'personal_listAccounts',
    doc: 'As eth_accounts.',
    params: [],
    result: listOf(ADDRESS),
    example: { params: [], result: [ALICE] },
    handler: ({ accounts }) => accounts.addresses,
  }),
  method({
    name: 'personal_newAccount',
    doc: 'Creates a key, which this process keeps in memory, and returns its address; the password is ignored.',
    params: [PASSWORD],
    result: ADDRESS,
    example: { params: ['password'], result: BOB },
    handler: ({ accounts }) => accounts.add(newKey()),
  }),
  method({
    name: 'personal_importRawKey',
    doc: 'Adds a private key, which this process keeps in memory, and returns its address; the password is ignored.',
    params: [required('key', prefixOptional(bytes)), PASSWORD],
    result: ADDRESS,
    example: { params: [KEY, 'password'], result: BOB },
    handler: ({ accounts }, [key]) => {
      if (addressOf(key) === null) throw invalidParams('invalid argument 0 (key): 32 bytes of a private key of secp256k1 are expected')
      return accounts.add(key)
    },
  }),
  method({
    name: 'personal_unlockAccount',
    doc: 'True for an account of this node: they are never locked, so password and duration are ignored.',
    params: [required('address', address), PASSWORD, optional('seconds', anything)],
    result: BOOLEAN,
    errors: NO_ACCOUNT,
    example: { params: [ALICE, 'password', 300], result: true },
    handler: ({ accounts }, [wanted]) => {
      if (!accounts.canSend(wanted)) throw new UnknownAccount(wanted)
      return true
    },
  }),
  method({
    name: 'personal_lockAccount',
    doc: 'Always false: the accounts of this node cannot be locked.',
    params: [required('address', address)],
    result: BOOLEAN,
    example: { params: [ALICE], result: false },
    handler: () => false,
  }),
  method({
    name: 'personal_sendTransaction',
    doc: 'As eth_sendTransaction; the password is ignored.',
    params: [required('transaction', callRequest), PASSWORD],
    result: hash.json,
    errors: { [CODE.server]: 'unknown account, a failed gas estimate, or a refusal of the pool' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }, 'password'], result: TRANSACTION_HASH },
    handler: (context, [request]) => sendTransaction(context, request),
  }),
  method({
    name: 'personal_signTransaction',
    doc: 'As eth_signTransaction; the password is ignored.',
    params: [required('transaction', callRequest), PASSWORD],
    result: BYTES,
    errors: { [CODE.server]: 'unknown account, or the gas estimate failed' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }, 'password'], result: '0x02f86b827a69…' },
    handler: (context, [request]) => signTransaction(context, request),
  }),
  method({
    name: 'personal_ecRecover',
    doc: 'The address whose key signed a message by personal_sign or eth_sign.',
    params: [required('message', bytes), required('signature', bytes)],
    result: ADDRESS,
    example: { params: ['0xdeadbeef', SIGNATURE], result: ALICE },
    handler: (_, [message, signature]) => signerOf(PersonalMessage.hash(message), signature),
  }),
  method({
    name: 'debug_codeByHash',
    doc: 'The code with a hash, that an account has at any block whose state is in memory; null if there is none. On a fork only what was deployed here.',
    // reth's second parameter, which clients send also if it is null.
    params: [required('hash', hash), optional('block', blockRef)],
    result: orNull(BYTES),
    example: { params: [`0x${'c5'.repeat(32)}`], result: '0x6001' },
    handler: ({ chain }, [codeHash]) => {
      const code = chain.head.view.codeByHash(codeHash)
      return code === null ? null : Hex.fromBytes(code)
    },
  }),
]

/** Nearly every 32 bytes are a key. */
function newKey(): PrivateKey {
  for (;;) {
    const key = new Uint8Array(randomBytes(32))
    if (addressOf(key) !== null) return key
  }
}

/** Null: no private key of secp256k1. */
function addressOf(key: PrivateKey): Address | null {
  try {
    return Secp256k1.address(key)
  } catch (error) {
    if (error instanceof DecodeError) return null
    throw error
  }
}

/** v may also be 0 or 1. */
function signerOf(digest: Hash, signature: Uint8Array): Address {
  const v = signature[64]
  const yParity = v === undefined || v < 27 ? v : v - 27
  const word = (start: number) => BigInt(Hex.fromBytes(signature.subarray(start, start + 32)))
  const isSigned = signature.length === 65 && (yParity === 0 || yParity === 1)
  const signer = isSigned ? Secp256k1.recover(digest, word(0), word(32), yParity) : null
  if (signer === null) throw invalidParams('invalid argument 1 (signature): it belongs to no key')
  return signer
}

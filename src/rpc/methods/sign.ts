import { DecodeError, Hash, Hex, PersonalMessage, Transaction, TypedData } from '../../eth/index.ts'
import type { Signature } from '../../eth/index.ts'
import { CODE } from '../../jsonrpc/index.ts'
import type { Context } from '../context.ts'
import { method, optional, required } from '../method.ts'
import type { Method } from '../method.ts'
import { callRequest } from '../execution/request.ts'
import type { CallRequest } from '../execution/request.ts'
import { address, anything, bytes, refused } from '../../jsonrpc/schema.ts'
import { requireSender } from './fill.ts'
import { fillToSend } from './send.ts'
import { named } from './named.ts'
import { ALICE, BOB } from './examples.ts'

const UNKNOWN_ACCOUNT = { [CODE.server]: 'unknown account' }

const SIGNED_MESSAGE =
  '0xa114c834af73872c6c9efe918d85b0b1b34a486d10f9011e2630e28417c828c060dbd65cda67e73d52ebb7c555260621dbc1b0b4036acb61086bba091ac3f1641b'
const SIGNED_DATA =
  '0x15c3455f3bf1151976ee31de05ae9d46476776d36c89bfa80562aae988fd81673fad1cfa120d810d978107751e2cf045b28faa026b4200564eb3dfe757b70e731c'

export const SIGN_METHODS: readonly Method[] = [
  method({
    name: 'eth_signTransaction',
    doc: 'Fills in the missing fields of a transaction and returns it signed by the account of `from`, without sending it.',
    params: [required('transaction', callRequest)],
    result: bytes.json,
    errors: { [CODE.server]: 'unknown account, or the gas estimate failed' },
    example: { params: [{ from: ALICE, to: BOB, value: '0x1' }], result: '0x02f86b827a69…' },
    handler: (context, [request]) => signTransaction(context, request),
  }),
  method({
    name: 'eth_sign',
    doc: 'Signs a message with the prefix of EIP-191 (`\\x19Ethereum Signed Message:\\n`).',
    params: [required('address', address), required('message', bytes)],
    result: bytes.json,
    errors: UNKNOWN_ACCOUNT,
    example: { params: [ALICE, '0xdeadbeef'], result: SIGNED_MESSAGE },
    handler: ({ accounts }, [signer, message]) => signatureBytes(accounts.sign(signer, PersonalMessage.hash(message))),
  }),
  method({
    name: 'personal_sign',
    doc: 'As eth_sign, with message and address in the other order.',
    params: [required('message', bytes), required('address', address), optional('password', anything)],
    result: bytes.json,
    errors: UNKNOWN_ACCOUNT,
    example: { params: ['0xdeadbeef', ALICE], result: SIGNED_MESSAGE },
    handler: ({ accounts }, [message, signer]) => signatureBytes(accounts.sign(signer, PersonalMessage.hash(message))),
  }),
  ...named(['eth_signTypedData_v4', 'eth_signTypedData'], {
    doc: 'Signs structured data (EIP-712), given as an object or as JSON text.',
    params: [required('address', address), required('typedData', anything)],
    result: bytes.json,
    errors: UNKNOWN_ACCOUNT,
    example: {
      params: [ALICE, { types: { Mail: [{ name: 'text', type: 'string' }] }, primaryType: 'Mail', domain: {}, message: { text: 'hi' } }],
      result: SIGNED_DATA,
    },
    handler: ({ accounts }, [signer, data]) => signatureBytes(accounts.sign(signer, typedDataHash(data))),
  }),
]

/** Returns the envelope. Throws UnknownAccount without a key of the sender: no node accepts the envelope of an impersonated one. */
export function signTransaction(context: Context, given: CallRequest): Hex {
  const request = requireSender(context, given)
  const { from } = request
  const key = context.accounts.keyOf(from)
  return Hex.fromBytes(Transaction.sign(fillToSend(context, request), key, from).raw)
}

/** r, s and 27 or 28. */
function signatureBytes({ r, s, yParity }: Signature): Hex {
  return Hex.fromBytes(Buffer.concat([Hash.toBytes(Hash.fromBigint(r)), Hash.toBytes(Hash.fromBigint(s)), Uint8Array.of(27 + yParity)]))
}

function typedDataHash(data: unknown): Hash {
  try {
    return TypedData.hash(TypedData.parse(data))
  } catch (error) {
    if (error instanceof DecodeError) throw refused('argument 1 (typedData)', error.message)
    throw error
  }
}

import { Hex, PersonalMessage, Secp256k1 } from '../../eth/index.ts'
import type { Address, Hash } from '../../eth/index.ts'
import { invalidParams, optional, required, schema } from '../../jsonrpc/index.ts'
import { chainLabel } from '../chains/chain.ts'
import type { WalletChain } from '../chains/chain.ts'
import { assertStillPermitted, selectedChain } from '../connecting.ts'
import type { WalletContext } from '../context.ts'
import { WALLET_CODE } from '../errors.ts'
import { signatureHex } from '../keys/keyring.ts'
import { messageBytes, messageText, messageWarnings } from '../preview/message.ts'
import { tokenLabels } from '../preview/permits.ts'
import { walletMethod } from '../method.ts'
import type { ProviderCaller, WalletMethod } from '../method.ts'
import { isBoundToChain } from '../question.ts'
import type { Draft } from '../question.ts'
import { rightsFacts, verifierWarnings } from '../preview/signedrights.ts'
import { permittedAccount } from '../sites.ts'
import { readTypedData, typedDataWarnings } from '../preview/typedmessage.ts'
import type { CheckedTypedData } from '../preview/typedmessage.ts'

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const ERRORS = {
  [WALLET_CODE.rejected]: 'the user refused, or the approval request timed out',
  [WALLET_CODE.unauthorized]: 'the origin is not connected to this account, or the account may not sign on this chain',
}

export const SIGN_METHODS: readonly WalletMethod[] = [
  walletMethod({
    name: 'personal_sign',
    doc: 'Signs a message with the prefix of EIP-191, hex as bytes and anything else as UTF-8; message and address may come in either order.',
    params: [required('message', schema.string), required('address', schema.string), optional('password', schema.anything)],
    result: schema.bytes.json,
    errors: ERRORS,
    example: {
      params: ['0xdeadbeef', ALICE],
      result:
        '0xa114c834af73872c6c9efe918d85b0b1b34a486d10f9011e2630e28417c828c060dbd65cda67e73d52ebb7c555260621dbc1b0b4036acb61086bba091ac3f1641b',
    },
    handler: (wallet, [first, second], caller) => {
      const isSwapped = Hex.isHex(first, 40) && !Hex.isHex(second, 40)
      const [message, signer] = isSwapped ? [second, first] : [first, second]
      const wanted = schema.address.parse(signer, isSwapped ? 'argument 0 (address)' : 'argument 1 (address)')
      const bytes = messageBytes(message)
      // ERC-4361: verifiers compare the times of a sign-in message with the wall clock, not with the chain's.
      return sign(wallet, wanted, caller, (account, { chainId }) => ({
        scheme: 'personal_sign',
        message: Hex.fromBytes(bytes),
        text: messageText(bytes),
        typedData: null,
        digest: PersonalMessage.hash(bytes),
        warnings: messageWarnings(bytes, { origin: caller.origin, account, chainId, now: Date.now() }),
      }))
    },
  }),
  walletMethod({
    name: 'personal_ecRecover',
    doc: 'Returns the address whose key signed a message with personal_sign; for a smart account that is the address of its owner.',
    params: [required('message', schema.string), required('signature', schema.bytes)],
    result: schema.address.json,
    example: {
      params: [
        '0xdeadbeef',
        '0xa114c834af73872c6c9efe918d85b0b1b34a486d10f9011e2630e28417c828c060dbd65cda67e73d52ebb7c555260621dbc1b0b4036acb61086bba091ac3f1641b',
      ],
      result: ALICE,
    },
    handler: (_, [message, signature]) => signerOf(PersonalMessage.hash(messageBytes(message)), signature),
  }),
  walletMethod({
    name: 'eth_signTypedData_v4',
    doc: 'Signs structured data (EIP-712), given as an object or as JSON text. The chain id of its domain is that of the selected chain, or absent; its types have EIP712Domain unless the domain is empty.',
    params: [required('address', schema.address), required('typedData', schema.anything)],
    result: schema.bytes.json,
    errors: ERRORS,
    example: {
      params: [ALICE, { types: { Mail: [{ name: 'text', type: 'string' }] }, primaryType: 'Mail', domain: {}, message: { text: 'hi' } }],
      result:
        '0x15c3455f3bf1151976ee31de05ae9d46476776d36c89bfa80562aae988fd81673fad1cfa120d810d978107751e2cf045b28faa026b4200564eb3dfe757b70e731c',
    },
    handler: (wallet, [signer, given], caller) => signTyped(wallet, signer, readTypedData(given), 'eth_signTypedData_v4', caller),
  }),
  walletMethod({
    name: 'eth_signTypedData_v3',
    doc: 'Signs structured data without arrays and absent structs (EIP-712); its signature is that of eth_signTypedData_v4.',
    params: [required('address', schema.address), required('typedData', schema.anything)],
    result: schema.bytes.json,
    errors: ERRORS,
    example: {
      params: [ALICE, { types: { Mail: [{ name: 'text', type: 'string' }] }, primaryType: 'Mail', domain: {}, message: { text: 'hi' } }],
      result:
        '0x15c3455f3bf1151976ee31de05ae9d46476776d36c89bfa80562aae988fd81673fad1cfa120d810d978107751e2cf045b28faa026b4200564eb3dfe757b70e731c',
    },
    handler: (wallet, [signer, given], caller) => signTyped(wallet, signer, readTypedData(given, 3), 'eth_signTypedData_v3', caller),
  }),
]

function signTyped(
  wallet: WalletContext,
  signer: Address,
  { shown, digest, chainId }: CheckedTypedData,
  method: 'eth_signTypedData_v3' | 'eth_signTypedData_v4',
  caller: ProviderCaller,
): Promise<Hex> {
  const selected = wallet.sites.get(caller.origin).chainId
  const contentOf = async (account: Address, chain: WalletChain): Promise<Content> => {
    if (chainId !== null && chainId !== BigInt(selected)) throw otherChain(chainId, selected)
    const [facts, verifier] = await Promise.all([rightsFacts(chain, shown), verifierWarnings(chain, shown)])
    const context = { origin: caller.origin, account, chainId: selected, now: Date.now() }
    const warnings = [...typedDataWarnings(shown, context, facts, wallet.keyring.accounts), ...verifier]
    const tokens = tokenLabels(facts)
    const named = tokens.length === 0 ? {} : { tokens }
    return { scheme: 'eth_signTypedData_v4', message: null, text: null, typedData: shown, ...named, digest, warnings }
  }
  return sign(wallet, signer, caller, contentOf, method)
}

type Content = Omit<Extract<Draft, { kind: 'sign' }>, 'kind' | 'origin' | 'method' | 'account' | 'chain'>

/** Requests approval and signs what was shown, if the origin still has the account and is on the chain. Throws RpcError 4001, 4100 and -32602. */
async function sign(
  wallet: WalletContext,
  wanted: Address,
  caller: ProviderCaller,
  contentOf: (account: Address, chain: WalletChain) => Content | Promise<Content>,
  method = 'personal_sign',
): Promise<Hex> {
  const { origin, signal } = caller
  const account = permittedAccount(wallet.sites.get(origin), wanted)
  const chain = selectedChain(wallet, origin)
  wallet.keyring.assertMaySign(account, chain)
  const content = await contentOf(account, chain)
  const draft = { kind: 'sign', origin, method, account, chain: chainLabel(chain), ...content } as const
  const assertPermitted = () => assertStillPermitted(wallet, caller, isBoundToChain(draft) ? chain.chainId : null, account)
  assertPermitted()
  await wallet.approvals.ask(draft, { signal })
  assertPermitted()
  return signatureHex(wallet.keyring.sign(account, content.digest, chain))
}

/** Recovers the signer. v may also be 0 or 1. Throws RpcError -32602. */
function signerOf(digest: Hash, signature: Uint8Array): Address {
  const v = signature[64]
  if (signature.length !== 65 || v === undefined) throw unrecoverable(`it has ${signature.length} bytes instead of 65`)
  const yParity = v < 27 ? v : v - 27
  if (yParity > 1) throw unrecoverable(`its last byte is ${v}, neither 27 nor 28`)
  const word = (start: number) => BigInt(Hex.fromBytes(signature.subarray(start, start + 32)))
  const signer = Secp256k1.recover(digest, word(0), word(32), yParity)
  if (signer === null) throw unrecoverable('it belongs to no key')
  return signer
}

function unrecoverable(why: string) {
  return invalidParams(`invalid argument 1 (signature): ${why}`, { reason: 'signature' })
}

function otherChain(requested: bigint, selected: number) {
  const message = `the domain of the typed data is of chain ${requested}, and the selected chain is ${selected}; switch to it first`
  return invalidParams(message, {
    reason: 'chain-mismatch',
    requested: `0x${requested.toString(16)}`,
    selected: Hex.fromQuantity(selected),
  })
}

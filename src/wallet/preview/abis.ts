import { AbiParameters, Hash, Hex } from '../../eth/index.ts'
import { DECODED_BYTES } from '../limits.ts'
import { KNOWN_FUNCTIONS, linesOf, signatureOf } from './functions.ts'

/** A decoded call or error. */
export interface Decoded {
  readonly name: string
  /** such as `transfer(address,uint256)` */
  readonly signature: string
  readonly args: readonly DecodedArgument[]
}

interface DecodedArgument {
  readonly name: string
  readonly type: string
  /** bigint or number, boolean, 0x text, string, and lists and records of them */
  readonly value: unknown
}

/** Returns `null` for an unknown function, and for data that does not fit it. */
export function decodeCall(data: Hex): Decoded | null {
  return decode(FUNCTIONS, data)
}

/** Returns `null` for an unknown error, and for data that does not fit it. */
export function decodeError(data: Hex): Decoded | null {
  return decode(ERRORS, data)
}

/** A selector is four bytes of a hash and can match by chance, so the arguments have to fit as well. */
function decode(rows: Rows, data: Hex): Decoded | null {
  const text = rows.get(data.slice(0, 10))
  if (text === undefined || data.length > 2 + 2 * DECODED_BYTES) return null
  const start = text.indexOf('(')
  try {
    const parameters = AbiParameters.parse(text.slice(start + 1, -1))
    const values = AbiParameters.decode(parameters, Hex.toBytes(`0x${data.slice(10)}`))
    const args = parameters.map(({ name, type }, i) => ({ name, type: type.text, value: values[i] }))
    return { name: text.slice(0, start), signature: signatureOf(text), args }
  } catch {
    return null
  }
}

/** By selector. */
type Rows = ReadonlyMap<string, string>

function rowsOf(rows: readonly string[]): Rows {
  return new Map(rows.map((row) => [Hash.ofText(signatureOf(row)).slice(0, 10), row]))
}

const FUNCTIONS = rowsOf(KNOWN_FUNCTIONS)

const ERRORS = rowsOf(
  linesOf(`
  Error(string reason)
  Panic(uint256 code)
  ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
  ERC20InvalidSender(address sender)
  ERC20InvalidReceiver(address receiver)
  ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)
  ERC20InvalidApprover(address approver)
  ERC20InvalidSpender(address spender)
  ERC721InvalidOwner(address owner)
  ERC721NonexistentToken(uint256 tokenId)
  ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)
  ERC721InvalidSender(address sender)
  ERC721InvalidReceiver(address receiver)
  ERC721InsufficientApproval(address operator, uint256 tokenId)
  ERC721InvalidApprover(address approver)
  ERC721InvalidOperator(address operator)
  ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)
  ERC1155InvalidSender(address sender)
  ERC1155InvalidReceiver(address receiver)
  ERC1155MissingApprovalForAll(address operator, address owner)
  ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength)
  ERC2612ExpiredSignature(uint256 deadline)
  ERC2612InvalidSigner(address signer, address owner)
  ERC4626ExceededMaxDeposit(address receiver, uint256 assets, uint256 max)
  ERC4626ExceededMaxWithdraw(address owner, uint256 assets, uint256 max)
  ERC4626ExceededMaxRedeem(address owner, uint256 shares, uint256 max)
  InvalidAccountNonce(address account, uint256 currentNonce)
  SafeERC20FailedOperation(address token)
  AddressEmptyCode(address target)
  AddressInsufficientBalance(address account)
  FailedCall()
  FailedInnerCall()
  FailedDeployment()
  InsufficientBalance(uint256 balance, uint256 needed)
  OwnableUnauthorizedAccount(address account)
  OwnableInvalidOwner(address owner)
  AccessControlUnauthorizedAccount(address account, bytes32 neededRole)
  AccessControlBadConfirmation()
  EnforcedPause()
  ExpectedPause()
  ReentrancyGuardReentrantCall()
  InvalidInitialization()
  NotInitializing()
  UUPSUnauthorizedCallContext()
  ERC1967InvalidImplementation(address implementation)
  ECDSAInvalidSignature()
  ECDSAInvalidSignatureLength(uint256 length)
  AccountUnauthorized(address sender)
  UnsupportedExecutionMode()
  ERC7579DecodingError()
  ExecuteError(uint256 index, bytes error)
  FailedOp(uint256 opIndex, string reason)
  FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)
  AllowanceExpired(uint256 deadline)
  InsufficientAllowance(uint256 amount)
  ExcessiveInvalidation()
  SignatureExpired(uint256 signatureDeadline)
  InvalidSigner()
  InvalidNonce()
  InvalidAmount(uint256 maxAmount)
  LengthMismatch()
  V2TooLittleReceived()
  V2TooMuchRequested()
  V3TooLittleReceived()
  V3TooMuchRequested()
  TransactionDeadlinePassed()
  ExecutionFailed(uint256 commandIndex, bytes message)
  CallFailed(uint256 index)
`),
)

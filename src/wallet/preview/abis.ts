import { AbiParameters, Hash, Hex } from '../../eth/index.ts'
import { DECODED_BYTES } from '../limits.ts'

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

/** `text`: a row of the tables, where every parameter has a name. */
function signatureOf(text: string): string {
  return text.replaceAll(/ \w+(?=[,)])/g, '').replaceAll(', ', ',')
}

/** By selector. */
type Rows = ReadonlyMap<string, string>

function rowsOf(texts: string): Rows {
  const rows = texts.trim().split(/\n\s*/)
  return new Map(rows.map((row) => [Hash.ofText(signatureOf(row)).slice(0, 10), row]))
}

const OPERATION_06 =
  '(address sender, uint256 nonce, bytes initCode, bytes callData, uint256 callGasLimit, uint256 verificationGasLimit, uint256 preVerificationGas, uint256 maxFeePerGas, uint256 maxPriorityFeePerGas, bytes paymasterAndData, bytes signature)'
const OPERATION =
  '(address sender, uint256 nonce, bytes initCode, bytes callData, bytes32 accountGasLimits, uint256 preVerificationGas, bytes32 gasFees, bytes paymasterAndData, bytes signature)'
const PERMIT_DETAILS = '(address token, uint160 amount, uint48 expiration, uint48 nonce)'
const TRANSFER_DETAILS = '(address to, uint256 requestedAmount)'
const PERMIT_TRANSFER = '((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline)'

/** Signatures of standards and of widely used contracts. */
const FUNCTIONS = rowsOf(`
  transfer(address to, uint256 amount)
  transferFrom(address from, address to, uint256 amount)
  approve(address spender, uint256 amount)
  increaseAllowance(address spender, uint256 added)
  decreaseAllowance(address spender, uint256 subtracted)
  transferAndCall(address to, uint256 amount)
  transferAndCall(address to, uint256 amount, bytes data)
  approveAndCall(address spender, uint256 amount)
  approveAndCall(address spender, uint256 amount, bytes data)
  mint(address to, uint256 amount)
  mint(uint256 amount)
  mint()
  burn(uint256 amount)
  burn(address from, uint256 amount)
  burnFrom(address from, uint256 amount)
  permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
  permit(address holder, address spender, uint256 nonce, uint256 expiry, bool allowed, uint8 v, bytes32 r, bytes32 s)
  transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
  receiveWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
  safeTransferFrom(address from, address to, uint256 tokenId)
  safeTransferFrom(address from, address to, uint256 tokenId, bytes data)
  setApprovalForAll(address operator, bool approved)
  safeTransferFrom(address from, address to, uint256 tokenId, uint256 amount, bytes data)
  safeBatchTransferFrom(address from, address to, uint256[] tokenIds, uint256[] amounts, bytes data)
  safeMint(address to, uint256 tokenId)
  safeMint(address to)
  deposit()
  withdraw(uint256 amount)
  deposit(uint256 assets, address receiver)
  withdraw(uint256 assets, address receiver, address owner)
  redeem(uint256 shares, address receiver, address owner)
  mint(uint256 shares, address receiver)
  approve(address token, address spender, uint160 amount, uint48 expiration)
  transferFrom(address from, address to, uint160 amount, address token)
  permit(address owner, (${PERMIT_DETAILS} details, address spender, uint256 sigDeadline) permitSingle, bytes signature)
  permit(address owner, (${PERMIT_DETAILS}[] details, address spender, uint256 sigDeadline) permitBatch, bytes signature)
  permitTransferFrom(${PERMIT_TRANSFER} permit, ${TRANSFER_DETAILS} transferDetails, address owner, bytes signature)
  lockdown((address token, address spender)[] approvals)
  invalidateNonces(address token, address spender, uint48 newNonce)
  aggregate((address target, bytes callData)[] calls)
  tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)
  tryBlockAndAggregate(bool requireSuccess, (address target, bytes callData)[] calls)
  blockAndAggregate((address target, bytes callData)[] calls)
  aggregate3((address target, bool allowFailure, bytes callData)[] calls)
  aggregate3Value((address target, bool allowFailure, uint256 value, bytes callData)[] calls)
  multicall(bytes[] data)
  multicall(uint256 deadline, bytes[] data)
  execute(bytes32 mode, bytes executionData)
  execute(address target, uint256 value, bytes data)
  executeBatch((address target, uint256 value, bytes data)[] calls)
  executeBatch(address[] targets, uint256[] values, bytes[] datas)
  handleOps(${OPERATION_06}[] ops, address beneficiary)
  handleOps(${OPERATION}[] ops, address beneficiary)
  depositTo(address account)
  withdrawTo(address withdrawAddress, uint256 withdrawAmount)
  addStake(uint32 unstakeDelaySec)
  unlockStake()
  withdrawStake(address withdrawAddress)
  incrementNonce(uint192 key)
  swapExactETHForTokens(uint256 amountOutMin, address[] path, address to, uint256 deadline)
  swapETHForExactTokens(uint256 amountOut, address[] path, address to, uint256 deadline)
  swapExactTokensForETH(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)
  swapTokensForExactETH(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)
  swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to, uint256 deadline)
  swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to)
  swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to, uint256 deadline)
  swapTokensForExactTokens(uint256 amountOut, uint256 amountInMax, address[] path, address to)
  addLiquidity(address tokenA, address tokenB, uint256 amountADesired, uint256 amountBDesired, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)
  addLiquidityETH(address token, uint256 amountTokenDesired, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)
  removeLiquidity(address tokenA, address tokenB, uint256 liquidity, uint256 amountAMin, uint256 amountBMin, address to, uint256 deadline)
  removeLiquidityETH(address token, uint256 liquidity, uint256 amountTokenMin, uint256 amountETHMin, address to, uint256 deadline)
  exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)
  exactInputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountIn, uint256 amountOutMinimum, uint160 sqrtPriceLimitX96) params)
  exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 deadline, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)
  exactOutputSingle((address tokenIn, address tokenOut, uint24 fee, address recipient, uint256 amountOut, uint256 amountInMaximum, uint160 sqrtPriceLimitX96) params)
  exactInput((bytes path, address recipient, uint256 deadline, uint256 amountIn, uint256 amountOutMinimum) params)
  exactInput((bytes path, address recipient, uint256 amountIn, uint256 amountOutMinimum) params)
  unwrapWETH9(uint256 amountMinimum, address recipient)
  sweepToken(address token, uint256 amountMinimum, address recipient)
  refundETH()
  execute(bytes commands, bytes[] inputs)
  execute(bytes commands, bytes[] inputs, uint256 deadline)
  transferOwnership(address newOwner)
  acceptOwnership()
  renounceOwnership()
  grantRole(bytes32 role, address account)
  revokeRole(bytes32 role, address account)
  renounceRole(bytes32 role, address account)
  upgradeTo(address newImplementation)
  upgradeToAndCall(address newImplementation, bytes data)
  upgrade(address proxy, address implementation)
  upgradeAndCall(address proxy, address implementation, bytes data)
  changeAdmin(address newAdmin)
  initialize()
  initialize(address owner)
  pause()
  unpause()
  claim()
  stake(uint256 amount)
  vote(uint256 proposalId, bool support)
  castVote(uint256 proposalId, uint8 support)
  delegate(address delegatee)
  bridgeETH(uint32 minGasLimit, bytes extraData)
  bridgeETHTo(address to, uint32 minGasLimit, bytes extraData)
  bridgeERC20(address localToken, address remoteToken, uint256 amount, uint32 minGasLimit, bytes extraData)
  bridgeERC20To(address localToken, address remoteToken, address to, uint256 amount, uint32 minGasLimit, bytes extraData)
  initiateWithdrawal(address target, uint256 gasLimit, bytes data)
  deploy(uint256 value, bytes32 salt, bytes code)
  deployCreate(bytes initCode)
  deployCreate2(bytes initCode)
  deployCreate2(bytes32 salt, bytes initCode)
  deployCreate3(bytes32 salt, bytes initCode)
  createAccount(address owner, uint256 salt)
  isValidSignature(bytes32 hash, bytes signature)
`)

const ERRORS = rowsOf(`
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
`)

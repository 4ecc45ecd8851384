import { keccak_256 } from '@noble/hashes/sha3.js'

/** Returns the likely function signature of a selector; `null` if it is not in the list. Selectors are not unique. */
export function signatureOf(selector: string): string | null {
  return BY_SELECTOR.get(selector.toLowerCase()) ?? null
}

/** Functions of standards and of widely used contracts. */
const SIGNATURES = [
  'transfer(address,uint256)',
  'transferFrom(address,address,uint256)',
  'approve(address,uint256)',
  'increaseAllowance(address,uint256)',
  'decreaseAllowance(address,uint256)',
  'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)',
  'mint(address,uint256)',
  'mint(uint256)',
  'mint()',
  'burn(uint256)',
  'burn(address,uint256)',
  'burnFrom(address,uint256)',
  'safeMint(address)',
  'safeMint(address,uint256)',
  'safeTransferFrom(address,address,uint256)',
  'safeTransferFrom(address,address,uint256,bytes)',
  'safeTransferFrom(address,address,uint256,uint256,bytes)',
  'setApprovalForAll(address,bool)',
  'deposit()',
  'deposit(uint256,address)',
  'depositTo(address)',
  'withdraw(uint256)',
  'withdraw(uint256,address,address)',
  'redeem(uint256,address,address)',
  'execute(bytes32,bytes)',
  'execute(address,uint256,bytes)',
  'executeBatch((address,uint256,bytes)[])',
  'multicall(bytes[])',
  'aggregate3((address,bool,bytes)[])',
  'swapExactETHForTokens(uint256,address[],address,uint256)',
  'swapExactTokensForETH(uint256,uint256,address[],address,uint256)',
  'swapExactTokensForTokens(uint256,uint256,address[],address,uint256)',
  'exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))',
  'execute(bytes,bytes[],uint256)',
  'transferOwnership(address)',
  'renounceOwnership()',
  'grantRole(bytes32,address)',
  'revokeRole(bytes32,address)',
  'upgradeToAndCall(address,bytes)',
  'initialize()',
  'pause()',
  'unpause()',
  'claim()',
  'stake(uint256)',
  'castVote(uint256,uint8)',
  'delegate(address)',
]

const BY_SELECTOR: ReadonlyMap<string, string> = new Map(SIGNATURES.map((signature) => [selectorOf(signature), signature]))

function selectorOf(signature: string): string {
  const hash = keccak_256(new TextEncoder().encode(signature))
  return `0x${[...hash.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

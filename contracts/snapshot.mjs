// State of a chain after deploying the third-party contracts.
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { Account, bytesToHex, createAddressFromString, hexToBytes } from '@ethereumjs/util'
import { getContractAddress, parseTransaction, recoverTransactionAddress } from 'viem'
import { deployer } from './table.mjs'

const GAS_LIMIT = 100_000_000n

/** An empty chain with current rules and the given id. */
export async function emptyChain(chainId) {
  const common = new Common({ chain: { ...Mainnet, chainId }, hardfork: Hardfork.Prague })
  return createEVM({ common })
}

/** Runs the published transaction of a keyless deployment. @throws {Error} the address differs from the row */
export async function deployKeyless(evm, { name, address, transaction }) {
  const sender = (await recoverTransactionAddress({ serializedTransaction: transaction })).toLowerCase()
  expectAddress(name, getContractAddress({ from: sender, nonce: 0n }), address)
  const result = await evm.runCall({
    caller: createAddressFromString(sender),
    data: hexToBytes(parseTransaction(transaction).data),
    gasLimit: GAS_LIMIT,
  })
  expectAddress(name, created(name, result), address)
  return sender
}

/** Sends salt and creation code to the CREATE2 deployer. @throws {Error} the address differs from the row */
export async function deployCreate2(evm, { name, address, salt, initCode }) {
  const result = await evm.runCall({
    to: createAddressFromString(deployer),
    data: hexToBytes(`${salt}${initCode.slice(2)}`),
    gasLimit: GAS_LIMIT,
  })
  created(name, result)
  expectAddress(name, bytesToHex(result.execResult.returnValue), address)
}

/** Addresses of all non-empty accounts, in order of creation. */
export function addressesIn(evm) {
  const accounts = [...evm.stateManager.topAccountStack()]
  // Calls are sent from the zero address, whose nonce they increase; it is not part of the state.
  return accounts.filter(([address, account]) => account?.nonce > 0n && BigInt(address) !== 0n).map(([address]) => address)
}

/** Nonce, code and storage of one account, in the format of the artifact. */
export async function readAccount(evm, address) {
  const at = createAddressFromString(address)
  const account = (await evm.stateManager.getAccount(at)) ?? new Account()
  const slots = [...evm.stateManager.topStorageStack()]
    .filter(([key, value]) => key.startsWith(`${address}_`) && BigInt(bytesToHex(value)) !== 0n)
    .map(([key, value]) => [key.slice(43), word(bytesToHex(value))])
  return {
    nonce: Number(account.nonce),
    code: bytesToHex(await evm.stateManager.getCode(at)),
    ...(slots.length > 0 && { storage: Object.fromEntries(slots.toSorted(([a], [b]) => (a < b ? -1 : 1))) }),
  }
}

/** A hex number as 32 bytes. */
export function word(hex) {
  return `0x${BigInt(hex).toString(16).padStart(64, '0')}`
}

function created(name, { createdAddress, execResult }) {
  if (execResult.exceptionError) throw new Error(`${name}: creation failed with "${execResult.exceptionError.error}"`)
  return createdAddress?.toString()
}

function expectAddress(name, actual, expected) {
  if (actual?.toLowerCase() !== expected) throw new Error(`${name}: the code leads to ${actual}, not to ${expected}`)
}

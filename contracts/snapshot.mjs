// State of a chain after deploying the third-party contracts.
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { Account, bytesToHex, createAddressFromString, hexToBytes } from '@ethereumjs/util'
import { getContractAddress, keccak256, parseTransaction, recoverTransactionAddress } from 'viem'
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

/** Sends salt and creation code to the row's CREATE2 deployer. @throws {Error} the address differs from the row */
export async function deployCreate2(evm, { name, address, deployer, salt, initCode }) {
  const result = await evm.runCall({
    to: createAddressFromString(deployer),
    data: hexToBytes(`${salt}${initCode.slice(2)}`),
    gasLimit: GAS_LIMIT,
  })
  created(name, result)
  expectAddress(name, bytesToHex(result.execResult.returnValue), address)
}

/** Nonce, code and storage after the creation code ran at the address and the calls were sent. @throws {Error} the code has another hash */
export async function createPublished({ name, address, initCode, createdAt, createdOn, calls = [], from, codeHash, unreadSlot }, chainId) {
  const elsewhere = createdAt === undefined ? null : await emptyChain(createdOn)
  const code = elsewhere === null ? null : await runCreation(elsewhere, createdAt, initCode, from)
  const evm = await emptyChain(chainId)
  const runtime = code ?? (await runCreation(evm, address, initCode, from))
  const actual = keccak256(runtime)
  if (actual !== codeHash) throw new Error(`${name}: the code has the hash ${actual}, not ${codeHash}`)
  const at = createAddressFromString(address)
  await evm.stateManager.putAccount(at, new Account(1n))
  await evm.stateManager.putCode(at, hexToBytes(runtime))
  for (const data of calls) {
    const result = await evm.runCall({ caller: createAddressFromString(from), to: at, data: hexToBytes(data), gasLimit: GAS_LIMIT })
    created(name, result)
  }
  if (unreadSlot !== undefined) await evm.stateManager.putStorage(at, hexToBytes(word(unreadSlot)), new Uint8Array())
  return readAccount(evm, address)
}

/** Returns the runtime code. */
async function runCreation(evm, address, initCode, from) {
  const to = createAddressFromString(address)
  await evm.stateManager.putAccount(to, new Account(1n))
  const code = hexToBytes(initCode)
  const { returnValue, exceptionError } = await evm.runCode({ code, to, caller: createAddressFromString(from), gasLimit: GAS_LIMIT })
  if (exceptionError) throw new Error(`creation at ${address} failed with "${exceptionError.error}"`)
  return bytesToHex(returnValue)
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
    .filter(([key, value]) => key.startsWith(`${address}_`) && value.some((byte) => byte !== 0))
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

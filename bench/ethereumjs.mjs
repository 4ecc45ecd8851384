// @ethereumjs/evm over a minimal state: reads are cached, changes are undone entry by entry. The library's SimpleStateManager copies the
// whole state at each checkpoint, which would dominate the measurement.
import { Hardfork, Mainnet, createCustomCommon } from '@ethereumjs/common'
import { createEVM } from '@ethereumjs/evm'
import { Account, Address, bytesToHex, hexToBytes } from '@ethereumjs/util'

const NOTHING = new Uint8Array()
const GAS = 30_000_000n
/** Those called by a case, which are therefore warm: ECRECOVER, SHA256, RIPEMD160 and IDENTITY. */
const PRECOMPILES = [1, 2, 3, 4].map((number) => `0x${String(number).padStart(40, '0')}`)

/**
 * The library on the state after one of our blocks.
 * @param {{ state: any, context: any }} site as src/evm defines them: a StateReader and a BlockContext
 * @returns {Promise<(request: { from?: string, to: string, data?: string }) => () => Promise<string>>} prepares a call to be run
 * repeatedly; each run returns the output as hex and leaves the state unchanged
 */
export async function ethereumjs({ state, context }) {
  const stateManager = new LeanState(state)
  const common = createCustomCommon({ chainId: context.config.chainId }, Mainnet, { hardfork: Hardfork.Osaka })
  const evm = await createEVM({ common, stateManager })
  const { env } = context
  const header = {
    number: BigInt(env.number),
    coinbase: addressOf(env.coinbase),
    timestamp: BigInt(env.timestamp),
    difficulty: 0n,
    prevRandao: hexToBytes(env.prevRandao),
    gasLimit: env.gasLimit,
    baseFeePerGas: 0n,
    getBlobGasPrice: () => 0n,
  }
  const warm = [env.coinbase, ...PRECOMPILES]
  return ({ from = `0x${'00'.repeat(20)}`, to, data = '0x' }) => {
    const call = {
      block: { header },
      caller: addressOf(from),
      to: addressOf(to),
      data: hexToBytes(data),
      gasLimit: GAS,
      skipNonceIncrement: true,
    }
    return async () => {
      for (const address of [...warm, from.toLowerCase(), to.toLowerCase()]) evm.journal.addAlwaysWarmAddress(address)
      const { execResult } = await evm.runCall(call)
      if (execResult.exceptionError !== undefined) throw new Error(`@ethereumjs/evm: ${execResult.exceptionError.error}`)
      stateManager.forget()
      evm.journal.cleanJournal()
      evm.transientStorage.clear()
      return bytesToHex(execResult.returnValue)
    }
  }
}

/** The library's StateManagerInterface over a StateReader. Accounts, slots and codes are keyed by hex. */
class LeanState {
  #base
  #accounts = new Map()
  #slots = new Map()
  #codes = new Map()
  /** [map, key, value before] */
  #undo = []
  #marks = []
  #original = new Map()
  originalStorageCache = {
    get: async (address, key) => this.#original.get(slotOf(address, key)) ?? this.getStorage(address, key),
    clear: () => this.#original.clear(),
  }

  constructor(base) {
    this.#base = base
  }

  /** Reverts everything. */
  forget() {
    this.#rewind(0)
    this.#marks.length = 0
    this.#original.clear()
  }

  async getAccount(address) {
    const known = this.#account(address)
    return known === null ? undefined : new Account(known.nonce, known.balance, undefined, known.codeHash)
  }

  async putAccount(address, account) {
    this.#set(this.#accounts, address.toString(), account === undefined ? null : pick(account))
  }

  async deleteAccount(address) {
    this.#set(this.#accounts, address.toString(), null)
  }

  async modifyAccountFields(address, fields) {
    this.#set(this.#accounts, address.toString(), { ...(this.#account(address) ?? pick(new Account())), ...fields })
  }

  async putCode(address, code) {
    this.#set(this.#codes, address.toString(), code)
  }

  async getCode(address) {
    const key = address.toString()
    let code = this.#codes.get(key)
    if (code === undefined) {
      const account = this.#base.account(key)
      this.#codes.set(key, (code = account === null ? NOTHING : this.#base.code(account.codeHash)))
    }
    return code
  }

  async getCodeSize(address) {
    return (await this.getCode(address)).length
  }

  async getStorage(address, key) {
    const slot = slotOf(address, key)
    let value = this.#slots.get(slot)
    if (value === undefined) {
      const word = this.#base.storage(address.toString(), bytesToHex(key))
      const digits = word.toString(16)
      this.#slots.set(slot, (value = word === 0n ? NOTHING : hexToBytes(`0x${digits.padStart(digits.length + (digits.length % 2), '0')}`)))
    }
    return value
  }

  async putStorage(address, key, value) {
    const slot = slotOf(address, key)
    if (!this.#original.has(slot)) this.#original.set(slot, await this.getStorage(address, key))
    this.#set(this.#slots, slot, value)
  }

  async clearStorage() {
    throw new Error('no case of the benchmark removes an account')
  }

  async checkpoint() {
    this.#marks.push(this.#undo.length)
  }

  async commit() {
    this.#marks.pop()
  }

  async revert() {
    this.#rewind(this.#marks.pop() ?? 0)
  }

  clearCaches() {}

  #account(address) {
    const key = address.toString()
    let known = this.#accounts.get(key)
    if (known === undefined) {
      const account = this.#base.account(key)
      this.#accounts.set(key, (known = account === null ? null : { ...account, codeHash: hexToBytes(account.codeHash) }))
    }
    return known
  }

  #set(map, key, value) {
    this.#undo.push([map, key, map.get(key)])
    map.set(key, value)
  }

  #rewind(mark) {
    while (this.#undo.length > mark) {
      const [map, key, before] = this.#undo.pop()
      if (before === undefined) map.delete(key)
      else map.set(key, before)
    }
  }
}

function pick({ nonce, balance, codeHash }) {
  return { nonce, balance, codeHash }
}

function slotOf(address, key) {
  return address.toString() + bytesToHex(key)
}

function addressOf(hex) {
  return new Address(hexToBytes(hex.toLowerCase()))
}

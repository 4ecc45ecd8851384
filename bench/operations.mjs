// Sponsored user operations as a client makes them: stub, estimate, final, signature. Each takes at most a millisecond, so that the client
// is not slower than the node. Then the audit: the sponsor's ledger against the chain.

/** @typedef {import('../src/eth/index.ts').Address} Address */
/** @typedef {import('../src/eth/index.ts').Hex} Hex */
/** @typedef {(method: string, ...params: unknown[]) => Promise<unknown>} Ask answers the result, rejects with the refusal */
/** @typedef {Record<string, unknown>} Fields of a user operation as JSON */
/** @typedef {{ eth: typeof import('../src/eth/index.ts'), rpc: Pick<typeof import('../src/rpc/index.ts'), 'UserOperationJson'> }} Rooms from sources or from a build */

/** An account with its key. @typedef {{ address: Address, key: Uint8Array }} Sender */

/** @typedef {{ sender: Address, nonce: bigint, json: Fields, hash: string }} Prepared */

const VERSION = '0.8'
const CHAIN_ID = 31_337
/** The account contract for delegating keys (contracts/src/PocketAccount.sol), part of the default genesis. */
export const DELEGATE = /** @type {Address} */ ('0x10ae3b7839ec82ecddb62bf98924f914233d05fd')
/** A well-formed dummy signature, as wallets send it with an estimate. */
const STUB_SIGNATURE = `0x${'f'.repeat(31)}${'0'.repeat(33)}7${'a'.repeat(63)}1c`
/** ERC-7821: atomic batch. */
const MODE = 1n << 248n

/** Creates operations for EntryPoint 0.8 of EIP-7702 accounts. */
export class Operations {
  #eth
  #json
  #ask
  #sponsor
  #entryPoint

  constructor(/** @type {Rooms} */ { eth, rpc }, /** @type {{ ask: Ask, sponsor: Ask }} */ { ask, sponsor }) {
    this.#eth = eth
    this.#json = rpc.UserOperationJson
    this.#ask = ask
    this.#sponsor = sponsor
    this.#entryPoint = eth.ENTRY_POINTS[VERSION]
  }

  /** Deterministic by name. @returns {Sender} */
  sender(/** @type {string} */ name) {
    const { Hash, Secp256k1 } = this.#eth
    const key = Hash.toBytes(Hash.ofText(name))
    return { address: Secp256k1.address(key), key }
  }

  /** Call data of a batch. @returns {Hex} */
  callData(/** @type {readonly { to: string, data?: string, value?: bigint }[]} */ calls) {
    const { Abi, Address, Hex } = this.#eth
    const list = calls.map(({ to, data = '0x', value = 0n }) => [Address.from(to), value, Hex.toBytes(data)])
    return Hex.fromBytes(Abi.call(Abi.selector('execute(bytes32,bytes)'), [MODE, Abi.encode([{ list }])]))
  }

  /** Prepares an operation as viem's prepareUserOperation does. @returns {Promise<Prepared>} */
  async prepare(/** @type {Sender} */ sender, /** @type {Hex} */ callData, /** @type {Fields} */ context = {}) {
    const begun = await this.begin(sender, callData)
    const stubbed = { ...begun, ...(await this.#paid('pm_getPaymasterStubData', begun, context)) }
    const limits = /** @type {Fields} */ (await this.#ask('eth_estimateUserOperationGas', stubbed, this.#entryPoint))
    const whole = { ...stubbed, ...limits, ...own(stubbed, 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit') }
    return this.final(sender, whole, context)
  }

  /** Requests nonce, fees and code concurrently; leaves the gas limits open. @returns {Promise<Fields>} */
  async begin(/** @type {Sender} */ sender, /** @type {Hex} */ callData) {
    const [price, nonce, code] = await Promise.all([
      this.#ask('pimlico_getUserOperationGasPrice'),
      this.nonceOf(sender.address),
      this.#ask('eth_getCode', sender.address, 'pending'),
    ])
    const { standard } = /** @type {{ standard: Fields }} */ (price)
    const open = { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0', signature: STUB_SIGNATURE }
    const head = { sender: sender.address, nonce: this.#eth.Hex.fromQuantity(nonce), callData, ...standard, ...open }
    return code === '0x' ? { ...head, factory: '0x7702', factoryData: '0x', eip7702Auth: this.#authorization(sender) } : head
  }

  /** Requests the sponsor's signature and adds the account's. @returns {Promise<Prepared>} */
  async final(/** @type {Sender} */ sender, /** @type {Fields} */ whole, /** @type {Fields} */ context = {}) {
    const paid = { ...whole, ...(await this.#paid('pm_getPaymasterData', whole, context)) }
    return this.sign(sender, paid)
  }

  /** @returns {Prepared} */
  sign(/** @type {Sender} */ sender, /** @type {Fields} */ paid) {
    const { Bytes32, Secp256k1, UserOperation } = { ...this.#eth, Bytes32: this.#eth.Hex.fromBytes32 }
    const operation = this.#json.read(paid, VERSION, { partial: true })
    /** @type {import('../src/eth/index.ts').UserOperationDomain} */
    const domain = { version: VERSION, entryPoint: this.#entryPoint, chainId: CHAIN_ID, delegate: DELEGATE }
    const hash = UserOperation.hash(operation, domain)
    const { r, s, yParity } = Secp256k1.sign(hash, sender.key)
    const signature = `${Bytes32(r)}${Bytes32(s).slice(2)}${(27 + yParity).toString(16)}`
    return { sender: sender.address, nonce: operation.nonce, hash, json: { ...paid, signature } }
  }

  /** Of key 0, pre-confirmed. @returns {Promise<bigint>} */
  async nonceOf(/** @type {Address} */ sender) {
    const { Abi, Hex } = this.#eth
    const data = Hex.fromBytes(Abi.call(Abi.selector('getNonce(address,uint192)'), [sender, 0n]))
    return BigInt(String(await this.#ask('eth_call', { to: this.#entryPoint, data }, 'pending')))
  }

  /** Maximum cost in wei for the sponsor. */
  maxCost(/** @type {Fields} */ json) {
    const operation = this.#json.read(json, VERSION, { partial: true })
    return this.#eth.entryPoint(VERSION).prefundGas(operation) * operation.maxFeePerGas
  }

  /** @returns {Promise<string>} its hash */
  async send(/** @type {Prepared} */ { json, hash }) {
    const returned = await this.#ask('eth_sendUserOperation', json, this.#entryPoint)
    if (returned !== hash) throw new Error(`the bundler returned ${String(returned)} for the operation ${hash}`)
    return hash
  }

  async #paid(/** @type {string} */ method, /** @type {Fields} */ operation, /** @type {Fields} */ context) {
    const { signature: _, ...unsigned } = operation
    const answer = await this.#sponsor(method, unsigned, this.#entryPoint, this.#eth.Hex.fromQuantity(BigInt(CHAIN_ID)), context)
    return own(/** @type {Fields} */ (answer), 'paymaster', 'paymasterData', 'paymasterVerificationGasLimit', 'paymasterPostOpGasLimit')
  }

  #authorization(/** @type {Sender} */ sender) {
    const signed = this.#eth.Authorization.sign({ chainId: BigInt(CHAIN_ID), address: DELEGATE, nonce: 0n }, sender.key)
    return this.#json.authorization(signed)
  }
}

function own(/** @type {Fields} */ fields, /** @type {string[]} */ ...names) {
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]))
}

// --- the audit --------------------------------------------------------------------------------------------------------

/** A line of pocketchain_sponsorLedger. @typedef {{ id: string, state: string, stage: string, version: string, paymaster: string | null, policy: string | null, sender: string, nonce: string, userOpHash: string | null, maxCost: string | null, cost: string | null, success: boolean | null, reason: string | null, transactionHash: string | null, blockNumber: string | null }} Entry */

/**
 * The chain's charge for one operation. @typedef {{ hash: string, sender: string, nonce: bigint, success: boolean, cost: bigint,
 * transactionHash: string }} Charge
 */

const PAGE = 200

/** The whole ledger, newest first. @returns {Promise<Entry[]>} */
export async function ledgerOf(/** @type {Ask} */ ask, /** @type {Fields} */ query = {}) {
  /** @type {Entry[]} */
  const all = []
  for (let before = null; ;) {
    const page = await ask('pocketchain_sponsorLedger', { limit: PAGE, ...query, ...(before === null ? {} : { before }) })
    const { entries, next } = /** @type {{ entries: Entry[], next: string | null }} */ (page)
    all.push(...entries)
    if (next === null) return all
    before = next
  }
}

/** Every UserOperationEvent of a paymaster, including pre-confirmed ones. @returns {Promise<Charge[]>} */
export async function chargesOf(
  /** @type {Rooms} */ { eth: { Abi, Address, Hash, Hex } },
  /** @type {Ask} */ ask,
  /** @type {{ paymaster: string, entryPoint: string }} */ { paymaster, entryPoint },
) {
  const event = Hash.ofText('UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)')
  const filter = { address: entryPoint, topics: [event, null, null, word(paymaster)], fromBlock: '0x0', toBlock: 'pending' }
  const logs = /** @type {{ topics: string[], data: string, transactionHash: string }[]} */ (await ask('eth_getLogs', filter))
  return logs.map(({ topics, data, transactionHash }) => {
    const words = Abi.Reader(Hex.toBytes(data))
    const [, hash, sender] = /** @type {[string, string, string]} */ (/** @type {unknown} */ (topics))
    const at = Address.from(`0x${sender.slice(-40)}`)
    return { hash, sender: at, nonce: words.word(0), success: words.word(1) === 1n, cost: words.word(2), transactionHash }
  })
}

function word(/** @type {string} */ address) {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/** Differences between ledger and chain, one sentence each. @returns {string[]} */
export function differences(/** @type {readonly Entry[]} */ entries, /** @type {readonly Charge[]} */ charges) {
  const paid = entries.filter(({ state }) => state === 'included' || state === 'settled')
  const found = new Map(paid.map((entry) => [`${entry.sender.toLowerCase()} ${BigInt(entry.nonce)}`, entry]))
  const wrong = found.size === paid.length ? [] : [`${paid.length} paid entries stand for ${found.size} nonces`]
  for (const charge of charges) {
    const key = `${charge.sender} ${charge.nonce}`
    const entry = found.get(key)
    found.delete(key)
    const recorded = entry && [BigInt(entry.cost ?? -1), entry.success, entry.transactionHash, entry.userOpHash].map(String)
    const right = [charge.cost, charge.success, charge.transactionHash, charge.hash].map(String)
    if (recorded === undefined) wrong.push(`the chain charged ${charge.cost} wei for ${key}, the ledger has no entry for it`)
    else if (recorded.some((each, i) => each !== right[i]))
      wrong.push(`${key}: the ledger has ${recorded.join(' ')}, the chain ${right.join(' ')}`)
  }
  for (const [key, { cost, state }] of found)
    wrong.push(`the ledger has ${state} and ${cost} wei for ${key}, the chain has no event for it`)
  return wrong
}

/** @returns {bigint} */
export function sumOf(/** @type {readonly Charge[]} */ charges) {
  return charges.reduce((sum, { cost }) => sum + cost, 0n)
}

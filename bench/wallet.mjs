// The dev accounts of all nodes, and transactions signed in advance, with equal hashes on every node.
import { mnemonicToAccount } from 'viem/accounts'

const WORDS = 'test test test test test test test test test test test junk'
const ACCOUNTS = 10
const FEE = 10n ** 10n

/**
 * Signs with the build's library (36 us per signature); JavaScript would take a minute for 80,000.
 * @returns {Promise<Wallet>}
 */
export async function openWallet(/** @type {string} folder of the build */ dist) {
  const { Transaction } = await import(`${dist}/eth/index.js`)
  const accounts = Array.from({ length: ACCOUNTS }, (_, addressIndex) => {
    const account = mnemonicToAccount(WORDS, { addressIndex })
    return { address: account.address.toLowerCase(), key: account.getHdKey().privateKey }
  })
  return new Wallet(Transaction, accounts)
}

class Wallet {
  /** lower case @type {readonly string[]} */
  addresses
  #transaction
  #accounts

  constructor(transaction, accounts) {
    this.#transaction = transaction
    this.#accounts = accounts
    this.addresses = accounts.map(({ address }) => address)
  }

  /** Nonces from zero, per chain. */
  signer() {
    const nonces = this.#accounts.map(() => 0n)
    /** @returns {{ raw: string, hash: string }} @param {{ account?: number, to?: string | null, data?: string, value?: bigint, gas?: bigint }} fields */
    return ({ account = 0, to = null, data = '0x', value = 0n, gas = 21_000n }) => {
      const { raw, hash } = this.#transaction.sign(
        {
          type: 2,
          chainId: 31_337,
          nonce: nonces[account]++,
          to: to === null ? null : to.toLowerCase(),
          data: new Uint8Array(Buffer.from(data.slice(2), 'hex')),
          value,
          gas,
          maxFeePerGas: FEE,
          maxPriorityFeePerGas: 1n,
          accessList: [],
        },
        this.#accounts[account].key,
      )
      return { raw: `0x${Buffer.from(raw).toString('hex')}`, hash }
    }
  }
}

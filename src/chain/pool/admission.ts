import type { Transaction } from '../../eth/index.ts'
import { rulesAt } from '../../evm/index.ts'
import type { ChainConfig, Rules } from '../../evm/index.ts'
import { SYSTEM_DEPOSIT_GAS } from '../../compat.ts'
import type { TestOverrides } from '../sequencing/testoverrides.ts'
import type { Mempool } from './mempool.ts'
import type { SealedChain } from '../view/sealedchain.ts'
import type { ChainTime } from '../sequencing/chaintime.ts'
import { assertAdmissible, blobGasLimit, transactionGasCap } from './validation.ts'

interface AdmissionDeps {
  readonly config: ChainConfig
  readonly sealed: SealedChain
  readonly pool: Mempool
  readonly time: ChainTime
  readonly overrides: TestOverrides
}

/** Validates transactions against the current chain and adds them to the pool. */
export class Admission {
  readonly #deps: AdmissionDeps
  /** Wei. A setting of the pool, so snapshots do not include it. */
  minGasPrice = 0n

  constructor(deps: AdmissionDeps) {
    this.#deps = deps
  }

  /** Gas that one transaction may use: the block limit minus the system deposits. */
  get availableBlockGas(): bigint {
    const { config, overrides } = this.#deps
    return overrides.gasLimit - (config.op === null ? 0n : SYSTEM_DEPOSIT_GAS)
  }

  /** The available block gas, capped as `transactionGasCap` does. */
  get maxTransactionGas(): bigint {
    const cap = transactionGasCap({ config: this.#deps.config, rules: this.nextRules })
    return cap < this.availableBlockGas ? cap : this.availableBlockGas
  }

  /** Adds a transaction to the pool. Throws PoolError and leaves the pool as it was. */
  admit(tx: Transaction): void {
    const { config, sealed, pool, overrides } = this.#deps
    const { history } = sealed
    const rules = this.nextRules
    pool.assertNew(tx)
    assertAdmissible(tx, {
      config,
      rules,
      state: history.at(history.version),
      gasLimit: this.availableBlockGas,
      blobGasLimit: blobGasLimit(rules, overrides.gasLimit),
      minGasPrice: this.minGasPrice,
    })
    pool.add(tx)
  }

  /** Rules of the next block. */
  get nextRules(): Rules {
    const { config, sealed, time } = this.#deps
    const { number, timestamp } = sealed.head.header
    return rulesAt(config, number + 1, Math.max(time.nowSeconds(), timestamp + 1))
  }
}

import type { ComponentChildren } from 'preact'
import { Gwei } from '../sponsor/parts.tsx'
import { decimal, grouped } from '../wallet/format.ts'
import { Row } from '../wallet/parts.tsx'
import { GasBar } from './block.tsx'
import { Ether, Panel } from './parts.tsx'
import { gasPricePaid } from './operations.ts'
import { prefundGas } from './prefund.ts'
import type { OperationGasFields } from './prefund.ts'

/** The gas and price fields of a user operation in JSON. */
export interface PriceFields extends OperationGasFields {
  readonly maxFeePerGas: string
  readonly maxPriorityFeePerGas: string
}

/** Current gas prices. */
export interface Market {
  /** base fee of the block under construction; null: the node does not report it */
  readonly baseFee: bigint | null
  /** max fees proposed by the bundler; null: it proposes none */
  readonly proposed: Readonly<Record<'slow' | 'standard' | 'fast', bigint>> | null
}

/** The cost of an included operation. */
interface Paid {
  readonly cost: bigint
  readonly gasUsed: bigint
}

interface PricesProps {
  readonly fields: PriceFields
  readonly entryPoint: string
  /** null: it is in no block */
  readonly paid: Paid | null
  readonly market: Market
  readonly payer: ComponentChildren
}

/** Shows the price that an operation offers, the market price while it waits, and the part of its pre-fund that it paid. */
export function Prices({ fields, entryPoint, paid, market, payer }: PricesProps) {
  const maxFee = BigInt(fields.maxFeePerGas)
  const gas = prefundGas(fields, entryPoint)
  const prefund = gas * maxFee
  return (
    <Panel title="Prices" id="prices">
      <dl class="rows">
        <Row name="Max fee" id="op-max-fee">
          <Gwei wei={maxFee} /> <span class="soft">per gas</span>
        </Row>
        <Row name="Max priority fee" id="op-max-priority-fee">
          <Gwei wei={fields.maxPriorityFeePerGas} />
        </Row>
        {paid === null && <Offers maxFee={maxFee} market={market} />}
        {paid !== null && (
          <>
            <Row name="Paid" id="op-price">
              <Gwei wei={gasPricePaid(paid)} /> <span class="soft">per gas</span>
            </Row>
            <Row name="Gas" id="op-gas">
              {grouped(paid.gasUsed.toString())} <span class="soft">charged, of {grouped(gas.toString())} paid in advance</span>
            </Row>
            <Row name="Cost" id="op-cost">
              <Ether wei={paid.cost} exact />
            </Row>
          </>
        )}
        <Row name="Pre-fund" id="op-prefund">
          <Ether wei={prefund} exact={paid === null} />{' '}
          {paid === null ? (
            <span class="soft">at most, for {grouped(gas.toString())} gas</span>
          ) : (
            prefund > 0n && (
              <>
                <span class="soft">{percentText(paid.cost, prefund)} used</span>
                <GasBar used={Number(paid.cost)} limit={Number(prefund)} />
              </>
            )
          )}
        </Row>
        <Row name="Paid by" id="op-payer">
          {payer}
        </Row>
      </dl>
    </Panel>
  )
}

function Offers({ maxFee, market: { baseFee, proposed } }: { maxFee: bigint; market: Market }) {
  return (
    <>
      {baseFee !== null && (
        <Row name="Base fee now" id="op-base-fee">
          <Gwei wei={baseFee} />{' '}
          {maxFee < baseFee && maxFee > 0n ? (
            <span class="chip bad" data-testid="op-below-market">
              above its max fee
            </span>
          ) : (
            baseFee > 0n && maxFee > 0n && <span class="soft">its max fee is {timesText(maxFee, baseFee)} of that</span>
          )}
        </Row>
      )}
      {proposed !== null && (
        <Row name="Proposed now" id="op-proposed">
          <Gwei wei={proposed.standard} isRough /> <span class="soft">standard,</span> <Gwei wei={proposed.slow} isRough />{' '}
          <span class="soft">slow,</span> <Gwei wei={proposed.fast} isRough /> <span class="soft">fast</span>
        </Row>
      )}
    </>
  )
}

/** `170 %` */
function timesText(value: bigint, of: bigint): string {
  return `${grouped(((value * 100n) / of).toString())} %`
}

/** `12.3 %`: costs are small parts of their pre-funds. */
function percentText(value: bigint, of: bigint): string {
  const tenths = (value * 1000n) / of
  return `${decimal((tenths / 10n).toString())}.${tenths % 10n} %`
}

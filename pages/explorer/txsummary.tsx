import { decimal, grouped } from '../wallet/format.ts'
import { Copy, Row } from '../wallet/parts.tsx'
import { GasBar } from './block.tsx'
import { AddressLink, BlockLink, Ether } from './parts.tsx'
import { DEPOSIT_TYPE } from './transactions.ts'
import type { ReceiptJson, TransactionJson } from './wire.ts'

interface SummaryProps {
  readonly transaction: TransactionJson
  /** null: the transaction has none yet */
  readonly receipt: ReceiptJson | null
  readonly blockNumber: number | null
}

/** Parties, value, fee and gas of a transaction. */
export function Summary({ transaction, receipt, blockNumber }: SummaryProps) {
  const { hash, from, to, value, nonce, type, gas, authorizationList = [], accessList = [], mint, sourceHash } = transaction
  const created = receipt?.contractAddress ?? null
  return (
    <dl class="rows">
      <Row name="Hash" id="tx-hash">
        <Copy text={hash} what="transaction hash" shown={hash} />
      </Row>
      <Row name="Block" id="tx-block">
        {blockNumber === null ? 'none yet' : <BlockLink number={blockNumber} />}
        {receipt !== null && <span class="soft"> at {decimal(receipt.transactionIndex)}</span>}
      </Row>
      <Row name="From" id="tx-from">
        <AddressLink address={from} whole />
      </Row>
      <Row name={to === null ? 'Creates' : 'To'} id="tx-to">
        {to !== null ? <AddressLink address={to} whole /> : created === null ? 'a contract' : <AddressLink address={created} whole />}
      </Row>
      <Row name="Value" id="tx-value">
        <Ether wei={value} exact />
      </Row>
      {receipt !== null && <Fee transaction={transaction} receipt={receipt} />}
      <Row name="Gas" id="tx-gas">
        {receipt === null ? (
          <>up to {grouped(decimal(gas))}</>
        ) : (
          <>
            {grouped(decimal(receipt.gasUsed))} of {grouped(decimal(gas))} <GasBar used={Number(receipt.gasUsed)} limit={Number(gas)} />
          </>
        )}
      </Row>
      <Row name="Nonce" id="tx-nonce">
        {decimal(nonce)}
      </Row>
      <Row name="Type" id="tx-type">
        {decimal(type)} <span class="soft">{TYPES[type] ?? ''}</span>
      </Row>
      {mint !== undefined && mint !== null && BigInt(mint) > 0n && (
        <Row name="Minted" id="tx-mint">
          <Ether wei={mint} exact />
        </Row>
      )}
      {sourceHash !== undefined && (
        <Row name="Source hash" id="tx-source">
          <Copy text={sourceHash} what="source hash" />
        </Row>
      )}
      {authorizationList.map((each, i) => (
        <Row key={i} name="Authorization" id="authorization">
          {BigInt(each.address) === 0n ? (
            'ends the delegation'
          ) : (
            <>
              delegates to <AddressLink address={each.address} />
            </>
          )}{' '}
          <span class="soft">
            nonce {decimal(each.nonce)}, {BigInt(each.chainId) === 0n ? 'on each chain' : `chain ${decimal(each.chainId)}`}
          </span>
        </Row>
      ))}
      {accessList.length > 0 && (
        <Row name="Access list" id="access-list">
          {accessList.slice(0, SHOWN_ACCESSES).map(({ address, storageKeys }, i) => (
            <div key={i}>
              <AddressLink address={address} /> <span class="soft">{storageKeys.length} slots</span>
            </div>
          ))}
          {accessList.length > SHOWN_ACCESSES && <div class="soft">and {accessList.length - SHOWN_ACCESSES} more</div>}
        </Row>
      )}
    </dl>
  )
}

/** Entries of an access list that are shown. */
const SHOWN_ACCESSES = 20

const TYPES: Readonly<Record<string, string>> = {
  '0x0': 'legacy',
  '0x1': 'access list',
  '0x2': 'EIP-1559',
  '0x3': 'blob',
  '0x4': 'EIP-7702',
  [DEPOSIT_TYPE]: 'deposit',
}

function Fee({ transaction, receipt }: { transaction: TransactionJson; receipt: ReceiptJson }) {
  const price = receipt.effectiveGasPrice ?? '0x0' // deposits have none on some clients
  const execution = BigInt(receipt.gasUsed) * BigInt(price)
  const l1 = BigInt(receipt.l1Fee ?? '0x0')
  const isDeposit = transaction.type === DEPOSIT_TYPE
  return (
    <Row name="Fee" id="tx-fee">
      {isDeposit ? (
        <span class="soft">none: deposits pay on L1</span>
      ) : (
        <>
          <Ether wei={execution + l1} exact /> <span class="soft">{grouped(decimal(price))} wei per gas</span>{' '}
          {l1 > 0n && (
            <span class="soft" data-testid="l1-fee">
              {'· L1 data '}
              <Ether wei={l1} />
            </span>
          )}
        </>
      )}
    </Row>
  )
}

import type { Allowance, BalanceChange, ChainLabel, FeeView, Preview, SponsorView } from '../../src/wallet/question.ts'
import { decimal, reasonText, rounded, signed, tokenAmount, tokenName, units, visible } from './format.ts'
import { AddressText, Collapsible, Row, Section } from './parts.tsx'

/** Balance changes and new allowances of a preview. */
export function Outcome({ preview, chain }: { preview: Preview; chain: ChainLabel }) {
  const { status, error, changes, allowances } = preview
  return (
    <>
      <Section title="What changes" note={status === 'success' ? 'as of now, without the fee' : undefined}>
        {status === 'reverted' && <p class="verdict bad">This would fail{error === null ? '.' : `: ${reasonText(error)}`}</p>}
        {status === 'unavailable' && <p class="verdict">The effects are unknown: {reasonText(error ?? 'the chain did not answer')}</p>}
        {status === 'success' && changes.length === 0 && <p class="verdict">No balance of the account changes.</p>}
        {changes.length > 0 && <Changes changes={changes} chain={chain} />}
      </Section>
      {allowances.length > 0 && (
        <Section title="Permissions given">
          <ul class="changes">
            {allowances.map((allowance, i) => (
              <AllowanceItem key={i} allowance={allowance} />
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

/** Changes of balances, outflows first. */
export function Changes({ changes, chain }: { changes: readonly BalanceChange[]; chain: ChainLabel }) {
  return (
    <ul class="changes">
      {changes.map((change, i) => (
        <ChangeItem key={i} change={change} chain={chain} />
      ))}
    </ul>
  )
}

function ChangeItem({ change, chain }: { change: BalanceChange; chain: ChainLabel }) {
  const { asset, token, amount, decimals, tokenId } = change
  const symbol = change.symbol ?? (asset === 'native' ? chain.symbol : null)
  const isGain = !amount.startsWith('-')
  return (
    <li data-testid="change" class={isGain ? 'in' : 'out'}>
      <span class="unseen">{isGain ? 'Receives' : 'Sends'} </span>
      <span class="amount">{signed(amount, asset === 'native' ? chain.decimals : decimals)}</span>{' '}
      <span class="asset">
        {asset === 'erc20' && decimals === null && (symbol === null ? 'units' : 'units of ')}
        {symbol !== null && <bdi>{visible(symbol)}</bdi>}
        {tokenId !== null && <> #{decimal(tokenId)}</>}
        {token !== null && <AddressText address={token} />}
      </span>
    </li>
  )
}

function AllowanceItem({ allowance }: { allowance: Allowance }) {
  return (
    <li data-testid="allowance" class={allowance.isSpent ? 'spent' : 'open'}>
      <AllowanceText allowance={allowance} />
    </li>
  )
}

/** `until`: in place of when it ends. */
export function AllowanceText({ allowance, until }: { allowance: Allowance; until?: string }) {
  const { token, spender, spenderLabel, isSpent } = allowance
  return (
    <>
      <span>
        <AddressText address={spender} name={spenderLabel} /> {until === undefined ? 'may take' : 'was allowed to take'}{' '}
        <strong>{quantityOf(allowance)}</strong>
      </span>
      <span class="asset">
        {until ?? (isSpent ? 'used up by these calls' : 'until it is revoked')} <AddressText address={token} />
      </span>
    </>
  )
}

function quantityOf({ kind, token, tokenId, symbol, decimals, amount }: Allowance): string {
  const name = tokenName({ symbol, address: token })
  if (kind === 'allNfts') return `every ${name}`
  if (kind === 'nft') return tokenId === undefined ? `one ${name}` : `${name} #${decimal(tokenId)}`
  return amount === null ? `any amount of ${name}` : tokenAmount(BigInt(amount), { symbol, decimals, address: token })
}

interface FeeProps {
  readonly fee: FeeView
  readonly chain: ChainLabel
  /** the sponsor that the app named does not pay */
  readonly isFallback?: boolean
  /** the sponsor takes a token in exchange */
  readonly isPaidInToken?: boolean
}

export function Fee({ fee, chain, isFallback = false, isPaidInToken = false }: FeeProps) {
  const { sponsor, expected, most } = fee
  if (sponsor !== null) return <SponsoredFee fee={fee} sponsor={sponsor} chain={chain} isPaidInToken={isPaidInToken} />
  return (
    <Section title="Fee">
      <dl class="rows" data-testid="fee">
        {isFallback && (
          <Row name="Paid by">
            <strong>your account</strong>, not by the sponsor
          </Row>
        )}
        <Row name="Expected">
          <span class="amount" title={`${units(BigInt(expected), chain.decimals)} ${visible(chain.symbol)}`}>
            {rounded(BigInt(expected), chain.decimals)} {visible(chain.symbol)}
          </span>
        </Row>
        <Row name="At most">
          <span class="amount" title={`${units(BigInt(most), chain.decimals)} ${visible(chain.symbol)}`}>
            {rounded(BigInt(most), chain.decimals)} {visible(chain.symbol)}
          </span>
        </Row>
        <GasRow fee={fee} chain={chain} />
      </dl>
    </Section>
  )
}

/** Such as `about 0.01 ETH, at most 0.02 ETH`. */
export function priceOf({ expected, most }: FeeView, { decimals, symbol }: ChainLabel): string {
  const amount = (wei: string) => `${rounded(BigInt(wei), decimals)} ${visible(symbol)}`
  return `about ${amount(expected)}, at most ${amount(most)}`
}

type SponsoredFeeProps = Required<Pick<FeeProps, 'fee' | 'chain' | 'isPaidInToken'>> & { readonly sponsor: SponsorView }

function SponsoredFee({ fee, sponsor, chain, isPaidInToken }: SponsoredFeeProps) {
  const { name, host, icon, paymaster } = sponsor
  return (
    <Section title="Fee">
      <div class="sponsored" data-testid="sponsor">
        {icon?.startsWith('data:image/') === true && (
          <img class="icon" src={icon} alt="" width="44" height="44" data-testid="sponsor-icon" />
        )}
        <p>
          <span class="soft">Sponsored by</span>{' '}
          <strong>
            <bdi>{visible(name ?? host)}</bdi>
          </strong>
          {name !== null && <span class="soft"> ({visible(host)})</span>}
          {isPaidInToken ? (
            <span class="paid-in-token">You pay with a token, see above</span>
          ) : (
            <span class="nothing-to-pay">You pay nothing</span>
          )}
        </p>
      </div>
      <Collapsible title="What the sponsor pays">
        <dl class="rows" data-testid="fee">
          <Row name="At most">
            {rounded(BigInt(fee.gas) * BigInt(fee.maxFeePerGas), chain.decimals)} {visible(chain.symbol)}
          </Row>
          <GasRow fee={fee} chain={chain} />
          {paymaster !== undefined && (
            <Row name="Paymaster">
              <AddressText address={paymaster} />
            </Row>
          )}
          <Row name="Service">{visible(host)}</Row>
        </dl>
      </Collapsible>
    </Section>
  )
}

function GasRow({ fee: { gas, maxFeePerGas, l1Fee }, chain }: { fee: FeeView; chain: ChainLabel }) {
  return (
    <Row name="Gas">
      <span class="soft">
        {units(BigInt(gas), 0)} at up to {units(BigInt(maxFeePerGas), 9)} gwei
        {BigInt(l1Fee) > 0n && `, and ${rounded(BigInt(l1Fee), chain.decimals)} ${visible(chain.symbol)} for data`}
      </span>
    </Row>
  )
}

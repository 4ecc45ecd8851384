import { cut, visible } from '../wallet/format.ts'
import { useLoaded } from './head.ts'
import { askAll } from './node.ts'
import { AddressLink, Content, Panel } from './parts.tsx'
import { labelCalls, labelOf } from './tokenlabel.ts'
import type { TokenLabel } from './tokenlabel.ts'
import type { LogJson } from './wire.ts'

/** keccak256("Transfer(address,address,uint256)") */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
/** Tokens that are listed. */
const TOKENS = 50
/** Nodes without an index of logs refuse, or take long for, the whole chain. */
const SEARCHED_BLOCKS = 10_000

interface Token extends TokenLabel {
  readonly address: string
  readonly balance: bigint
}

/** Tokens that were transferred to the address, with its balance of each. */
export function Tokens({ address, latest }: { address: string; latest: number }) {
  const loaded = useLoaded((signal) => readTokens(address, latest, signal), [address, latest])
  if (loaded.state === 'done' && loaded.value.length === 0) return null
  return (
    <Panel title="Tokens" note="that were transferred to it" id="tokens">
      <Content of={loaded}>
        {(tokens) => (
          <table class="entries">
            <caption class="unseen">Tokens</caption>
            <thead>
              <tr>
                <th>Token</th>
                <th>Symbol</th>
                <th class="number">Balance</th>
              </tr>
            </thead>
            <tbody>
              {tokens.map(({ address: token, symbol, decimals, balance }) => (
                <tr key={token} class="entry" data-testid="token" data-address={token}>
                  <td data-label="Token">
                    <AddressLink address={token} />
                  </td>
                  <td data-label="Symbol">
                    <bdi>{symbol === null ? '–' : visible(symbol)}</bdi>
                  </td>
                  <td data-label="Balance" class="number" title={balance.toString()}>
                    {cut(balance, decimals ?? 0)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Content>
    </Panel>
  )
}

async function readTokens(address: string, latest: number, signal: AbortSignal): Promise<readonly Token[]> {
  const word = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const topics = [TRANSFER, null, word]
  const [whole, recent] = await askAll(
    [
      ['eth_getLogs', { fromBlock: 'earliest', toBlock: 'latest', topics }],
      ['eth_getLogs', { fromBlock: `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`, toBlock: 'latest', topics }],
    ],
    { signal },
  )
  const logs = whole instanceof Error ? recent : whole
  if (logs instanceof Error) throw logs
  const addresses = [...new Set((logs as readonly LogJson[]).map((log) => log.address))].slice(-TOKENS) // the result of the method
  const call = (to: string, data: string) => ['eth_call', { to, data }, 'latest'] as const
  const answers = await askAll(
    addresses.flatMap((to) => [call(to, `0x70a08231${word.slice(2)}`), ...labelCalls(to)]),
    { signal },
  )
  return addresses.flatMap((token, i) => {
    const [balance, symbol, decimals] = answers.slice(3 * i, 3 * i + 3)
    const units = wordOf(balance)
    return units === null ? [] : [{ address: token, ...labelOf(symbol, decimals), balance: units }]
  })
}

function wordOf(answer: unknown): bigint | null {
  return typeof answer === 'string' && answer.length >= 66 ? BigInt(answer.slice(0, 66)) : null
}

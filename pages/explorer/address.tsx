import { useState } from 'preact/hooks'
import { keccak256 } from 'viem/utils'
import { checksummed, grouped, shortened, sizeOf, units, visible } from '../wallet/format.ts'
import { Copy, Fold, Raw, Row } from '../wallet/parts.tsx'
import { readAccount } from './account.ts'
import type { Account } from './account.ts'
import { AbiForm } from './abiform.tsx'
import { ContractForm } from './contractform.tsx'
import { useHead, useLoaded } from './head.ts'
import { History } from './history.tsx'
import { Logs } from './logs.tsx'
import { nameOf } from './names.ts'
import { ask } from './node.ts'
import { USER_OPERATION_EVENT, operationOf } from './operations.ts'
import { AddressLink, Content, Failure, Notice, Panel, StageChip, TransactionLink, stageOf } from './parts.tsx'
import { Tokens } from './tokens.tsx'
import type { LogJson } from './wire.ts'

/** Blocks whose logs are listed. */
const SEARCHED_BLOCKS = 1_000
const ROWS = 25

export function AddressPage({ address }: { address: string }) {
  const isAddress = /^0x[0-9a-fA-F]{40}$/.test(address)
  const latest = useHead((state) => state.latest)
  const cells = useHead(({ blocks }) => blocks[0]?.cells.length)
  const loaded = useLoaded(async (signal) => (isAddress ? readAccount(address, signal) : null), [address, latest, cells])
  if (!isAddress) {
    return (
      <Notice title="Not an address" id="bad-input">
        <p>
          <code>{visible(address.slice(0, 100))}</code> is not an address: 0x and 40 hexadecimal digits are expected.
        </p>
      </Notice>
    )
  }
  if (loaded.value === null) return loaded.state === 'failed' ? <Failure error={loaded.error} /> : <p class="soft">Loading …</p>
  return <Shown address={address} account={loaded.value} latest={latest} />
}

function Shown({ address, account, latest }: { address: string; account: Account; latest: number | null }) {
  const name = nameOf(address)
  const isContract = account.code !== '0x'
  return (
    <>
      <header class="title">
        <h1 data-testid="address-title">{name ?? kindOf(account)}</h1>
        {name !== null && <span class="chip over">{kindOf(account)}</span>}
      </header>
      <Panel title="Summary" id="summary">
        <Summary address={address} account={account} />
      </Panel>
      {isContract && (
        <Panel title="Contract" note="reads and writes by an ABI" id="contract">
          <ContractForm address={address} target={account.target?.address ?? null} />
          <AbiForm address={address} />
        </Panel>
      )}
      {latest !== null && <Tokens address={address} latest={latest} />}
      <History address={address} />
      {latest !== null && <Operations address={address} latest={latest} />}
      {isContract && latest !== null && <RecentLogs address={address} latest={latest} />}
      {isContract && <Storage address={address} />}
      {isContract && (
        <Panel title="Code" note={`${grouped(String(sizeOf(account.code)))} bytes`} id="code">
          <Code code={account.code} />
        </Panel>
      )}
    </>
  )
}

function kindOf({ code, target }: Account): string {
  if (target?.kind === 'EIP-7702 delegate') return 'Delegated account'
  if (target !== null) return 'Proxy'
  return code === '0x' ? 'Account' : 'Contract'
}

function Summary({ address, account: { balance, pendingBalance, nonce, code, target } }: { address: string; account: Account }) {
  return (
    <dl class="rows">
      <Row name="Address" id="address">
        <Copy text={checksummed(address)} what="address" shown={checksummed(address)} />
      </Row>
      <Row name="Balance" id="balance">
        {units(balance, 18)} ETH
        {pendingBalance !== null && pendingBalance !== balance && (
          <span class="soft" data-testid="pending-balance">
            , with promises {units(pendingBalance, 18)} ETH
          </span>
        )}
      </Row>
      <Row name="Nonce" id="nonce">
        {nonce.toString()}
      </Row>
      {target !== null && (
        <Row name={target.kind === 'EIP-7702 delegate' ? 'Delegate' : 'Target'} id="target">
          <AddressLink address={target.address} whole /> <span class="soft">{target.kind}</span>
        </Row>
      )}
      {code !== '0x' && target?.kind !== 'EIP-7702 delegate' && <Creator address={address} />}
    </dl>
  )
}

function Creator({ address }: { address: string }) {
  const loaded = useLoaded(
    (signal) => ask<{ readonly hash: string; readonly creator: string } | null>(['ots_getContractCreator', address], { signal }),
    [address],
  )
  if (loaded.state === 'loading') return null
  return (
    <Row name="Created" id="creator">
      {loaded.state === 'failed' ? (
        <Failure error={loaded.error} />
      ) : loaded.value === null ? (
        'with the genesis, or set by a test'
      ) : (
        <>
          by <AddressLink address={loaded.value.creator} /> in <TransactionLink hash={loaded.value.hash} />
        </>
      )}
    </Row>
  )
}

/** Operations that the address sent or paid for. */
function Operations({ address, latest }: { address: string; latest: number }) {
  const head = useHead()
  const word = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
  const loaded = useLoaded(
    async (signal) => {
      const range = { fromBlock: `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`, toBlock: 'latest' }
      const logs = await ask<readonly LogJson[]>(['eth_getLogs', { ...range, topics: [USER_OPERATION_EVENT, null, word] }], { signal })
      return logs.flatMap(operationOf).slice(-ROWS).toReversed()
    },
    [address, latest],
  )
  if (loaded.value === null || loaded.value.length === 0) return null
  return (
    <Panel title="User operations" note={`of the last ${grouped(String(SEARCHED_BLOCKS))} blocks`} id="operations">
      <ul class="plain">
        {loaded.value.map(({ hash, success, blockNumber }) => (
          <li key={hash} data-testid="operation" data-hash={hash}>
            <a href={`/op/${hash}`} title={hash}>
              <code>{shortened(hash)}</code>
            </a>{' '}
            <StageChip stage={stageOf(blockNumber, head)} /> {!success && <StageChip stage="failed" />}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function RecentLogs({ address, latest }: { address: string; latest: number }) {
  const loaded = useLoaded(
    async (signal) => {
      const range = { fromBlock: `0x${Math.max(0, latest - SEARCHED_BLOCKS).toString(16)}`, toBlock: 'latest' }
      const logs = await ask<readonly LogJson[]>(['eth_getLogs', { ...range, address }], { signal })
      return logs.slice(-ROWS).toReversed()
    },
    [address, latest],
  )
  return (
    <Panel title="Logs" note={`the newest ${ROWS} of the last ${grouped(String(SEARCHED_BLOCKS))} blocks`} id="address-logs">
      <Content of={loaded}>{(logs) => (logs.length === 0 ? <p class="soft">It emitted no logs lately.</p> : <Logs logs={logs} />)}</Content>
    </Panel>
  )
}

/** Reads one slot, by its number or hash. */
function Storage({ address }: { address: string }) {
  const [slot, setSlot] = useState('')
  const [answer, setAnswer] = useState<{ readonly text: string; readonly isError: boolean } | null>(null)
  const read = async (event: Event) => {
    event.preventDefault()
    try {
      const key = `0x${BigInt(slot.trim()).toString(16).padStart(64, '0')}`
      if (slot.trim() === '' || key.length !== 66) throw new RangeError('out of range')
      setAnswer({ text: await ask<string>(['eth_getStorageAt', address, key, 'latest']), isError: false })
    } catch (error) {
      const isInput = error instanceof SyntaxError || error instanceof RangeError
      setAnswer({
        text: isInput ? 'A slot is a number such as 3, or 0x and up to 64 hexadecimal digits.' : (error as Error).message,
        isError: true,
      }) // ask throws errors
    }
  }
  return (
    <Panel title="Storage" id="storage">
      <form class="move" onSubmit={(event) => void read(event)}>
        <label>
          <span>slot</span>
          <input
            value={slot}
            spellcheck={false}
            autocomplete="off"
            data-testid="slot"
            onInput={(event) => setSlot(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="small" data-testid="read-slot">
          Read
        </button>
      </form>
      {answer !== null && (
        <p class={answer.isError ? 'wrong' : ''} role="status" data-testid="slot-value">
          {answer.isError ? visible(answer.text) : <Copy text={answer.text} what="value" shown={answer.text} />}
        </p>
      )}
    </Panel>
  )
}

function Code({ code }: { code: string }) {
  return (
    <>
      <p>
        keccak-256 <Copy text={keccak256(code as `0x${string}`)} what="hash of the code" />
      </p>
      <Fold title="Bytes">
        <Raw text={code} name="code" />
      </Fold>
    </>
  )
}

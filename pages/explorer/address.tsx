import { keccak256 } from 'viem/utils'
import { checksummed, grouped, sizeOf, units, visible } from '../wallet/format.ts'
import { Copy, Collapsible, Raw, Row } from '../wallet/parts.tsx'
import { readAccount } from './account.ts'
import type { Account } from './account.ts'
import { AbiForm } from './abiform.tsx'
import { EmittedLogs, Operations } from './addresslogs.tsx'
import { ContractForm } from './contractform.tsx'
import { useHead, useLoaded } from './head.ts'
import { History } from './history.tsx'
import { nameOf } from './names.ts'
import { ask } from './node.ts'
import { AddressLink, Failure, Notice, Panel, TransactionLink } from './parts.tsx'
import { Storage } from './storage.tsx'
import { Tokens } from './tokens.tsx'

/** Characters of the code that are shown: those of the largest contract, 24 KiB (EIP-170). */
const CODE_CHARACTERS = 49_154

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
          <ContractForm address={address} code={account.code} target={account.target} />
          <AbiForm address={address} />
        </Panel>
      )}
      {latest !== null && <Tokens address={address} latest={latest} />}
      <History address={address} />
      {latest !== null && <Operations address={address} latest={latest} />}
      {isContract && latest !== null && <EmittedLogs address={address} target={account.target?.address ?? null} latest={latest} />}
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

function Code({ code }: { code: string }) {
  return (
    <>
      <p>
        keccak-256 <Copy text={keccak256(code as `0x${string}`)} what="hash of the code" />
      </p>
      <Collapsible title="Bytes">
        <Raw text={code.length > CODE_CHARACTERS ? `${code.slice(0, CODE_CHARACTERS)} …` : code} name="code" />
      </Collapsible>
    </>
  )
}

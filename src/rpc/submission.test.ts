import { expect, it } from 'vitest'
import { configOf } from '../chain/index.ts'
import { testGenesis } from '../chain/chain.fixture.ts'
import { COMPAT } from '../compat.ts'
import { Hash } from '../eth/index.ts'
import { ALICE, MANUAL, testNode } from './node.fixture.ts'
import { submit } from './submission.ts'

it('a blob fee cap below the blob base fee waits in the pool, and is refused under compat anvil', async () => {
  const config = configOf(31_337, 'osaka', 0, { codeSizeLimit: null, transactionGasCap: null })
  const genesis = { ...testGenesis([ALICE]), config, extraData: new Uint8Array(), excessBlobGas: 9_000_000n, blobGasUsed: 0n }
  for (const cadence of [MANUAL, { kind: 'instant' }] as const) {
    const { chain, sign, ask } = await testNode({ cadence, genesis })
    const blobVersionedHashes = [Hash.from(`0x01${'00'.repeat(31)}`)]
    const tx = sign({ type: 3, to: ALICE, maxFeePerBlobGas: 4n, blobVersionedHashes })
    const message = 'max fee per blob gas less than block blob gas fee'
    await expect(async () => submit({ chain, compat: COMPAT.anvil }, tx)).rejects.toThrow(message)
    expect(await ask('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await submit({ chain, compat: COMPAT.default }, tx)).toBe(tx.hash)
    expect(await ask('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
  }
})

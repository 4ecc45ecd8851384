import { test } from 'vitest'
import { Chain, CADENCES, DEFAULT_FEE_PARAMETERS, DEFAULT_L1, ManualClock, SEQUENCER_FEE_VAULT, defaultGenesis, parseGenesis, importChain, opConfig } from '../src/chain/index.ts'
import { Address, Hash, Hex, Transaction, Secp256k1 } from '../src/eth/index.ts'
import { MemoryStore } from '../src/store/index.ts'
import { readFileSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
const mk = async (genesis: any, cadence: any = CADENCES.preconf) => new Chain({ genesis, store: new MemoryStore(), clock: new ManualClock(1_700_000_000_000), cadence, l1: DEFAULT_L1, feeParameters: DEFAULT_FEE_PARAMETERS, gasLimit: 400_000_000n, coinbase: SEQUENCER_FEE_VAULT, order: 'fees', seed: 'x', historyBlocks: 8192, instanceId: Hash.zero })
test('preconf', async () => {
  const key = Hex.toBytes('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const t0 = performance.now()
  const genesis = await defaultGenesis({ chainId: 31337, timestamp: 1_700_000_000, hardfork: 'azul', gasLimit: 400_000_000n, baseFeePerGas: 1_000_000_000n, feeParameters: DEFAULT_FEE_PARAMETERS, accounts: [{ address: Address.from('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'), balance: 10n ** 22n }], codeSizeLimit: 24576, transactionGasCap: 16777216n })
  const chain = await mk(genesis)
  console.log('genesis', performance.now() - t0, chain.genesis.hash)
  chain.head.subscribe((e) => console.log(e.kind, e.kind === 'block' ? [e.sealed, e.block.header.number, e.block.hash.slice(0, 10), e.block.transactions.length, e.sealed ? '' : e.flashblock.index, e.block.receipts.map(r => r.status), e.block.header.gasUsed] : ''))
  await chain.start()
  console.log('start', performance.now() - t0)
  const tx = Transaction.sign({ type: 2, chainId: 31337, nonce: 0n, gas: 21000n, to: Address.from('0x70997970c51812dc3a010c7d01b50e0d17dc79c8'), value: 1n, maxFeePerGas: 2_000_000_000n, maxPriorityFeePerGas: 1n }, key)
  await chain.submit(tx)
  await (chain.clock as ManualClock).advance(4400)
  console.log(chain.head.view.locate(tx.hash)?.block.receipts[1])
  const other = await defaultGenesis({ chainId: 1234, timestamp: 1_700_000_000, hardfork: 'azul', gasLimit: 400_000_000n, baseFeePerGas: 1_000_000_000n, feeParameters: DEFAULT_FEE_PARAMETERS, accounts: [], codeSizeLimit: 24576, transactionGasCap: 16777216n })
  console.log(other.state.accounts.size, genesis.state.accounts.size)
})
test('base genesis', async () => {
  const text = brotliDecompressSync(readFileSync('../shared/vectors/genesis/mainnet-base.json.br')).toString()
  const chain = await mk(parseGenesis(text, (t) => opConfig(8453, 'azul', t + 1, { codeSizeLimit: 24576, transactionGasCap: 16777216n })))
  console.log(chain.genesis.hash)
})
test('import', async () => {
  const chain = await mk(parseGenesis(readFileSync('../shared/vectors/rpc-compat/genesis.json', 'utf8'), () => { throw 1 }), CADENCES.manual)
  console.log(chain.genesis.hash)
  const t = performance.now()
  await importChain(chain, readFileSync('../shared/vectors/rpc-compat/chain.rlp'))
  console.log(chain.head.view.head.hash, performance.now() - t)
})

// The measured requests, one eth_call each, and the chain they need. Equal transactions from equal accounts give equal addresses on every
// node, so all nodes receive the same request.
import { encodeDeployData, encodeFunctionData, encodePacked, getAddress, pad, parseAbi, parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

/** The first dev account of every node (the standard mnemonic). */
const DEPLOYER = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
/** The third dev account, owner of the smart account. Its key is public. */
const OWNER = privateKeyToAccount('0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a')
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const NOBODY = '0x00000000000000000000000000000000000b0b0b'

/** Below the transaction gas cap since Osaka. */
const DEPLOY_GAS = 15_000_000
const SLOTS = 200

/**
 * Deploys everything and answers the requests.
 * @param {(method: string, params?: readonly unknown[]) => Promise<any>} rpc of a fresh node whose accounts are unlocked
 * @param {ReturnType<typeof import('./contracts.mjs').contracts>} contracts
 * @param {`0x${string}`} multicallCode of Multicall3, for nodes that have it not
 * @returns {Promise<Case[]>}
 */
export async function prepare(rpc, contracts, multicallCode) {
  const chain = new Setup(rpc)
  if ((await rpc('eth_getCode', [MULTICALL, 'latest'])) === '0x') await rpc('anvil_setCode', [MULTICALL, multicallCode])
  const token = await chain.deploy(contracts.Token, [parseEther('1000000')])
  const maths = await chain.deploy(contracts.Maths)
  const loops = await chain.deploy(contracts.Loops)
  const tracer = await chain.deploy(contracts.RayTracer)
  const holders = Array.from({ length: 100 }, (_, i) => getAddress(pad(toHex(0x1000 + i), { size: 20 })))
  for (const holder of holders.slice(0, 10)) await chain.send(token, 'transfer', [holder, 10n ** 18n])
  for (let from = 0; from < SLOTS; from += 100) await chain.send(loops, 'fill', [BigInt(from), 100n])
  const balanceOf = token.call('balanceOf', [DEPLOYER])
  const balances = holders.map((holder) => ({
    target: token.address,
    allowFailure: false,
    callData: token.call('balanceOf', [holder]).data,
  }))
  const aggregate3 = encodeFunctionData({ abi: MULTICALL_ABI, functionName: 'aggregate3', args: [balances] })
  return [
    { name: 'empty call', request: { to: NOBODY }, batch: true },
    { name: 'balanceOf', request: balanceOf, batch: true },
    { name: 'transfer', request: { from: DEPLOYER, ...token.call('transfer', [holders[50], 1n]) }, batch: true },
    { name: 'Multicall3 x100', request: { to: MULTICALL, data: aggregate3 } },
    { name: 'mulDiv x1', request: maths.call('mulDiv', [2n ** 255n - 19n, 3n ** 160n, 7n ** 90n]) },
    { name: 'mulDiv x1000', request: maths.call('mulDivs', [1_000n]) },
    { name: 'TickMath x1', request: maths.call('sqrtPrice', [-204_755n]) },
    { name: 'TickMath x1000', request: maths.call('sqrtPrices', [1_000n]) },
    { name: 'keccak x1000', request: loops.call('keccaks', [1_000n]) },
    { name: 'SLOAD x200', request: loops.call('load', [BigInt(SLOTS)]) },
    { name: 'SSTORE x200', request: loops.call('store', [BigInt(SLOTS)]) },
    { name: 'warm SSTORE x1000', request: loops.call('count', [1_000n]) },
    { name: 'fib(18) recursive', request: loops.call('fibonacci', [18n]) },
    { name: 'primes < 2000', request: loops.call('primes', [2_000n]) },
    { name: 'sieve of 4000', request: loops.call('sieve', [4_000n]) },
    { name: 'ray tracer 8x8', request: tracer.call('render', [8n, 8n]) },
    { name: 'ERC-4337 validation', request: await validation(chain, contracts), batch: true },
  ]
}

/** @typedef {{ name: string, request: { from?: string, to: string, data?: string }, batch?: boolean }} Case */

/** What a bundler calls before it accepts a user operation: EntryPoint 0.7's simulateValidation for a simple account. */
async function validation(/** @type {Setup} */ chain, contracts) {
  const entryPoint = await chain.deploy(contracts.EntryPointSimulations)
  const factory = await chain.deploy(contracts.SimpleAccountFactory, [entryPoint.address])
  const account = { address: await chain.read(factory, 'getAddress', [OWNER.address, 0n]), ...contracts.SimpleAccount }
  await chain.send(factory, 'createAccount', [OWNER.address, 0n])
  await chain.send(entryPoint, 'depositTo', [account.address], parseEther('1'))
  const operation = {
    sender: getAddress(account.address),
    nonce: 0n,
    initCode: '0x',
    callData: encodeFunctionData({ abi: account.abi, functionName: 'execute', args: [NOBODY, 1n, '0x'] }),
    accountGasLimits: encodePacked(['uint128', 'uint128'], [200_000n, 100_000n]),
    preVerificationGas: 50_000n,
    gasFees: encodePacked(['uint128', 'uint128'], [10n ** 9n, 2n * 10n ** 9n]),
    paymasterAndData: '0x',
    signature: '0x',
  }
  const hash = await chain.read(entryPoint, 'getUserOpHash', [operation])
  const signature = await OWNER.signMessage({ message: { raw: hash } })
  return entryPoint.call('simulateValidation', [{ ...operation, signature }])
}

const MULTICALL_ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[])',
])

/** Transactions of the deployer, each in its own block. */
class Setup {
  #rpc

  constructor(rpc) {
    this.#rpc = rpc
  }

  async deploy({ abi, bytecode }, args = []) {
    const { contractAddress: address } = await this.#execute({ data: encodeDeployData({ abi, bytecode, args }) })
    return { abi, address, call: (functionName, args) => ({ to: address, data: encodeFunctionData({ abi, functionName, args }) }) }
  }

  async send(contract, functionName, args, value = 0n) {
    await this.#execute({ ...contract.call(functionName, args), value: toHex(value) })
  }

  /** For functions that return one static word: an address, else the word. */
  async read(contract, functionName, args) {
    const word = await this.#rpc('eth_call', [contract.call(functionName, args), 'latest'])
    return functionName === 'getAddress' ? `0x${word.slice(26)}` : word
  }

  async #execute(request) {
    const hash = await this.#rpc('eth_sendTransaction', [{ from: DEPLOYER, gas: toHex(DEPLOY_GAS), ...request }])
    // A node with automine mines an additional empty block.
    await this.#rpc('evm_mine')
    const receipt = await this.#rpc('eth_getTransactionReceipt', [hash])
    if (receipt?.status !== '0x1') throw new Error(`a transaction of the set-up failed: ${JSON.stringify(receipt)}`)
    return receipt
  }
}

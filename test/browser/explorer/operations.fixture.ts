import { encodeFunctionData, numberToHex, parseAbi } from 'viem'
import type { Hex } from 'viem'
import { entryPoint08Address } from 'viem/account-abstraction'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Scene } from './explorer.fixture.ts'

/** Accepts each operation, and returns for every call. */
export const ACCEPTING_ACCOUNT = '0x60205ff3'
/** Accepts each operation, and reads the time in its validation, which a public bundler refuses. */
export const TIMED_ACCOUNT = '0x425060205ff3'
/** Accepts each operation, and reverts other calls with their data after the selector. */
export const FAILING_ACCOUNT = '0x5f3560e01c6319822f7c14601957600436038060045f375ffd5b60205ff3'

const GAS = '0x4c4b40'

/** Returns a new account with this code, whose deposit in EntryPoint 0.8 pays for its operations. */
export async function openAccount(scene: Scene, code: Hex): Promise<Hex> {
  const sender = privateKeyToAccount(generatePrivateKey()).address
  await scene.ask('anvil_setCode', sender, code)
  const abi = parseAbi(['function depositTo(address) payable'])
  const data = encodeFunctionData({ abi, functionName: 'depositTo', args: [sender] })
  await scene.send({ to: entryPoint08Address, value: '0xde0b6b3a7640000', data, gas: GAS })
  await scene.seal()
  return sender
}

interface OperationChoices {
  readonly callData?: Hex
  readonly nonce?: bigint
  /** those that the bundler proposes unless given, wei */
  readonly fees?: { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint }
  /** eth_sendUserOperation unless given */
  readonly method?: string
}

/** Returns the hash of an operation that the bundler accepted. */
export async function sendOperation(
  scene: Scene,
  sender: Hex,
  { callData = '0x', nonce = 0n, fees, method = 'eth_sendUserOperation' }: OperationChoices = {},
): Promise<Hex> {
  const { standard } = (await scene.ask('pimlico_getUserOperationGasPrice')) as { standard: object }
  const limits = { callGasLimit: '0x30d40', verificationGasLimit: '0x30d40', preVerificationGas: '0x30d40' }
  const prices =
    fees === undefined
      ? standard
      : { maxFeePerGas: numberToHex(fees.maxFeePerGas), maxPriorityFeePerGas: numberToHex(fees.maxPriorityFeePerGas) }
  const operation = { sender, nonce: numberToHex(nonce), callData, ...limits, ...prices, signature: '0x12' }
  return (await scene.ask(method, operation, entryPoint08Address)) as Hex // as the method defines it
}

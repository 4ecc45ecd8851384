import { createRequire } from 'node:module'
import type { Abi, Hex } from 'viem'

/** The parts of solc's output that are used here. */
interface Output {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, { readonly abi: Abi; readonly evm: { readonly bytecode: { readonly object: string } } }>>>
  >
}

/** Calls console.log as the libraries of Hardhat and Foundry do: a static call whose result is ignored. */
const SOURCE = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

library console {
  function send(bytes memory data) private view {
    address target = 0x000000000000000000636F6e736F6c652e6c6f67;
    assembly { pop(staticcall(gas(), target, add(data, 32), mload(data), 0, 0)) }
  }
  function log(string memory a) internal view { send(abi.encodeWithSignature("log(string)", a)); }
  function log(string memory a, uint256 b) internal view { send(abi.encodeWithSignature("log(string,uint256)", a, b)); }
  function log(address a, bool b) internal view { send(abi.encodeWithSignature("log(address,bool)", a, b)); }
  function logInt(int256 a) internal view { send(abi.encodeWithSignature("log(int256)", a)); }
}

contract Vault {
  error TooLow(uint256 available, uint256 required);
  event Deposited(address indexed from, uint256 amount);

  constructor() { console.log("a new vault"); }

  function deposit(uint256 amount) external {
    console.log("deposit of %d wei", amount);
    console.log(msg.sender, true);
    emit Deposited(msg.sender, amount);
  }

  function withdraw(uint256 amount) external view {
    console.log("withdraw\\n%x", amount);
    revert TooLow(5, amount);
  }

  function guarded(uint256 amount) external view returns (bool) {
    try this.withdraw(amount) {} catch { console.logInt(-1); }
    return true;
  }

  function quote(uint256 amount) external view returns (uint256) {
    console.log("quote of %e", amount);
    return amount * 2;
  }
}`

/** Compiles a contract that calls console.log, with the compiler that builds this repository's contracts. */
export function compileVault(): { readonly abi: Abi; readonly bytecode: Hex } {
  const solc = createRequire(import.meta.url)('solc') as { readonly compile: (input: string) => string } // has no types
  const settings = { outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } } }
  const input = { language: 'Solidity', sources: { 'Vault.sol': { content: SOURCE } }, settings }
  const { contracts, errors = [] } = JSON.parse(solc.compile(JSON.stringify(input))) as Output
  const faults = errors.filter(({ severity }) => severity === 'error')
  if (faults.length > 0) throw new Error(faults.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const { abi, evm } = contracts['Vault.sol']!['Vault']!
  return { abi, bytecode: `0x${evm.bytecode.object}` }
}

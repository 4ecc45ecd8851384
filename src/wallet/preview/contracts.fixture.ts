import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Abi, Hex } from 'viem'

/** Real contracts for tests: OpenZeppelin's tokens, and some that misbehave. Compiled on first use (3 s) and kept under node_modules. */
const SOURCE = `
pragma solidity ^0.8.28;
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {PackedUserOperation} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";

contract Coin is ERC20 {
  uint8 private immutable _places;
  constructor(string memory name, string memory symbol, uint8 places) ERC20(name, symbol) {
    _places = places;
    _mint(msg.sender, 1_000_000 * 10 ** places);
  }
  function decimals() public view override returns (uint8) { return _places; }
}

contract Card is ERC721("Cards", "CARD") {
  function mint(address to, uint256 id) external { _safeMint(to, id); }
}

contract Thing is ERC1155("") {
  function mint(address to, uint256 id, uint256 amount) external { _mint(to, id, amount, ""); }
  function mintBatch(address to, uint256[] calldata ids, uint256[] calldata amounts) external { _mintBatch(to, ids, amounts, ""); }
}

/// Takes what it was allowed to take.
contract Taker {
  function take(IERC20 token, uint256 amount) external { token.transferFrom(msg.sender, address(this), amount); }
}

contract Faults {
  error Broke(uint256 have, uint256 need);
  function custom() external pure { revert Broke(1, 2); }
  function text(string calldata why) external pure { revert(why); }
  function panic(uint256 by) external pure returns (uint256) { return 1 / by; }
  function silent() external pure { assembly { revert(0, 0) } }
}

/// Emits false Transfer and Approval events, with a symbol that imitates another token.
contract Liar {
  event Transfer(address indexed from, address indexed to, uint256 value);
  event Approval(address indexed owner, address indexed spender, uint256 value);
  string public name = unicode"US\\u202eD";
  function symbol() external pure returns (string memory) { return unicode"USDC\\u202e\\n\\u200b"; }
  function decimals() external pure returns (uint256) { return 1 << 200; }
  function shower(uint256 times, address to) external {
    for (uint256 i = 0; i < times; i++) emit Transfer(address(uint160(i + 1)), to, type(uint256).max);
  }
  function allowances(uint256 times, uint256 remaining) external {
    for (uint256 i = 0; i < times; i++) {
      emit Approval(msg.sender, address(uint160(i + 1)), 7);
      emit Approval(msg.sender, address(uint160(i + 1)), remaining);
    }
  }
}

/// Returns what it took once its symbol is read, as in a preview.
contract Watcher {
  event Transfer(address indexed from, address indexed to, uint256 value);
  bool private _isRead;
  IERC20 private _token;
  address private _from;
  uint256 private _amount;
  function symbol() external returns (string memory) {
    _isRead = true;
    if (_amount > 0) _token.transfer(_from, _amount);
    return "WATCH";
  }
  function spend() external payable {
    emit Transfer(msg.sender, address(this), 1);
    if (!_isRead) return;
    (bool isSuccess, ) = msg.sender.call{value: msg.value}("");
    require(isSuccess);
  }
  function take(IERC20 token, uint256 amount) external {
    emit Transfer(msg.sender, address(this), 1);
    (_token, _from, _amount) = (token, msg.sender, amount);
    token.transferFrom(msg.sender, address(this), amount);
  }
}

/// A token whose balances cannot be read any more once one was spent.
contract Mute {
  event Transfer(address indexed from, address indexed to, uint256 value);
  bool private _isSpent;
  function balanceOf(address) external view returns (uint256) { require(!_isSpent); return 9; }
  function spend() external { _isSpent = true; emit Transfer(msg.sender, address(this), 4); }
}

/// A paymaster of EntryPoint 0.7 and 0.8 that pays for every sender and takes five units of a token in exchange.
contract Toll {
  IERC20 private immutable _coin;
  constructor(IERC20 coin) { _coin = coin; }
  function validatePaymasterUserOp(PackedUserOperation calldata op, bytes32, uint256) external pure returns (bytes memory, uint256) {
    return (abi.encode(op.sender), 0);
  }
  function postOp(uint8, bytes calldata context, uint256, uint256) external {
    _coin.transferFrom(abi.decode(context, (address)), address(this), 5);
  }
}

/// Never returns from a read.
contract Trap {
  event Transfer(address indexed from, address indexed to, uint256 value);
  function spring() external { emit Transfer(msg.sender, address(this), 1); }
  fallback() external { while (true) {} }
}
`

export interface Compiled {
  readonly abi: Abi
  readonly bytecode: Hex
}

export type ContractName = 'Coin' | 'Card' | 'Thing' | 'Taker' | 'Faults' | 'Liar' | 'Watcher' | 'Mute' | 'Trap'
type Built = Readonly<Record<ContractName | 'Toll', Compiled>>

export function contracts(): Built {
  const key = createHash('sha256')
    .update(JSON.stringify([require('solc/package.json'), require('@openzeppelin/contracts/package.json'), SOURCE]))
    .digest('hex')
    .slice(0, 16)
  const file = new URL(`wallet-${key}.json`, CACHE)
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Built // written below
  } catch {
    const compiled = compile()
    mkdirSync(CACHE, { recursive: true })
    // Another test file may be at it at the same time.
    const own = new URL(`${file.href}.${process.pid}`)
    writeFileSync(own, JSON.stringify(compiled))
    renameSync(own, file)
    return compiled
  }
}

const require = createRequire(import.meta.url)
const CACHE = new URL('../../../node_modules/.cache/wallet/', import.meta.url)

function compile(): Built {
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { 'tokens.sol': { '*': ['abi', 'evm.bytecode.object'] } },
  }
  const input = JSON.stringify({ language: 'Solidity', sources: { 'tokens.sol': { content: SOURCE } }, settings })
  const compiler = require('solc') as { compile: (input: string, callbacks: object) => string } // an untyped package
  const output = JSON.parse(
    compiler.compile(input, { import: (path: string) => ({ contents: readFileSync(require.resolve(path), 'utf8') }) }),
  ) as {
    errors?: readonly { severity: string; formattedMessage: string }[]
    contracts: Record<string, Record<keyof Built, { abi: Abi; evm: { bytecode: { object: string } } }>>
  } // the compiler's standard JSON
  const errors = (output.errors ?? []).filter(({ severity }) => severity === 'error')
  const made = output.contracts?.['tokens.sol']
  if (errors.length > 0 || made === undefined) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join('\n'))
  const entries = Object.entries(made).map(([name, { abi, evm }]) => [name, { abi, bytecode: `0x${evm.bytecode.object}` }])
  return Object.fromEntries(entries) as Built // the contracts of SOURCE
}

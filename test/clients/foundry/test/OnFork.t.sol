// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Counter} from "../src/Counter.sol";

interface Vm {
  function envAddress(string calldata name) external view returns (address);
  function envUint(string calldata name) external view returns (uint256);
  function deal(address account, uint256 balance) external;
  function prank(address sender) external;
  function rollFork(uint256 number) external;
  function createSelectFork(string calldata url, uint256 number) external returns (uint256);
  function envString(string calldata name) external view returns (string memory);
}

/// Runs with --fork-url: COUNTER is a counter of the forked chain, COUNT what it shows there, and BEFORE a block with COUNT_BEFORE.
contract OnFork {
  Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

  function counter() private view returns (Counter) {
    return Counter(vm.envAddress("COUNTER"));
  }

  function testReadsAndChangesTheState() external {
    uint256 count = vm.envUint("COUNT");
    require(counter().count() == count, "the count of the forked chain");
    counter().increment();
    require(counter().count() == count + 1, "the count after a call");
    require(new Counter(7).count() == 7, "the count of a new contract");
  }

  function testReadsAnOlderBlock() external {
    vm.createSelectFork(vm.envString("NODE_URL"), vm.envUint("BEFORE"));
    require(counter().count() == vm.envUint("COUNT_BEFORE"), "the count in an older block");
  }

  function testChangesBalances() external {
    address rich = address(0xbeef);
    vm.deal(rich, 1 ether);
    require(rich.balance == 1 ether, "the balance");
  }
}

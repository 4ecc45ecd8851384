// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Counter} from "../src/Counter.sol";

interface Vm {
  function startBroadcast() external;
  function stopBroadcast() external;
}

/// Two deployments and five calls: seven transactions.
contract Seven {
  Vm private constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

  function run() external {
    vm.startBroadcast();
    Counter first = new Counter(0);
    Counter second = new Counter(100);
    first.increment();
    first.increment();
    second.increment();
    first.increment();
    second.increment();
    vm.stopBroadcast();
    require(first.count() == 3 && second.count() == 102, "the counters differ from the calls");
  }
}

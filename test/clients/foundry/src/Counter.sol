// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Counter {
  event Incremented(address indexed by, uint256 count);

  uint256 public count;

  constructor(uint256 start) {
    count = start;
  }

  function increment() external {
    count += 1;
    emit Incremented(msg.sender, count);
  }
}

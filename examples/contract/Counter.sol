// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// Counts, and says so.
contract Counter {
    event Incremented(address indexed by, uint256 count);

    uint256 public count;

    function increment() external {
        count += 1;
        emit Incremented(msg.sender, count);
    }
}

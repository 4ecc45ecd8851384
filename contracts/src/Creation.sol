// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// CREATE2 for account factories. OpenZeppelin's reads the factory's balance first, which bundlers reject (SELFBALANCE, ERC-7562 OP-080).
library Creation {
    error CreationFailed();

    function create2(uint256 value, bytes32 salt, bytes memory initCode) internal {
        address made;
        assembly ("memory-safe") {
            made := create2(value, add(initCode, 32), mload(initCode), salt)
        }
        if (made == address(0)) revert CreationFailed();
    }
}

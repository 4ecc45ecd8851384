// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// CREATE2 for the factories of accounts. OpenZeppelin's asks for the factory's own balance first, and a bundler refuses
/// a factory that does (SELFBALANCE, ERC-7562 OP-080).
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

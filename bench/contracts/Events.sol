// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Eleven logs per call: ten with a common topic, one that may carry a mark to search for.
contract Events {
    event Common(address indexed from, address indexed to, uint256 value);
    event Mark(uint256 indexed mark, uint256 value);

    /// @param seed differs from call to call
    /// @param mark what the eleventh log is found by; 0 for none
    /// @param other who emits the eleventh log; 0 for this contract
    function run(uint256 seed, uint256 mark, Events other) external {
        unchecked {
            for (uint256 i = seed * 10; i < seed * 10 + 10; i++) {
                emit Common(address(uint160(0x10000 + (i % 1_000))), address(uint160(0x20000 + (i % 60_000))), i);
            }
        }
        if (address(other) == address(0)) emit Mark(mark, seed);
        else other.single(mark, seed);
    }

    function single(uint256 mark, uint256 value) external {
        emit Mark(mark, value);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Loops with one kind of work each.
contract Loops {
    mapping(uint256 => uint256) private values;
    uint256 private counter;

    function keccaks(uint256 rounds) external pure returns (bytes32 digest) {
        for (uint256 i = 0; i < rounds; ++i) digest = keccak256(abi.encode(digest, i));
    }

    /// Primes below `limit`, by trial division.
    function primes(uint256 limit) external pure returns (uint256 count) {
        for (uint256 n = 2; n < limit; ++n) {
            bool prime = true;
            for (uint256 divisor = 2; divisor * divisor <= n; ++divisor) {
                if (n % divisor == 0) {
                    prime = false;
                    break;
                }
            }
            if (prime) ++count;
        }
    }

    /// Primes below `limit`, by the sieve of Eratosthenes.
    function sieve(uint256 limit) external pure returns (uint256 count) {
        bool[] memory crossed = new bool[](limit);
        for (uint256 n = 2; n < limit; ++n) {
            if (crossed[n]) continue;
            ++count;
            for (uint256 multiple = n * n; multiple < limit; multiple += n) crossed[multiple] = true;
        }
    }

    function fibonacci(uint256 n) public pure returns (uint256) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    /// Fills slots for `load`.
    function fill(uint256 from, uint256 count) external {
        for (uint256 i = from; i < from + count; ++i) values[i] = uint256(keccak256(abi.encode(i)));
    }

    function load(uint256 count) external view returns (uint256 sum) {
        for (uint256 i = 0; i < count; ++i) {
            unchecked {
                sum += values[i];
            }
        }
    }

    /// Writes non-zero slots.
    function store(uint256 count) external {
        for (uint256 i = 0; i < count; ++i) values[i] = i + 1;
    }

    /// Writes one slot repeatedly.
    function count(uint256 rounds) external returns (uint256) {
        for (uint256 i = 0; i < rounds; ++i) counter += i + 1;
        return counter;
    }

    /// Infinite loop, for runs that end out of gas.
    function forever() external pure {
        uint256 i;
        while (true) {
            unchecked {
                ++i;
            }
        }
    }
}

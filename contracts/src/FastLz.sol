// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Compressed length of a byte string under FastLZ level 1. The Fjord fee needs only the length, so nothing is written.
library FastLz {
    /// Length in bytes of the compressed form of `data`.
    function compressedLength(bytes memory data) internal pure returns (uint256 length) {
        assembly ("memory-safe") {
            // Three bytes at offset `at` of the input, used for the hash and the match test.
            function three(base, at) -> value {
                value := shr(232, mload(add(base, at)))
                // FastLZ hashes them as a little-endian number.
                value := or(or(shr(16, value), and(value, 0xff00)), and(shl(16, value), 0xff0000))
            }
            // Address of their 4-byte table cell.
            function cell(table, value) -> place {
                place := add(table, shl(2, and(shr(19, mul(2654435769, value)), 0x1fff)))
            }
            function put(place, at) {
                mstore(place, or(shl(224, at), shr(32, shl(32, mload(place)))))
            }
            // Literals are encoded in runs of 32 with one prefix byte each.
            function literals(run) -> bytesOut {
                bytesOut := mul(33, shr(5, run))
                run := and(run, 31)
                if run { bytesOut := add(bytesOut, add(run, 1)) }
            }
            // A match of `size` bytes takes two bytes if short and three up to 262 bytes.
            function matched(size) -> bytesOut {
                size := sub(size, 1)
                bytesOut := add(mul(3, div(size, 262)), add(2, gt(mod(size, 262), 5)))
            }

            let base := add(data, 32)
            let size := mload(data)
            let table := mload(0x40)
            // Clears the table: copying from beyond the calldata writes zeros. One word more than 8192 cells, for the wide write to the
            // last cell.
            calldatacopy(table, calldatasize(), 0x8020)

            let limit := 0
            if gt(size, 13) { limit := sub(size, 13) }
            let start := 0
            let at := 2
            for {} lt(at, limit) {} {
                let from := 0
                let found := 0
                for {} lt(at, limit) {} {
                    let value := three(base, at)
                    let place := cell(table, value)
                    from := shr(224, mload(place))
                    put(place, at)
                    if iszero(gt(sub(at, from), 0x1fff)) {
                        if eq(value, three(base, from)) {
                            found := 1
                            break
                        }
                    }
                    at := add(at, 1)
                }
                // The last position before the limit is hashed but never starts a match.
                if or(iszero(found), iszero(lt(add(at, 1), limit))) { break }

                if gt(at, start) { length := add(length, literals(sub(at, start))) }
                let run := 0
                for { let most := sub(add(limit, 9), add(at, 3)) } lt(run, most) { run := add(run, 1) } {
                    let here := byte(0, mload(add(base, add(add(at, 3), run))))
                    if xor(here, byte(0, mload(add(base, add(add(from, 3), run))))) {
                        // The reference implementation includes the byte that ended the match.
                        run := add(run, 1)
                        break
                    }
                }
                length := add(length, matched(run))
                at := add(at, run)
                put(cell(table, three(base, at)), at)
                at := add(at, 1)
                put(cell(table, three(base, at)), at)
                at := add(at, 1)
                start := at
            }
            length := add(length, literals(sub(size, start)))
        }
    }
}

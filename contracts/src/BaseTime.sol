// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";

/// Milliseconds part of the block timestamp at 200 ms block time (predeploy 0x42..30).
contract BaseTime {
    string public constant version = "1.0.0";

    /// 0, 200, 400, 600 or 800; set by the second deposit of every block.
    uint16 public timestampMillisPart;

    error BaseTime_NotDepositor();
    error BaseTime_InvalidTimestampMillisPart();

    function timestampMs() external view returns (uint64) {
        return uint64(block.timestamp * 1000 + timestampMillisPart);
    }

    function setTimestampMillisPart(uint16 part) external {
        if (msg.sender != Addresses.DEPOSITOR) revert BaseTime_NotDepositor();
        if (part > 800 || part % 200 != 0) revert BaseTime_InvalidTimestampMillisPart();
        timestampMillisPart = part;
    }
}

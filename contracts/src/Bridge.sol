// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {L2CrossDomainMessenger} from "./L2CrossDomainMessenger.sol";

/// What the two bridges share: a messenger, a peer on the L1, and who may call.
/// Genesis fills slots 3 and 4, where the standard bridge of every OP chain has them.
abstract contract Bridge {
    uint256[3] private _gap;
    L2CrossDomainMessenger public messenger;
    address public otherBridge;

    modifier onlyOtherBridge() {
        require(
            msg.sender == address(messenger) && messenger.xDomainMessageSender() == otherBridge,
            "Bridge: function can only be called from the other bridge"
        );
        _;
    }

    /// Contracts may not exist under the same address on the other layer, so the short forms refuse them. Delegated accounts (EIP-7702) pass.
    modifier onlyEOA() {
        require(
            msg.sender == tx.origin || (msg.sender.code.length == 23 && bytes3(msg.sender.code) == 0xef0100),
            "Bridge: function can only be called from an EOA"
        );
        _;
    }

    function MESSENGER() external view returns (address) {
        return address(messenger);
    }

    function OTHER_BRIDGE() external view returns (address) {
        return otherBridge;
    }

    function paused() external pure returns (bool) {
        return false;
    }
}

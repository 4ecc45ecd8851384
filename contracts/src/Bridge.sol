// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {L2CrossDomainMessenger} from "./L2CrossDomainMessenger.sol";

/// Common part of the two bridges: messenger, L1 peer and access control.
/// Genesis fills slots 3 and 4, as in the standard bridge of every OP chain.
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

    /// A contract may not exist at the same address on the other layer, so the short forms reject contracts. EIP-7702 accounts pass.
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

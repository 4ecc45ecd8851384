// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {L1Block} from "./L1Block.sol";

/// Legacy contract with the L1 block number (predeploy 0x42..13); returns it for any call.
contract L1BlockNumber {
    function version() external pure returns (string memory) {
        return "1.1.1";
    }

    receive() external payable {
        _answer();
    }

    fallback() external payable {
        _answer();
    }

    function getL1BlockNumber() public view returns (uint256) {
        return L1Block(Addresses.L1_BLOCK).number();
    }

    function _answer() private view {
        uint256 answer = getL1BlockNumber();
        assembly {
            mstore(0, answer)
            return(0, 32)
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Account} from "@openzeppelin/contracts/account/Account.sol";
import {ERC7579Utils} from "@openzeppelin/contracts/account/utils/draft-ERC7579Utils.sol";
import {Execution} from "@openzeppelin/contracts/interfaces/draft-IERC7579.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";

/// Batches by ERC-7821, in the one mode in which they happen as a whole or not at all.
abstract contract Batch is Account, IERC7821 {
    error UnsupportedExecutionMode();

    /// Bytes 2 to 9 of a mode are for extensions, of which we have none; the rest is free.
    bytes10 private constant ALL_OR_NOTHING = 0x01000000000000000000;

    /// The account itself (a transaction of its key) or the entry point (a user operation that its key signed) may call.
    /// A call that reverts undoes all, and its own reason comes out unchanged: whoever knows the called contract can decode it.
    /// Unlike OpenZeppelin's ERC7821, a call to the zero address goes there and not to the account: a burn stays a burn.
    function execute(bytes32 mode, bytes calldata executionData) external payable onlyEntryPointOrSelf {
        if (!supportsExecutionMode(mode)) revert UnsupportedExecutionMode();
        Execution[] calldata calls = ERC7579Utils.decodeBatch(executionData);
        for (uint256 i = 0; i < calls.length; i++) {
            Execution calldata one = calls[i];
            (bool success, bytes memory reason) = one.target.call{value: one.value}(one.callData);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
    }

    function supportsExecutionMode(bytes32 mode) public pure returns (bool) {
        return bytes10(mode) == ALL_OR_NOTHING;
    }
}

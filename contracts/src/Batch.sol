// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Account} from "@openzeppelin/contracts/account/Account.sol";
import {ERC7579Utils} from "@openzeppelin/contracts/account/utils/draft-ERC7579Utils.sol";
import {Execution} from "@openzeppelin/contracts/interfaces/draft-IERC7579.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";

/// ERC-7821 batches in the atomic mode.
abstract contract Batch is Account, IERC7821 {
    error UnsupportedExecutionMode();

    /// Bytes 2 to 9 of a mode select extensions, of which none is supported; the other bytes are ignored.
    bytes10 private constant ALL_OR_NOTHING = 0x01000000000000000000;

    /// Callable by the account itself (a transaction of its key) and by the entry point (a signed user operation).
    /// A reverting call reverts the batch with its own revert data, so that it can be decoded with the ABI of the called contract.
    /// Unlike in OpenZeppelin's ERC7821 a call to the zero address is not redirected to the account: a burn stays a burn.
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

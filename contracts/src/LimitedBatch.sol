// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Account} from "@openzeppelin/contracts/account/Account.sol";
import {ERC7579Utils} from "@openzeppelin/contracts/account/utils/draft-ERC7579Utils.sol";
import {Execution} from "@openzeppelin/contracts/interfaces/draft-IERC7579.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";

/// ERC-7821 batches in the atomic mode, and the same with a gas limit for each call.
abstract contract LimitedBatch is Account, IERC7821 {
    error UnsupportedExecutionMode();
    /// A call reverted without data, as one does that needs more gas than its limit.
    error CallFailed(uint256 index);
    /// There is not one limit for each call.
    error LimitsMismatch();

    /// Bytes 2 to 9 of a mode select extensions; the bytes after them are ignored.
    bytes10 private constant ALL_OR_NOTHING = 0x01000000000000000000;
    /// With `abi.encode(Execution[] calls, uint256[] limits)` as data: the gas that each call may use, 0 for no limit.
    /// The last four bytes are the first ones of keccak256("pocketchain.gasLimits").
    bytes10 private constant LIMITED = 0x0100000000006e270e55;
    /// Gas that the EVM adds for the callee of a call with value.
    uint256 private constant STIPEND = 2300;

    /// Callable by the account itself (a transaction of its key) and by the entry point (a signed user operation).
    /// A reverting call reverts the batch with its own revert data, so that it can be decoded with the ABI of the called contract.
    /// Unlike in OpenZeppelin's ERC7821 a call to the zero address is not redirected to the account: a burn stays a burn.
    function execute(bytes32 mode, bytes calldata executionData) external payable onlyEntryPointOrSelf {
        if (!supportsExecutionMode(mode)) revert UnsupportedExecutionMode();
        Execution[] calldata calls = ERC7579Utils.decodeBatch(executionData);
        bool isLimited = bytes10(mode) == LIMITED;
        // The array of limits, its length first, with what follows it.
        bytes calldata limits = isLimited ? executionData[wordAt(executionData, 1):] : executionData[:0];
        if (isLimited && wordAt(limits, 0) != calls.length) revert LimitsMismatch();
        for (uint256 i = 0; i < calls.length; i++) {
            Execution calldata one = calls[i];
            uint256 limit = isLimited ? wordAt(limits, 1 + i) : 0;
            (bool success, bytes memory reason) = one.target.call{gas: gasFor(limit, one.value), value: one.value}(one.callData);
            if (!success) {
                if (limit != 0 && reason.length == 0) revert CallFailed(i);
                assembly ("memory-safe") {
                    revert(add(reason, 32), mload(reason))
                }
            }
        }
    }

    function supportsExecutionMode(bytes32 mode) public pure returns (bool) {
        return bytes10(mode) == ALL_OR_NOTHING || bytes10(mode) == LIMITED;
    }

    /// Reverts if the word is beyond the end.
    function wordAt(bytes calldata data, uint256 index) private pure returns (uint256) {
        return uint256(bytes32(data[32 * index:32 * index + 32]));
    }

    /// Returns the gas to pass to a call, so that its callee has `limit` with the stipend; without a limit all that the EVM allows.
    function gasFor(uint256 limit, uint256 value) private view returns (uint256) {
        if (limit == 0) return gasleft();
        if (value == 0) return limit;
        return limit > STIPEND ? limit - STIPEND : 0;
    }
}

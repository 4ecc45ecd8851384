// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {L2ToL1MessagePasser} from "./L2ToL1MessagePasser.sol";

/// Collects fees (predeploys 0x42..11, 19, 1a and 1b). Anyone may trigger the withdrawal to the recipient.
/// Storage set by genesis: slot 1 minimum, slot 2 recipient and, at byte 20, network.
contract FeeVault {
    enum WithdrawalNetwork {
        L1,
        L2
    }

    string public constant version = "1.6.0";
    uint256 private constant L1_GAS_LIMIT = 400_000;

    uint256 public totalProcessed;
    uint256 public minWithdrawalAmount;
    address public recipient;
    WithdrawalNetwork public withdrawalNetwork;

    event Withdrawal(uint256 value, address to, address from);
    event Withdrawal(uint256 value, address to, address from, WithdrawalNetwork withdrawalNetwork);

    receive() external payable {}

    function withdraw() external returns (uint256 value) {
        value = address(this).balance;
        require(
            value >= minWithdrawalAmount,
            "FeeVault: withdrawal amount must be greater than minimum withdrawal amount"
        );
        totalProcessed += value;
        emit Withdrawal(value, recipient, msg.sender);
        emit Withdrawal(value, recipient, msg.sender, withdrawalNetwork);
        if (withdrawalNetwork == WithdrawalNetwork.L1) {
            L2ToL1MessagePasser(payable(Addresses.L2_TO_L1_MESSAGE_PASSER)).initiateWithdrawal{value: value}(
                recipient, L1_GAS_LIMIT, ""
            );
            return value;
        }
        (bool sent,) = recipient.call{value: value}("");
        require(sent, "FeeVault: failed to send ETH to L2 fee recipient");
    }

    function MIN_WITHDRAWAL_AMOUNT() external view returns (uint256) {
        return minWithdrawalAmount;
    }

    function RECIPIENT() external view returns (address) {
        return recipient;
    }

    function WITHDRAWAL_NETWORK() external view returns (WithdrawalNetwork) {
        return withdrawalNetwork;
    }
}

/// The vault of the tips, which kept an additional getter.
contract SequencerFeeVault is FeeVault {
    function l1FeeWallet() external view returns (address) {
        return recipient;
    }
}

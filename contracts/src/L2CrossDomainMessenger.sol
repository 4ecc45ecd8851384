// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {L2ToL1MessagePasser} from "./L2ToL1MessagePasser.sol";

/// Messages between the layers (predeploy 0x42..07).
/// Outgoing messages become withdrawals. Incoming ones arrive as a deposit from the aliased L1 messenger; failed ones can be replayed by
/// anyone.
contract L2CrossDomainMessenger {
    uint16 public constant MESSAGE_VERSION = 1;
    uint64 public constant RELAY_CONSTANT_OVERHEAD = 200_000;
    uint64 public constant MIN_GAS_DYNAMIC_OVERHEAD_NUMERATOR = 64;
    uint64 public constant MIN_GAS_DYNAMIC_OVERHEAD_DENOMINATOR = 63;
    uint64 public constant MIN_GAS_CALLDATA_OVERHEAD = 16;
    uint64 public constant RELAY_CALL_OVERHEAD = 40_000;
    uint64 public constant RELAY_RESERVED_GAS = 40_000;
    uint64 public constant RELAY_GAS_CHECK_BUFFER = 5_000;
    uint64 public constant TX_BASE_GAS = 21_000;
    uint64 public constant FLOOR_CALLDATA_OVERHEAD = 40;
    uint64 public constant ENCODING_OVERHEAD = 260;
    string public constant version = "2.2.0";

    /// No message is being relayed.
    address private constant NO_SENDER = 0x000000000000000000000000000000000000dEaD;
    /// Added to the address of an L1 contract that sends a deposit.
    uint160 private constant ALIAS_OFFSET = uint160(0x1111000000000000000000000000000000001111);
    /// Origin of gas estimations, for which a failed relay must revert.
    address private constant ESTIMATION_ORIGIN = address(1);

    // Slots 203 to 207, as on every OP chain; genesis fills 204 and 207.
    uint256[203] private _gap;
    mapping(bytes32 messageHash => bool) public successfulMessages;
    address private _sender;
    uint240 private _nonce;
    mapping(bytes32 messageHash => bool) public failedMessages;
    address public otherMessenger;

    event SentMessage(address indexed target, address sender, bytes message, uint256 messageNonce, uint256 gasLimit);
    event SentMessageExtension1(address indexed sender, uint256 value);
    event RelayedMessage(bytes32 indexed msgHash);
    event FailedRelayedMessage(bytes32 indexed msgHash);

    function sendMessage(address target, bytes calldata message, uint32 minGasLimit) external payable {
        uint256 nonce = messageNonce();
        L2ToL1MessagePasser(payable(Addresses.L2_TO_L1_MESSAGE_PASSER)).initiateWithdrawal{value: msg.value}(
            otherMessenger,
            baseGas(message, minGasLimit),
            abi.encodeCall(this.relayMessage, (nonce, msg.sender, target, msg.value, minGasLimit, message))
        );
        emit SentMessage(target, msg.sender, message, nonce, minGasLimit);
        emit SentMessageExtension1(msg.sender, msg.value);
        unchecked {
            ++_nonce;
        }
    }

    function relayMessage(
        uint256 nonce,
        address sender,
        address target,
        uint256 value,
        uint256 minGasLimit,
        bytes calldata message
    ) external payable {
        require(nonce >> 240 == MESSAGE_VERSION, "CrossDomainMessenger: only version 1 messages are supported");
        bytes32 messageHash =
            keccak256(abi.encodeCall(this.relayMessage, (nonce, sender, target, value, minGasLimit, message)));
        _checkOrigin(value, messageHash);
        require(
            target != address(this) && target != Addresses.L2_TO_L1_MESSAGE_PASSER,
            "CrossDomainMessenger: cannot send message to blocked system address"
        );
        require(!successfulMessages[messageHash], "CrossDomainMessenger: message has already been relayed");

        // Rejects nested relays. Requires enough gas for the message's minimum and for recording the result.
        if (!_hasMinGas(minGasLimit) || _sender != NO_SENDER) {
            _fail(messageHash);
            return;
        }
        _sender = sender;
        (bool success,) = target.call{gas: gasleft() - RELAY_RESERVED_GAS, value: value}(message);
        _sender = NO_SENDER;
        if (!success) {
            _fail(messageHash);
            return;
        }
        successfulMessages[messageHash] = true;
        emit RelayedMessage(messageHash);
    }

    /// L1 sender of the message being relayed.
    function xDomainMessageSender() external view returns (address) {
        require(_sender != NO_SENDER, "CrossDomainMessenger: xDomainMessageSender is not set");
        return _sender;
    }

    function OTHER_MESSENGER() external view returns (address) {
        return otherMessenger;
    }

    function l1CrossDomainMessenger() external view returns (address) {
        return otherMessenger;
    }

    function paused() external pure returns (bool) {
        return false;
    }

    function messageNonce() public view returns (uint256) {
        return uint256(MESSAGE_VERSION) << 240 | _nonce;
    }

    /// Gas limit on the other layer that guarantees the message `minGasLimit`.
    function baseGas(bytes memory message, uint32 minGasLimit) public pure returns (uint64) {
        uint64 execution = RELAY_CONSTANT_OVERHEAD + RELAY_CALL_OVERHEAD + RELAY_RESERVED_GAS + RELAY_GAS_CHECK_BUFFER
            + minGasLimit * MIN_GAS_DYNAMIC_OVERHEAD_NUMERATOR / MIN_GAS_DYNAMIC_OVERHEAD_DENOMINATOR;
        uint64 size = uint64(message.length) + ENCODING_OVERHEAD;
        uint64 standard = execution + size * MIN_GAS_CALLDATA_OVERHEAD;
        uint64 floor = size * FLOOR_CALLDATA_OVERHEAD;
        return TX_BASE_GAS + (standard > floor ? standard : floor);
    }

    /// A first delivery comes from the L1 messenger with its value. A replay comes from anyone, without value, after a failure.
    function _checkOrigin(uint256 value, bytes32 messageHash) private view {
        bool firstDelivery;
        unchecked {
            firstDelivery = uint160(msg.sender) - ALIAS_OFFSET == uint160(otherMessenger);
        }
        if (firstDelivery) {
            assert(msg.value == value);
            assert(!failedMessages[messageHash]);
            return;
        }
        require(msg.value == 0, "CrossDomainMessenger: value must be zero unless message is from a system address");
        require(failedMessages[messageHash], "CrossDomainMessenger: message cannot be replayed");
    }

    function _fail(bytes32 messageHash) private {
        failedMessages[messageHash] = true;
        emit FailedRelayedMessage(messageHash);
        require(tx.origin != ESTIMATION_ORIGIN, "CrossDomainMessenger: failed to relay message");
    }

    /// 63/64 of the gas go to the call; 40,000 are its dynamic cost.
    function _hasMinGas(uint256 minGas) private view returns (bool) {
        unchecked {
            return gasleft() * 63 >= minGas * 64 + (40_000 + RELAY_RESERVED_GAS + RELAY_GAS_CHECK_BUFFER) * 63;
        }
    }
}

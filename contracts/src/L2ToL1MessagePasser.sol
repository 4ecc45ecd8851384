// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Withdrawals (predeploy 0x42..16). Its storage root is the header's withdrawalsRoot; slot 0 holds the sent messages.
contract L2ToL1MessagePasser {
    uint16 public constant MESSAGE_VERSION = 1;
    string public constant version = "1.2.0";
    uint256 private constant RECEIVE_GAS_LIMIT = 100_000;

    mapping(bytes32 withdrawalHash => bool) public sentMessages;
    uint240 private _nonce;

    event MessagePassed(
        uint256 indexed nonce,
        address indexed sender,
        address indexed target,
        uint256 value,
        uint256 gasLimit,
        bytes data,
        bytes32 withdrawalHash
    );
    event WithdrawerBalanceBurnt(uint256 indexed amount);

    receive() external payable {
        initiateWithdrawal(msg.sender, RECEIVE_GAS_LIMIT, "");
    }

    function initiateWithdrawal(address target, uint256 gasLimit, bytes memory data) public payable {
        uint256 nonce = messageNonce();
        bytes32 withdrawalHash = keccak256(abi.encode(nonce, msg.sender, target, msg.value, gasLimit, data));
        sentMessages[withdrawalHash] = true;
        emit MessagePassed(nonce, msg.sender, target, msg.value, gasLimit, data, withdrawalHash);
        unchecked {
            ++_nonce;
        }
    }

    /// The next nonce, with the message version in the two high bytes.
    function messageNonce() public view returns (uint256) {
        return uint256(MESSAGE_VERSION) << 240 | _nonce;
    }

    /// Removes withdrawn ether from the L2 supply.
    function burn() external {
        uint256 amount = address(this).balance;
        assembly ("memory-safe") {
            // ADDRESS SELFDESTRUCT as creation code: ether sent to the contract itself during its creation is burnt (EIP-6780).
            mstore(0, shl(240, 0x30ff))
            if iszero(create(amount, 0, 2)) { revert(0, 0) }
        }
        emit WithdrawerBalanceBurnt(amount);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// A user operation of EntryPoint 0.6.
struct UserOperation {
    address sender;
    uint256 nonce;
    bytes initCode;
    bytes callData;
    uint256 callGasLimit;
    uint256 verificationGasLimit;
    uint256 preVerificationGas;
    uint256 maxFeePerGas;
    uint256 maxPriorityFeePerGas;
    bytes paymasterAndData;
    bytes signature;
}

library UserOperation06 {
    /// Hash of everything except the signature; EntryPoint 0.6 hashes it again with its address and the chain id.
    function hash(UserOperation calldata self) internal pure returns (bytes32) {
        return keccak256(
            bytes.concat(
                abi.encode(self.sender, self.nonce, keccak256(self.initCode), keccak256(self.callData)),
                abi.encode(
                    self.callGasLimit,
                    self.verificationGasLimit,
                    self.preVerificationGas,
                    self.maxFeePerGas,
                    self.maxPriorityFeePerGas,
                    keccak256(self.paymasterAndData)
                )
            )
        );
    }
}

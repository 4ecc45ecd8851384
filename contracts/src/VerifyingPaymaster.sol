// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {PaymasterSigner} from "@openzeppelin/contracts/account/paymaster/extensions/PaymasterSigner.sol";
import {Paymaster} from "@openzeppelin/contracts/account/paymaster/Paymaster.sol";
import {ERC4337Utils} from "@openzeppelin/contracts/account/utils/ERC4337Utils.sol";
import {IEntryPoint} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {AbstractSigner} from "@openzeppelin/contracts/utils/cryptography/signers/AbstractSigner.sol";
import {UserOperation} from "./UserOperation06.sol";

/// Pays for operations approved by its signer; its owner withdraws the deposit. Anyone can deposit through `depositTo` of the entry point.
///
/// Owner and signer are part of the code: ERC-7562 forbids a paymaster without stake to read its own storage, and the address depends on
/// both, so it cannot be taken by another contract. Each signer needs its own paymaster.
abstract contract Sponsor is AbstractSigner {
    error OnlyOwner();

    address public immutable owner;
    address public immutable signer;
    IEntryPoint private immutable _entryPoint;

    modifier onlyOwner() {
        if (msg.sender != owner) revert OnlyOwner();
        _;
    }

    constructor(IEntryPoint entryPoint_, address owner_, address signer_) {
        _entryPoint = entryPoint_;
        owner = owner_;
        signer = signer_;
    }

    /// in wei, from the deposit
    function withdraw(address payable to, uint256 value) external onlyOwner {
        entryPoint().withdrawTo(to, value);
    }

    function addStake(uint32 unstakeDelaySec) external payable onlyOwner {
        entryPoint().addStake{value: msg.value}(unstakeDelaySec);
    }

    function unlockStake() external onlyOwner {
        entryPoint().unlockStake();
    }

    function withdrawStake(address payable to) external onlyOwner {
        entryPoint().withdrawStake(to);
    }

    /// The functions of deposit and stake are equal in all versions.
    function entryPoint() public view virtual returns (IEntryPoint) {
        return _entryPoint;
    }

    function _rawSignatureValidation(bytes32 hash, bytes calldata signature) internal view virtual override returns (bool) {
        (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(hash, signature);
        return failure == ECDSA.RecoverError.NoError && recovered == signer;
    }
}

/// OpenZeppelin's PaymasterSigner. Paymaster data: validAfter (6 bytes) ‖ validUntil (6) ‖ signature (65) of the typed data
/// UserOperationRequest; its domain contains this paymaster, its chain and the entry point version.
abstract contract PackedSponsor is Sponsor, PaymasterSigner {
    function entryPoint() public view override(Sponsor, Paymaster) returns (IEntryPoint) {
        return Sponsor.entryPoint();
    }

    function _rawSignatureValidation(bytes32 hash, bytes calldata signature)
        internal
        view
        override(AbstractSigner, Sponsor)
        returns (bool)
    {
        return Sponsor._rawSignatureValidation(hash, signature);
    }
}

contract VerifyingPaymaster07 is PackedSponsor {
    constructor(address owner_, address signer_)
        Sponsor(ERC4337Utils.ENTRYPOINT_V07, owner_, signer_)
        EIP712("PocketPaymaster", "0.7")
    {}
}

contract VerifyingPaymaster08 is PackedSponsor {
    constructor(address owner_, address signer_)
        Sponsor(ERC4337Utils.ENTRYPOINT_V08, owner_, signer_)
        EIP712("PocketPaymaster", "0.8")
    {}
}

/// The same for EntryPoint 0.6, whose operations are not packed and have no paymaster gas limits.
contract VerifyingPaymaster06 is Sponsor, EIP712 {
    error PaymasterUnauthorized(address sender);

    bytes32 private constant REQUEST_TYPEHASH = keccak256(
        "UserOperationRequest(address sender,uint256 nonce,bytes initCode,bytes callData,uint256 callGasLimit,uint256 verificationGasLimit,uint256 preVerificationGas,uint256 maxFeePerGas,uint256 maxPriorityFeePerGas,uint48 validAfter,uint48 validUntil)"
    );

    constructor(address owner_, address signer_)
        Sponsor(IEntryPoint(0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789), owner_, signer_)
        EIP712("PocketPaymaster", "0.6")
    {}

    function validatePaymasterUserOp(UserOperation calldata userOp, bytes32, uint256)
        external
        view
        returns (bytes memory context, uint256 validationData)
    {
        if (msg.sender != address(entryPoint())) revert PaymasterUnauthorized(msg.sender);
        bytes calldata data = userOp.paymasterAndData;
        if (data.length < 32) return ("", ERC4337Utils.SIG_VALIDATION_FAILED);
        uint48 validAfter = uint48(bytes6(data[20:26]));
        uint48 validUntil = uint48(bytes6(data[26:32]));
        bool signed = _rawSignatureValidation(_requestHash(userOp, validAfter, validUntil), data[32:]);
        return ("", ERC4337Utils.packValidationData(signed, validAfter, validUntil));
    }

    function _requestHash(UserOperation calldata userOp, uint48 validAfter, uint48 validUntil) private view returns (bytes32) {
        return _hashTypedDataV4(
            keccak256(
                bytes.concat(
                    abi.encode(
                        REQUEST_TYPEHASH,
                        userOp.sender,
                        userOp.nonce,
                        keccak256(userOp.initCode),
                        keccak256(userOp.callData)
                    ),
                    abi.encode(
                        userOp.callGasLimit,
                        userOp.verificationGasLimit,
                        userOp.preVerificationGas,
                        userOp.maxFeePerGas,
                        userOp.maxPriorityFeePerGas,
                        validAfter,
                        validUntil
                    )
                )
            )
        );
    }
}

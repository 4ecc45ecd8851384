// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC1822Proxiable} from "@openzeppelin/contracts/interfaces/draft-IERC1822.sol";
import {ERC1967Utils} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Utils.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {WebAuthn} from "@openzeppelin/contracts/utils/cryptography/WebAuthn.sol";
import {Owners} from "./Owners.sol";
import {UserOperation, UserOperation06} from "./UserOperation06.sol";

/// An account with the interface of Coinbase Smart Wallet (EntryPoint 0.6), written from that interface. Genesis places it at the
/// original's address on Base with its first owner index used, so that only the factory's proxies can be initialised.
contract SmartWallet is Owners, IERC1271, IERC1822Proxiable, ERC721Holder, ERC1155Holder {
    using UserOperation06 for UserOperation;

    error Initialized();
    error InvalidNonceKey(uint256 key);
    error SelectorNotAllowed(bytes4 selector);
    error UnauthorizedCallContext();
    error UpgradeFailed();

    struct Call {
        address target;
        uint256 value;
        bytes data;
    }

    struct SignatureWrapper {
        uint256 ownerIndex;
        bytes signatureData;
    }

    /// Signature of a passkey. OpenZeppelin's struct has the same fields in another order.
    struct WebAuthnSignature {
        bytes authenticatorData;
        string clientDataJSON;
        uint256 challengeIndex;
        uint256 typeIndex;
        bytes32 r;
        bytes32 s;
    }

    /// Operations with this nonce key are signed without the chain id: one signature changes the owners on every chain.
    uint256 public constant REPLAYABLE_NONCE_KEY = 8453;

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant MESSAGE_TYPEHASH = keccak256("CoinbaseSmartWalletMessage(bytes32 hash)");
    string private constant NAME = "Coinbase Smart Wallet";
    string private constant VERSION = "1";

    modifier onlyEntryPoint() {
        if (msg.sender != entryPoint()) revert Unauthorized();
        _;
    }

    modifier onlyEntryPointOrOwner() {
        if (msg.sender != entryPoint() && msg.sender != address(this) && !isOwnerAddress(msg.sender)) revert Unauthorized();
        _;
    }

    receive() external payable {}

    /// Called by the factory in the transaction that creates the account.
    function initialize(bytes[] calldata owners) external payable {
        if (nextOwnerIndex() != 0) revert Initialized();
        for (uint256 i = 0; i < owners.length; i++) _addOwner(owners[i]);
    }

    function validateUserOp(UserOperation calldata userOp, bytes32 userOpHash, uint256 missingAccountFunds)
        external
        onlyEntryPoint
        returns (uint256 validationData)
    {
        uint256 key = userOp.nonce >> 64;
        bool replayable = bytes4(userOp.callData) == this.executeWithoutChainIdValidation.selector;
        // A signature must be valid for only one of the two kinds.
        if (replayable != (key == REPLAYABLE_NONCE_KEY)) revert InvalidNonceKey(key);
        bool signed = _isSigned(replayable ? getUserOpHashWithoutChainId(userOp) : userOpHash, userOp.signature);
        if (missingAccountFunds > 0) {
            // The entry point checks the received amount itself.
            (bool paid,) = msg.sender.call{value: missingAccountFunds}("");
            (paid);
        }
        return signed ? 0 : 1;
    }

    function execute(address target, uint256 value, bytes calldata data) external payable onlyEntryPointOrOwner {
        _call(target, value, data);
    }

    function executeBatch(Call[] calldata calls) external payable onlyEntryPointOrOwner {
        for (uint256 i = 0; i < calls.length; i++) _call(calls[i].target, calls[i].value, calls[i].data);
    }

    /// Calls of the account to itself that are valid on every chain.
    function executeWithoutChainIdValidation(bytes[] calldata calls) external payable onlyEntryPoint {
        for (uint256 i = 0; i < calls.length; i++) {
            bytes4 selector = bytes4(calls[i]);
            if (!canSkipChainIdValidation(selector)) revert SelectorNotAllowed(selector);
            _call(address(this), 0, calls[i]);
        }
    }

    function upgradeToAndCall(address newImplementation, bytes calldata data) external payable onlyOwner {
        if (ERC1967Utils.getImplementation() == address(0)) revert UnauthorizedCallContext();
        if (newImplementation.code.length == 0) revert UpgradeFailed();
        try IERC1822Proxiable(newImplementation).proxiableUUID() returns (bytes32 slot) {
            if (slot != ERC1967Utils.IMPLEMENTATION_SLOT) revert UpgradeFailed();
        } catch {
            revert UpgradeFailed();
        }
        ERC1967Utils.upgradeToAndCall(newImplementation, data);
    }

    /// ERC-1271. The signed data includes account and chain, so the signature is not valid for other accounts of the owner.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4 result) {
        return _isSigned(replaySafeHash(hash), signature) ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }

    /// Valid on the implementation only, not through a proxy.
    function proxiableUUID() external view returns (bytes32) {
        if (ERC1967Utils.getImplementation() != address(0)) revert UnauthorizedCallContext();
        return ERC1967Utils.IMPLEMENTATION_SLOT;
    }

    function eip712Domain()
        external
        view
        returns (bytes1, string memory, string memory, uint256, address, bytes32, uint256[] memory)
    {
        return (hex"0f", NAME, VERSION, block.chainid, address(this), bytes32(0), new uint256[](0));
    }

    function implementation() external view returns (address) {
        return ERC1967Utils.getImplementation();
    }

    function replaySafeHash(bytes32 hash) public view returns (bytes32) {
        return MessageHashUtils.toTypedDataHash(domainSeparator(), keccak256(abi.encode(MESSAGE_TYPEHASH, hash)));
    }

    function domainSeparator() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, keccak256(bytes(NAME)), keccak256(bytes(VERSION)), block.chainid, address(this))
        );
    }

    function getUserOpHashWithoutChainId(UserOperation calldata userOp) public pure returns (bytes32) {
        return keccak256(abi.encode(userOp.hash(), entryPoint()));
    }

    function canSkipChainIdValidation(bytes4 functionSelector) public pure returns (bool) {
        return functionSelector == this.addOwnerAddress.selector || functionSelector == this.addOwnerPublicKey.selector
            || functionSelector == this.removeOwnerAtIndex.selector || functionSelector == this.removeLastOwner.selector
            || functionSelector == this.upgradeToAndCall.selector;
    }

    function entryPoint() public pure returns (address) {
        return 0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789;
    }

    function _isSigned(bytes32 hash, bytes calldata signature) private view returns (bool) {
        SignatureWrapper memory wrapper = abi.decode(signature, (SignatureWrapper));
        bytes memory owner = ownerAtIndex(wrapper.ownerIndex);
        if (owner.length == 32) {
            return _isSignedByAddress(abi.decode(owner, (address)), hash, wrapper.signatureData);
        }
        return owner.length == 64 && _isSignedByPasskey(owner, hash, wrapper.signatureData);
    }

    /// Recovers the signer first: checking whether the owner has code is forbidden during validation (ERC-7562 OP-041).
    function _isSignedByAddress(address owner, bytes32 hash, bytes memory signatureData) private view returns (bool) {
        (address signer, ECDSA.RecoverError failure, ) = ECDSA.tryRecover(hash, signatureData);
        if (failure == ECDSA.RecoverError.NoError && signer == owner) return true;
        return SignatureChecker.isValidERC1271SignatureNow(owner, hash, signatureData);
    }

    function _isSignedByPasskey(bytes memory owner, bytes32 hash, bytes memory signatureData) private view returns (bool) {
        (bytes32 x, bytes32 y) = abi.decode(owner, (bytes32, bytes32));
        WebAuthnSignature memory signed = abi.decode(signatureData, (WebAuthnSignature));
        WebAuthn.WebAuthnAuth memory auth = WebAuthn.WebAuthnAuth({
            r: signed.r,
            s: signed.s,
            challengeIndex: signed.challengeIndex,
            typeIndex: signed.typeIndex,
            authenticatorData: signed.authenticatorData,
            clientDataJSON: signed.clientDataJSON
        });
        // User presence suffices; user verification (UV) was not requested.
        return WebAuthn.verify(abi.encode(hash), auth, x, y, false);
    }

    function _call(address target, uint256 value, bytes calldata data) private {
        (bool success, bytes memory reason) = target.call{value: value}(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(reason, 32), mload(reason))
            }
        }
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC4337Utils} from "@openzeppelin/contracts/account/utils/ERC4337Utils.sol";
import {IAccount, IEntryPoint, PackedUserOperation} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {ERC7739} from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";
import {Batch} from "./Batch.sol";
import {Creation} from "./Creation.sol";

/// An account at its own address with one owner key, for EntryPoint 0.7. The factory below clones it. The owner is part of the clone's
/// code, so there is no storage and no initialisation that could be front-run.
contract OwnedAccount is Batch, EIP712("OwnedAccount", "1"), ERC7739, ERC721Holder, ERC1155Holder {
    /// The 20 bytes after the clone's code. In the implementation contract they are code, an owner whose key is unknown.
    function owner() public view returns (address) {
        return address(bytes20(Clones.fetchCloneArgs(address(this))));
    }

    function entryPoint() public pure override returns (IEntryPoint) {
        return ERC4337Utils.ENTRYPOINT_V07;
    }

    function supportsInterface(bytes4 id) public view override returns (bool) {
        return id == type(IAccount).interfaceId || id == type(IERC1271).interfaceId || id == type(IERC7821).interfaceId
            || id == type(IERC721Receiver).interfaceId || super.supportsInterface(id);
    }

    /// The owner may call directly, without a bundler.
    function _checkEntryPointOrSelf() internal view override {
        if (msg.sender != owner()) super._checkEntryPointOrSelf();
    }

    /// EntryPoint 0.7 hashes an operation to plain bytes, which wallets sign only as a message (personal_sign).
    function _signableUserOpHash(PackedUserOperation calldata, bytes32 userOpHash) internal pure override returns (bytes32) {
        return MessageHashUtils.toEthSignedMessageHash(userOpHash);
    }

    function _rawSignatureValidation(bytes32 hash, bytes calldata signature) internal view override returns (bool) {
        (address recovered, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(hash, signature);
        return failure == ECDSA.RecoverError.NoError && recovered == owner();
    }
}

/// Deploys accounts at addresses that depend on owner and salt only, equal on every chain with this factory.
contract OwnedAccountFactory {
    error OwnerRequired();

    OwnedAccount public immutable implementation = new OwnedAccount();

    /// Returns the existing account if it is deployed already, as ERC-4337 requires.
    function createAccount(address owner, uint256 salt) external returns (address account) {
        account = getAddress(owner, salt);
        if (account.code.length > 0) return account;
        if (owner == address(0)) revert OwnerRequired();
        Creation.create2(0, bytes32(salt), _initCode(owner));
    }

    function getAddress(address owner, uint256 salt) public view returns (address) {
        return Create2.computeAddress(bytes32(salt), keccak256(_initCode(owner)));
    }

    /// Creation code of OpenZeppelin's Clones: an ERC-1167 proxy with the owner appended.
    function _initCode(address owner) private view returns (bytes memory) {
        return abi.encodePacked(
            hex"6100413d81600a3d39f3363d3d373d3d3d363d73", implementation, hex"5af43d82803e903d91602b57fd5bf3", owner
        );
    }
}

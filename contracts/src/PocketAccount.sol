// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC4337Utils} from "@openzeppelin/contracts/account/utils/ERC4337Utils.sol";
import {IAccount, IEntryPoint} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignerEIP7702} from "@openzeppelin/contracts/utils/cryptography/signers/SignerEIP7702.sol";
import {ERC7739} from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";
import {LimitedBatch} from "./LimitedBatch.sol";

/// Code for accounts with a key that delegate to it (EIP-7702): batches and user operations, signed by the account's own key.
/// It uses no storage and needs no initialisation, which could be front-run, and leaves clean slots to later delegates.
contract PocketAccount is LimitedBatch, EIP712("PocketAccount", "1"), SignerEIP7702, ERC7739, ERC721Holder, ERC1155Holder {
    /// An address without code accepts ether with any data, so the upgraded account does too.
    fallback() external payable {}

    function entryPoint() public pure override returns (IEntryPoint) {
        return ERC4337Utils.ENTRYPOINT_V08;
    }

    /// ERC-1271: accepts the key's plain signature besides ERC-7739. The key signs for this address only, so there is no second account at
    /// which a signature could be replayed. Contracts that verify permits and orders thus work the same before and after the upgrade.
    function isValidSignature(bytes32 hash, bytes calldata signature) public view override returns (bytes4) {
        if (_rawSignatureValidation(hash, signature)) return IERC1271.isValidSignature.selector;
        return super.isValidSignature(hash, signature);
    }

    function supportsInterface(bytes4 id) public view override returns (bool) {
        return id == type(IAccount).interfaceId || id == type(IERC1271).interfaceId || id == type(IERC7821).interfaceId
            || id == type(IERC721Receiver).interfaceId || super.supportsInterface(id);
    }
}

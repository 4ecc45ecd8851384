// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Account} from "@openzeppelin/contracts/account/Account.sol";
import {ERC4337Utils} from "@openzeppelin/contracts/account/utils/ERC4337Utils.sol";
import {ERC7579Utils} from "@openzeppelin/contracts/account/utils/draft-ERC7579Utils.sol";
import {IAccount, IEntryPoint} from "@openzeppelin/contracts/interfaces/IERC4337.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {Execution} from "@openzeppelin/contracts/interfaces/draft-IERC7579.sol";
import {IERC7821} from "@openzeppelin/contracts/interfaces/draft-IERC7821.sol";
import {IERC721Receiver} from "@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol";
import {ERC721Holder} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Holder.sol";
import {ERC1155Holder} from "@openzeppelin/contracts/token/ERC1155/utils/ERC1155Holder.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignerEIP7702} from "@openzeppelin/contracts/utils/cryptography/signers/SignerEIP7702.sol";
import {ERC7739} from "@openzeppelin/contracts/utils/cryptography/signers/draft-ERC7739.sol";

/// Code that an account with a key runs by delegation (EIP-7702): batches and user operations, with the account's own key as the only signer.
/// It keeps nothing in storage and needs no initialisation, so nobody can come first, and another delegate finds clean slots.
contract PocketAccount is Account, EIP712("PocketAccount", "1"), SignerEIP7702, ERC7739, IERC7821, ERC721Holder, ERC1155Holder {
    error UnsupportedExecutionMode();

    /// ERC-7821: a batch that happens as a whole or not at all. Bytes 2 to 9 are for extensions, of which we have none; the rest is free.
    bytes10 private constant ALL_OR_NOTHING = 0x01000000000000000000;

    /// An address without code takes ether with any data in the call; one that was upgraded still does.
    fallback() external payable {}

    /// The account itself (a transaction of its key) or the entry point (a user operation that its key signed) may call.
    /// A call that reverts undoes all, and its own reason comes out unchanged: whoever knows the called contract can decode it.
    /// Unlike OpenZeppelin's ERC7821, a call to the zero address goes there and not to the account: a burn stays a burn.
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

    function entryPoint() public pure override returns (IEntryPoint) {
        return ERC4337Utils.ENTRYPOINT_V08;
    }

    /// ERC-1271: the key's plain signature first. A key signs for this one address, so nothing can be replayed at a second account, which is
    /// what ERC-7739's nesting is against; and contracts that verify permits and orders get plain signatures, before the upgrade and after.
    function isValidSignature(bytes32 hash, bytes calldata signature) public view override returns (bytes4) {
        if (_rawSignatureValidation(hash, signature)) return IERC1271.isValidSignature.selector;
        return super.isValidSignature(hash, signature);
    }

    function supportsInterface(bytes4 id) public view override returns (bool) {
        return id == type(IAccount).interfaceId || id == type(IERC1271).interfaceId || id == type(IERC7821).interfaceId
            || id == type(IERC721Receiver).interfaceId || super.supportsInterface(id);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {Creation} from "./Creation.sol";
import {SmartWallet} from "./SmartWallet.sol";

/// Creates accounts with the interface of Coinbase Smart Wallet at the addresses of Base's factory: address, salt and proxy creation code
/// are equal. Genesis runs no constructor, and ERC-7562 forbids factories to read their own storage, so the implementation is a constant
/// per version.
abstract contract SmartWalletFactory {
    error OwnerRequired();

    /// Returns the existing account if it is deployed already.
    function createAccount(bytes[] calldata owners, uint256 nonce) external payable returns (SmartWallet account) {
        if (owners.length == 0) revert OwnerRequired();
        account = SmartWallet(payable(getAddress(owners, nonce)));
        if (address(account).code.length > 0) {
            if (msg.value > 0) Address.sendValue(payable(account), msg.value);
            return account;
        }
        Creation.create2(msg.value, _salt(owners, nonce), _initCode());
        account.initialize(owners);
    }

    function getAddress(bytes[] calldata owners, uint256 nonce) public view returns (address) {
        return Create2.computeAddress(_salt(owners, nonce), initCodeHash());
    }

    function initCodeHash() public pure returns (bytes32) {
        return keccak256(_initCode());
    }

    function implementation() public pure virtual returns (address);

    function _salt(bytes[] calldata owners, uint256 nonce) private pure returns (bytes32) {
        return keccak256(abi.encode(owners, nonce));
    }

    /// The minimal ERC-1967 proxy of Solady's LibClone: 61 bytes, with the implementation in its slot.
    function _initCode() private pure returns (bytes memory) {
        return abi.encodePacked(
            hex"603d3d8160223d3973",
            implementation(),
            hex"60095155f3363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3"
        );
    }
}

contract SmartWalletFactory1 is SmartWalletFactory {
    function implementation() public pure override returns (address) {
        return 0x000100abaad02f1cfC8Bbe32bD5a564817339E72;
    }
}

contract SmartWalletFactory11 is SmartWalletFactory {
    function implementation() public pure override returns (address) {
        return 0x00000110dCdEdC9581cb5eCB8467282f2926534d;
    }
}

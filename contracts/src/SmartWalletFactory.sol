// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {Creation} from "./Creation.sol";
import {SmartWallet} from "./SmartWallet.sol";

/// Makes accounts with the interface of Coinbase Smart Wallet, at the addresses that Base's own factory gives to the same owners: address, salt and
/// the proxy's creation code are the same. Genesis runs no constructor and ERC-7562 lets a factory read no storage of its own, so the account
/// contract is a constant of each version.
abstract contract SmartWalletFactory {
    error OwnerRequired();

    /// Asked again, it names the account that stands.
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

    /// The minimal ERC-1967 proxy that Solady's LibClone describes: 61 bytes, the account contract in its slot from the start.
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

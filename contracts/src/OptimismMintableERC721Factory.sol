// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {OptimismMintableERC721} from "./OptimismMintableERC721.sol";

/// Creates L2 representations of L1 collections (predeploy 0x42..17).
contract OptimismMintableERC721Factory {
    string public constant version = "1.4.2";
    address public constant BRIDGE = Addresses.L2_ERC721_BRIDGE;
    address public constant bridge = Addresses.L2_ERC721_BRIDGE;
    uint256 public constant REMOTE_CHAIN_ID = Addresses.L1_CHAIN_ID;
    uint256 public constant remoteChainID = Addresses.L1_CHAIN_ID;

    mapping(address localToken => bool) public isOptimismMintableERC721;

    event OptimismMintableERC721Created(address indexed localToken, address indexed remoteToken, address deployer);

    function createOptimismMintableERC721(address remoteToken, string memory name, string memory symbol)
        external
        returns (address localToken)
    {
        require(remoteToken != address(0), "OptimismMintableERC721Factory: L1 token address cannot be address(0)");
        bytes32 salt = keccak256(abi.encode(remoteToken, name, symbol));
        localToken = address(new OptimismMintableERC721{salt: salt}(remoteToken, name, symbol));
        isOptimismMintableERC721[localToken] = true;
        emit OptimismMintableERC721Created(localToken, remoteToken, msg.sender);
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {OptimismMintableERC20} from "./OptimismMintableERC20.sol";

/// Creates L2 representations of L1 tokens (predeploy 0x42..12).
contract OptimismMintableERC20Factory {
    string public constant version = "1.10.2";
    address public constant bridge = Addresses.L2_STANDARD_BRIDGE;
    address public constant BRIDGE = Addresses.L2_STANDARD_BRIDGE;

    /// The L1 token of a token created here; zero for other addresses.
    mapping(address localToken => address remoteToken) public deployments;

    event StandardL2TokenCreated(address indexed remoteToken, address indexed localToken);
    event OptimismMintableERC20Created(address indexed localToken, address indexed remoteToken, address deployer);

    function createStandardL2Token(address remoteToken, string memory name, string memory symbol)
        external
        returns (address)
    {
        return createOptimismMintableERC20WithDecimals(remoteToken, name, symbol, 18);
    }

    function createOptimismMintableERC20(address remoteToken, string memory name, string memory symbol)
        external
        returns (address)
    {
        return createOptimismMintableERC20WithDecimals(remoteToken, name, symbol, 18);
    }

    function createOptimismMintableERC20WithDecimals(
        address remoteToken,
        string memory name,
        string memory symbol,
        uint8 decimals
    ) public returns (address localToken) {
        require(remoteToken != address(0), "OptimismMintableERC20Factory: must provide remote token address");
        bytes32 salt = keccak256(abi.encode(remoteToken, name, symbol, decimals));
        localToken = address(new OptimismMintableERC20{salt: salt}(remoteToken, name, symbol, decimals));
        deployments[localToken] = remoteToken;
        emit StandardL2TokenCreated(remoteToken, localToken);
        emit OptimismMintableERC20Created(localToken, remoteToken, msg.sender);
    }
}

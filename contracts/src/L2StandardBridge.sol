// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {Addresses} from "./Addresses.sol";
import {Bridge} from "./Bridge.sol";
import {ILegacyMintableERC20, IOptimismMintableERC20} from "./OptimismMintableERC20.sol";

/// Bridge for ether and ERC-20 tokens (predeploy 0x42..10).
/// L1 tokens are minted and burnt; L2 tokens are locked and released.
contract L2StandardBridge is Bridge {
    using SafeERC20 for IERC20;

    string public constant version = "1.13.0";
    uint32 private constant RECEIVE_GAS_LIMIT = 200_000;

    /// Amount of an L2 token locked for its L1 representation.
    mapping(address localToken => mapping(address remoteToken => uint256)) public deposits;

    event WithdrawalInitiated(
        address indexed l1Token,
        address indexed l2Token,
        address indexed from,
        address to,
        uint256 amount,
        bytes extraData
    );
    event DepositFinalized(
        address indexed l1Token,
        address indexed l2Token,
        address indexed from,
        address to,
        uint256 amount,
        bytes extraData
    );
    event ETHBridgeInitiated(address indexed from, address indexed to, uint256 amount, bytes extraData);
    event ETHBridgeFinalized(address indexed from, address indexed to, uint256 amount, bytes extraData);
    event ERC20BridgeInitiated(
        address indexed localToken,
        address indexed remoteToken,
        address indexed from,
        address to,
        uint256 amount,
        bytes extraData
    );
    event ERC20BridgeFinalized(
        address indexed localToken,
        address indexed remoteToken,
        address indexed from,
        address to,
        uint256 amount,
        bytes extraData
    );

    receive() external payable onlyEOA {
        _bridgeETH(msg.sender, msg.value, RECEIVE_GAS_LIMIT, "");
    }

    function withdraw(address l2Token, uint256 amount, uint32 minGasLimit, bytes calldata extraData)
        external
        payable
        onlyEOA
    {
        _withdraw(l2Token, msg.sender, amount, minGasLimit, extraData);
    }

    function withdrawTo(address l2Token, address to, uint256 amount, uint32 minGasLimit, bytes calldata extraData)
        external
        payable
    {
        _withdraw(l2Token, to, amount, minGasLimit, extraData);
    }

    function bridgeETH(uint32 minGasLimit, bytes calldata extraData) external payable onlyEOA {
        _bridgeETH(msg.sender, msg.value, minGasLimit, extraData);
    }

    function bridgeETHTo(address to, uint32 minGasLimit, bytes calldata extraData) external payable {
        _bridgeETH(to, msg.value, minGasLimit, extraData);
    }

    function bridgeERC20(
        address localToken,
        address remoteToken,
        uint256 amount,
        uint32 minGasLimit,
        bytes calldata extraData
    ) external onlyEOA {
        _bridgeERC20(localToken, remoteToken, msg.sender, amount, minGasLimit, extraData);
    }

    function bridgeERC20To(
        address localToken,
        address remoteToken,
        address to,
        uint256 amount,
        uint32 minGasLimit,
        bytes calldata extraData
    ) external {
        _bridgeERC20(localToken, remoteToken, to, amount, minGasLimit, extraData);
    }

    function finalizeBridgeETH(address from, address to, uint256 amount, bytes calldata extraData)
        external
        payable
        onlyOtherBridge
    {
        require(msg.value == amount, "StandardBridge: amount sent does not match amount required");
        require(to != address(this), "StandardBridge: cannot send to self");
        require(to != address(messenger), "StandardBridge: cannot send to messenger");
        emit DepositFinalized(address(0), Addresses.LEGACY_ERC20_ETH, from, to, amount, extraData);
        emit ETHBridgeFinalized(from, to, amount, extraData);
        (bool sent,) = to.call{value: amount}("");
        require(sent, "StandardBridge: ETH transfer failed");
    }

    function finalizeBridgeERC20(
        address localToken,
        address remoteToken,
        address from,
        address to,
        uint256 amount,
        bytes calldata extraData
    ) external onlyOtherBridge {
        if (_isMintable(localToken)) {
            _checkPair(localToken, remoteToken);
            IOptimismMintableERC20(localToken).mint(to, amount);
        } else {
            deposits[localToken][remoteToken] -= amount;
            IERC20(localToken).safeTransfer(to, amount);
        }
        emit DepositFinalized(remoteToken, localToken, from, to, amount, extraData);
        emit ERC20BridgeFinalized(localToken, remoteToken, from, to, amount, extraData);
    }

    function l1TokenBridge() external view returns (address) {
        return otherBridge;
    }

    function _withdraw(address l2Token, address to, uint256 amount, uint32 minGasLimit, bytes memory extraData)
        private
    {
        if (l2Token == Addresses.LEGACY_ERC20_ETH) {
            _bridgeETH(to, amount, minGasLimit, extraData);
        } else {
            _bridgeERC20(l2Token, ILegacyMintableERC20(l2Token).l1Token(), to, amount, minGasLimit, extraData);
        }
    }

    function _bridgeETH(address to, uint256 amount, uint32 minGasLimit, bytes memory extraData) private {
        require(msg.value == amount, "StandardBridge: bridging ETH must include sufficient ETH value");
        emit WithdrawalInitiated(address(0), Addresses.LEGACY_ERC20_ETH, msg.sender, to, amount, extraData);
        emit ETHBridgeInitiated(msg.sender, to, amount, extraData);
        messenger.sendMessage{value: amount}(
            otherBridge, abi.encodeCall(this.finalizeBridgeETH, (msg.sender, to, amount, extraData)), minGasLimit
        );
    }

    function _bridgeERC20(
        address localToken,
        address remoteToken,
        address to,
        uint256 amount,
        uint32 minGasLimit,
        bytes memory extraData
    ) private {
        require(msg.value == 0, "StandardBridge: cannot send value");
        if (_isMintable(localToken)) {
            _checkPair(localToken, remoteToken);
            IOptimismMintableERC20(localToken).burn(msg.sender, amount);
        } else {
            IERC20(localToken).safeTransferFrom(msg.sender, address(this), amount);
            deposits[localToken][remoteToken] += amount;
        }
        emit WithdrawalInitiated(remoteToken, localToken, msg.sender, to, amount, extraData);
        emit ERC20BridgeInitiated(localToken, remoteToken, msg.sender, to, amount, extraData);
        messenger.sendMessage(
            otherBridge,
            abi.encodeCall(this.finalizeBridgeERC20, (remoteToken, localToken, msg.sender, to, amount, extraData)),
            minGasLimit
        );
    }

    function _isMintable(address token) private view returns (bool) {
        return ERC165Checker.supportsInterface(token, type(ILegacyMintableERC20).interfaceId)
            || ERC165Checker.supportsInterface(token, type(IOptimismMintableERC20).interfaceId);
    }

    function _checkPair(address token, address remoteToken) private view {
        address twin = ERC165Checker.supportsInterface(token, type(ILegacyMintableERC20).interfaceId)
            ? ILegacyMintableERC20(token).l1Token()
            : IOptimismMintableERC20(token).remoteToken();
        require(
            twin == remoteToken, "StandardBridge: wrong remote token for Optimism Mintable ERC20 local token"
        );
    }
}

// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC165Checker} from "@openzeppelin/contracts/utils/introspection/ERC165Checker.sol";
import {Bridge} from "./Bridge.sol";
import {IOptimismMintableERC721} from "./OptimismMintableERC721.sol";

/// Called on the L1 side of the bridge.
interface IL1ERC721Bridge {
    function finalizeBridgeERC721(
        address localToken,
        address remoteToken,
        address from,
        address to,
        uint256 tokenId,
        bytes calldata extraData
    ) external;
}

/// Bridge for L1 collections (predeploy 0x42..14): minted on arrival, burnt on withdrawal.
contract L2ERC721Bridge is Bridge {
    string public constant version = "1.10.0";

    event ERC721BridgeInitiated(
        address indexed localToken,
        address indexed remoteToken,
        address indexed from,
        address to,
        uint256 tokenId,
        bytes extraData
    );
    event ERC721BridgeFinalized(
        address indexed localToken,
        address indexed remoteToken,
        address indexed from,
        address to,
        uint256 tokenId,
        bytes extraData
    );

    function bridgeERC721(
        address localToken,
        address remoteToken,
        uint256 tokenId,
        uint32 minGasLimit,
        bytes calldata extraData
    ) external onlyEOA {
        _bridge(localToken, remoteToken, msg.sender, tokenId, minGasLimit, extraData);
    }

    function bridgeERC721To(
        address localToken,
        address remoteToken,
        address to,
        uint256 tokenId,
        uint32 minGasLimit,
        bytes calldata extraData
    ) external {
        require(to != address(0), "ERC721Bridge: nft recipient cannot be address(0)");
        _bridge(localToken, remoteToken, to, tokenId, minGasLimit, extraData);
    }

    function finalizeBridgeERC721(
        address localToken,
        address remoteToken,
        address from,
        address to,
        uint256 tokenId,
        bytes calldata extraData
    ) external onlyOtherBridge {
        require(localToken != address(this), "L2ERC721Bridge: local token cannot be self");
        require(
            ERC165Checker.supportsInterface(localToken, type(IOptimismMintableERC721).interfaceId),
            "L2ERC721Bridge: local token interface is not compliant"
        );
        require(
            remoteToken == IOptimismMintableERC721(localToken).remoteToken(),
            "L2ERC721Bridge: wrong remote token for Optimism Mintable ERC721 local token"
        );
        IOptimismMintableERC721(localToken).safeMint(to, tokenId);
        emit ERC721BridgeFinalized(localToken, remoteToken, from, to, tokenId, extraData);
    }

    function _bridge(
        address localToken,
        address remoteToken,
        address to,
        uint256 tokenId,
        uint32 minGasLimit,
        bytes calldata extraData
    ) private {
        require(remoteToken != address(0), "L2ERC721Bridge: remote token cannot be address(0)");
        IOptimismMintableERC721 token = IOptimismMintableERC721(localToken);
        require(
            msg.sender == token.ownerOf(tokenId), "L2ERC721Bridge: Withdrawal is not being initiated by NFT owner"
        );
        require(remoteToken == token.remoteToken(), "L2ERC721Bridge: remote token does not match given value");
        token.burn(msg.sender, tokenId);
        messenger.sendMessage(
            otherBridge,
            abi.encodeCall(
                IL1ERC721Bridge.finalizeBridgeERC721, (remoteToken, localToken, msg.sender, to, tokenId, extraData)
            ),
            minGasLimit
        );
        emit ERC721BridgeInitiated(localToken, remoteToken, msg.sender, to, tokenId, extraData);
    }
}

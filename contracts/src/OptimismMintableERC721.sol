// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Enumerable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Enumerable.sol";
import {IERC721Enumerable} from "@openzeppelin/contracts/token/ERC721/extensions/IERC721Enumerable.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {Addresses} from "./Addresses.sol";

/// Interface by which the bridge recognises a mintable collection, based on the enumerable one.
interface IOptimismMintableERC721 is IERC721Enumerable {
    event Mint(address indexed account, uint256 tokenId);
    event Burn(address indexed account, uint256 tokenId);

    function safeMint(address to, uint256 tokenId) external;
    function burn(address from, uint256 tokenId) external;
    function REMOTE_CHAIN_ID() external view returns (uint256);
    function REMOTE_TOKEN() external view returns (address);
    function BRIDGE() external view returns (address);
    function remoteChainId() external view returns (uint256);
    function remoteToken() external view returns (address);
    function bridge() external view returns (address);
}

/// L2 representation of an L1 collection, minted by the ERC-721 bridge.
contract OptimismMintableERC721 is ERC721Enumerable, IOptimismMintableERC721 {
    using Strings for uint256;
    using Strings for address;

    string public constant version = "1.3.2";
    address public constant BRIDGE = Addresses.L2_ERC721_BRIDGE;
    uint256 public constant REMOTE_CHAIN_ID = Addresses.L1_CHAIN_ID;
    address public immutable REMOTE_TOKEN;

    string public baseTokenURI;

    modifier onlyBridge() {
        require(msg.sender == BRIDGE, "OptimismMintableERC721: only bridge can call this function");
        _;
    }

    constructor(address remote, string memory name_, string memory symbol_) ERC721(name_, symbol_) {
        REMOTE_TOKEN = remote;
        // EIP-681 link to the token's tokenURI on L1.
        baseTokenURI = string.concat(
            "ethereum:", remote.toHexString(), "@", REMOTE_CHAIN_ID.toString(), "/tokenURI?uint256="
        );
    }

    function safeMint(address to, uint256 tokenId) external onlyBridge {
        _safeMint(to, tokenId);
        emit Mint(to, tokenId);
    }

    function burn(address from, uint256 tokenId) external onlyBridge {
        _burn(tokenId);
        emit Burn(from, tokenId);
    }

    function remoteChainId() external pure returns (uint256) {
        return REMOTE_CHAIN_ID;
    }

    function remoteToken() external view returns (address) {
        return REMOTE_TOKEN;
    }

    function bridge() external pure returns (address) {
        return BRIDGE;
    }

    function supportsInterface(bytes4 id) public view override(ERC721Enumerable, IERC165) returns (bool) {
        return id == type(IOptimismMintableERC721).interfaceId || super.supportsInterface(id);
    }

    function _baseURI() internal view override returns (string memory) {
        return baseTokenURI;
    }
}

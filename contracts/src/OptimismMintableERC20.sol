// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";
import {IERC165} from "@openzeppelin/contracts/utils/introspection/IERC165.sol";
import {Addresses} from "./Addresses.sol";

/// Interfaces by which the bridge recognises a mintable token; their ids are 0xec4fc8e3 and 0x1d1d8b63.
interface IOptimismMintableERC20 {
    function remoteToken() external view returns (address);
    function bridge() external returns (address);
    function mint(address to, uint256 amount) external;
    function burn(address from, uint256 amount) external;
}

interface ILegacyMintableERC20 {
    function l1Token() external view returns (address);
    function mint(address to, uint256 amount) external;
    function burn(address from, uint256 amount) external;
}

/// L2 representation of an L1 token, minted by the standard bridge.
contract OptimismMintableERC20 is ERC20Permit {
    string public constant version = "1.4.1";
    address public constant BRIDGE = Addresses.L2_STANDARD_BRIDGE;
    address public constant PERMIT2 = Addresses.PERMIT2;

    address public immutable REMOTE_TOKEN;
    uint8 private immutable _decimals;

    event Mint(address indexed account, uint256 amount);
    event Burn(address indexed account, uint256 amount);

    modifier onlyBridge() {
        require(msg.sender == BRIDGE, "OptimismMintableERC20: only bridge can mint and burn");
        _;
    }

    constructor(address remote, string memory name_, string memory symbol_, uint8 decimals_)
        ERC20(name_, symbol_)
        ERC20Permit(name_)
    {
        REMOTE_TOKEN = remote;
        _decimals = decimals_;
    }

    function mint(address to, uint256 amount) external onlyBridge {
        _mint(to, amount);
        emit Mint(to, amount);
    }

    function burn(address from, uint256 amount) external onlyBridge {
        _burn(from, amount);
        emit Burn(from, amount);
    }

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == type(IERC165).interfaceId || id == type(ILegacyMintableERC20).interfaceId
            || id == type(IOptimismMintableERC20).interfaceId;
    }

    function decimals() public view override returns (uint8) {
        return _decimals;
    }

    /// Permit2 needs no approval.
    function allowance(address owner, address spender) public view override returns (uint256) {
        return spender == PERMIT2 ? type(uint256).max : super.allowance(owner, spender);
    }

    function remoteToken() external view returns (address) {
        return REMOTE_TOKEN;
    }

    function l1Token() external view returns (address) {
        return REMOTE_TOKEN;
    }

    function bridge() external pure returns (address) {
        return BRIDGE;
    }

    function l2Bridge() external pure returns (address) {
        return BRIDGE;
    }
}

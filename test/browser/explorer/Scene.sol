// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// ERC-20 with a hostile symbol.
contract Coin {
    event Transfer(address indexed from, address indexed to, uint256 value);

    function symbol() external pure returns (string memory) {
        return unicode"<b>EVIL</b>\u202e";
    }

    function decimals() external pure returns (uint8) {
        return 2;
    }

    function mint(address to, uint256 value) external {
        emit Transfer(address(0), to, value);
    }
}

/// ERC-721 and ERC-1155 movements.
contract Tickets {
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values);

    function move(address to) external {
        emit Transfer(msg.sender, to, 77);
        uint256[] memory ids = new uint256[](2);
        (ids[0], ids[1]) = (5, 6);
        uint256[] memory values = new uint256[](2);
        (values[0], values[1]) = (50, 60);
        emit TransferBatch(msg.sender, msg.sender, to, ids, values);
    }
}

/// Fails in an inner contract whose revert data it passes on.
contract Shop {
    Till private till = new Till();

    function tillAddress() external view returns (address) {
        return address(till);
    }

    function buy(uint256 price) external view {
        till.take(price);
    }
}

contract Till {
    error TooDear(uint256 price, uint256 limit);

    function take(uint256 price) external pure {
        if (price > 100) revert TooDear(price, 100);
    }
}

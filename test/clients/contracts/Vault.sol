// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import {Token} from "./Token.sol";

contract Vault {
  Token public immutable token;
  uint256 public deposits;

  constructor(Token held) payable {
    token = held;
  }

  receive() external payable {
    deposits += 1;
  }

  function pay(address payable to, uint256 value) external {
    (bool sent, ) = to.call{value: value}("");
    require(sent, "the payment failed");
  }

  function refuse() external pure {
    revert("refused");
  }

  function refuseSilently() external pure {
    revert();
  }

  function overflow(uint256 value) external pure returns (uint256) {
    return value + type(uint256).max;
  }

  function now_() external view returns (uint256 number, uint256 time, uint256 random, uint256 baseFee, address coinbase) {
    return (block.number, block.timestamp, block.prevrandao, block.basefee, block.coinbase);
  }
}

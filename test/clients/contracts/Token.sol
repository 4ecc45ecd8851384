// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Token {
  string public name = "Token";
  string public symbol = "TOK";
  uint8 public decimals = 18;
  uint256 public totalSupply;
  mapping(address => uint256) public balanceOf;

  event Transfer(address indexed from, address indexed to, uint256 value);

  error Short(address owner, uint256 has, uint256 needs);

  constructor(uint256 supply) {
    totalSupply = supply;
    balanceOf[msg.sender] = supply;
    emit Transfer(address(0), msg.sender, supply);
  }

  function transfer(address to, uint256 value) external returns (bool) {
    if (balanceOf[msg.sender] < value) revert Short(msg.sender, balanceOf[msg.sender], value);
    balanceOf[msg.sender] -= value;
    balanceOf[to] += value;
    emit Transfer(msg.sender, to, value);
    return true;
  }
}

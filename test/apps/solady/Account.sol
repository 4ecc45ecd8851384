// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {ERC4337} from "solady/src/accounts/ERC4337.sol";
import {ERC4337Factory} from "solady/src/accounts/ERC4337Factory.sol";

/// Solady leaves the name of the account to whoever deploys it.
contract Account is ERC4337 {
    function _domainNameAndVersion() internal pure override returns (string memory, string memory) {
        return ("Account", "1");
    }
}

contract Factory is ERC4337Factory {
    constructor(address account) ERC4337Factory(account) {}
}

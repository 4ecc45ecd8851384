// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// CREATE2 with value and address prediction: the interface at 0x13b0..beF2 on OP chains.
/// Its ERC-1820 helper is absent: the resulting address depends on an old compilation of that contract.
contract Create2Deployer {
    receive() external payable {}

    function deploy(uint256 value, bytes32 salt, bytes memory code) external {
        require(address(this).balance >= value, "Create2: insufficient balance");
        require(code.length != 0, "Create2: bytecode length is zero");
        address created;
        assembly ("memory-safe") {
            created := create2(value, add(code, 32), mload(code), salt)
        }
        require(created != address(0), "Create2: Failed on deploy");
    }

    function computeAddress(bytes32 salt, bytes32 codeHash) external view returns (address) {
        return computeAddressWithDeployer(salt, codeHash, address(this));
    }

    function computeAddressWithDeployer(bytes32 salt, bytes32 codeHash, address deployer)
        public
        pure
        returns (address)
    {
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), deployer, salt, codeHash)))));
    }
}

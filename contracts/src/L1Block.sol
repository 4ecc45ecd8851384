// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";

/// L1 attributes (predeploy 0x42..15), set by the first deposit of every block.
/// The storage layout is consensus: the fee rules read slots 1, 3, 7 and 8 directly.
contract L1Block {
    // slot 0
    uint64 public number;
    uint64 public timestamp;
    // slots 1 and 2
    uint256 public basefee;
    bytes32 public hash;
    // slot 3
    uint64 public sequenceNumber;
    uint32 public blobBaseFeeScalar;
    uint32 public baseFeeScalar;
    // slots 4 to 6; the two L1 fee values used before Ecotone stay zero
    bytes32 public batcherHash;
    uint256 public l1FeeOverhead;
    uint256 public l1FeeScalar;
    // slot 7
    uint256 public blobBaseFee;
    // slot 8
    uint64 public operatorFeeConstant;
    uint32 public operatorFeeScalar;
    uint16 public daFootprintGasScalar;

    error NotDepositor();

    function DEPOSITOR_ACCOUNT() external pure returns (address) {
        return Addresses.DEPOSITOR;
    }

    function version() external pure returns (string memory) {
        return "1.8.0";
    }

    function gasPayingToken() external pure returns (address token, uint8 decimals) {
        return (0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE, 18);
    }

    function gasPayingTokenName() external pure returns (string memory) {
        return "Ether";
    }

    function gasPayingTokenSymbol() external pure returns (string memory) {
        return "ETH";
    }

    function isCustomGasToken() external pure returns (bool) {
        return false;
    }

    /// The setters take packed values after the selector instead of ABI words (Ecotone, Isthmus and Jovian specifications).
    function setL1BlockValuesEcotone() external {
        _setEcotoneValues();
    }

    function setL1BlockValuesIsthmus() external {
        _setEcotoneValues();
        _setOperatorFee(0);
    }

    function setL1BlockValuesJovian() external {
        _setEcotoneValues();
        _setOperatorFee(uint16(bytes2(msg.data[176:178])));
    }

    function _setEcotoneValues() private {
        if (msg.sender != Addresses.DEPOSITOR) revert NotDepositor();
        baseFeeScalar = uint32(bytes4(msg.data[4:8]));
        blobBaseFeeScalar = uint32(bytes4(msg.data[8:12]));
        sequenceNumber = uint64(bytes8(msg.data[12:20]));
        timestamp = uint64(bytes8(msg.data[20:28]));
        number = uint64(bytes8(msg.data[28:36]));
        basefee = uint256(bytes32(msg.data[36:68]));
        blobBaseFee = uint256(bytes32(msg.data[68:100]));
        hash = bytes32(msg.data[100:132]);
        batcherHash = bytes32(msg.data[132:164]);
    }

    function _setOperatorFee(uint16 daScalar) private {
        operatorFeeScalar = uint32(bytes4(msg.data[164:168]));
        operatorFeeConstant = uint64(bytes8(msg.data[168:176]));
        daFootprintGasScalar = daScalar;
    }
}

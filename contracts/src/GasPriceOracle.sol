// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

import {Addresses} from "./Addresses.sol";
import {FastLz} from "./FastLz.sol";
import {L1Block} from "./L1Block.sol";

/// Fees of a transaction besides its L2 gas (predeploy 0x42..0F): the Fjord data fee and the Jovian operator fee.
/// All forks up to Jovian are active from genesis, so the fork flags are constants.
contract GasPriceOracle {
    uint256 public constant DECIMALS = 6;
    string public constant version = "1.6.0";
    bool public constant isEcotone = true;
    bool public constant isFjord = true;
    bool public constant isIsthmus = true;
    bool public constant isJovian = true;

    // Fjord: estimated size = max(100, -42.5856 + 0.8365 * FastLZ length), in millionths of a byte.
    int256 private constant INTERCEPT = -42_585_600;
    int256 private constant PER_FASTLZ_BYTE = 836_500;
    int256 private constant MINIMUM_SIZE = 100_000_000;
    // The given data has no signature yet.
    uint256 private constant SIGNATURE_SIZE = 68;

    L1Block private constant L1 = L1Block(Addresses.L1_BLOCK);

    /// Data fee in wei of an unsigned, RLP-encoded transaction.
    function getL1Fee(bytes memory data) external view returns (uint256) {
        return _fee(_estimatedSize(FastLz.compressedLength(data) + SIGNATURE_SIZE));
    }

    /// Upper bound in wei of the data fee for 99.99 % of transactions of this unsigned size.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external view returns (uint256) {
        uint256 size = unsignedTxSize + SIGNATURE_SIZE;
        return _fee(_estimatedSize(size + size / 255 + 16));
    }

    /// L1 calldata gas of an unsigned, RLP-encoded transaction: 16 per byte of the estimated size.
    function getL1GasUsed(bytes memory data) external pure returns (uint256) {
        return _estimatedSize(FastLz.compressedLength(data) + SIGNATURE_SIZE) * 16 / 1e6;
    }

    /// Operator fee in wei of a transaction that uses `gasUsed` L2 gas (Jovian).
    function getOperatorFee(uint256 gasUsed) external view returns (uint256) {
        return gasUsed * L1.operatorFeeScalar() * 100 + L1.operatorFeeConstant();
    }

    function gasPrice() external view returns (uint256) {
        return block.basefee;
    }

    function baseFee() external view returns (uint256) {
        return block.basefee;
    }

    function l1BaseFee() public view returns (uint256) {
        return L1.basefee();
    }

    function blobBaseFee() public view returns (uint256) {
        return L1.blobBaseFee();
    }

    function baseFeeScalar() public view returns (uint32) {
        return L1.baseFeeScalar();
    }

    function blobBaseFeeScalar() public view returns (uint32) {
        return L1.blobBaseFeeScalar();
    }

    function decimals() external pure returns (uint256) {
        return DECIMALS;
    }

    function _estimatedSize(uint256 fastLzSize) private pure returns (uint256) {
        int256 size = INTERCEPT + PER_FASTLZ_BYTE * int256(fastLzSize);
        return uint256(size < MINIMUM_SIZE ? MINIMUM_SIZE : size);
    }

    function _fee(uint256 estimatedSize) private view returns (uint256) {
        uint256 scaled = 16 * uint256(baseFeeScalar()) * l1BaseFee() + uint256(blobBaseFeeScalar()) * blobBaseFee();
        return estimatedSize * scaled / 1e12;
    }
}

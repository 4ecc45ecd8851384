// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Inner loops of an exchange: 512-bit products and quotients, and prices from ticks. Each loop folds its results into one word, so that
/// none of them can be optimised away.
contract Maths {
    error QuotientTooLarge();

    function mulDivs(uint256 rounds) external pure returns (uint256 sum) {
        uint256 a = uint256(keccak256("a"));
        uint256 d = type(uint256).max - 188;
        for (uint256 i = 0; i < rounds; ++i) {
            uint256 q = mulDiv(a, d - i, type(uint256).max - i);
            unchecked {
                sum += q;
                a = q ^ (a >> 1);
            }
        }
    }

    function sqrtPrices(uint256 rounds) external pure returns (uint256 sum) {
        int256 tick = -887_272;
        for (uint256 i = 0; i < rounds; ++i) {
            unchecked {
                sum += sqrtPrice(tick);
                tick += 1_774;
                if (tick > 887_272) tick -= 2 * 887_272;
            }
        }
    }

    /// floor(a * b / d) with a product of 512 bits.
    function mulDiv(uint256 a, uint256 b, uint256 d) public pure returns (uint256) {
        unchecked {
            // The products modulo 2^256 and modulo 2^256 - 1 determine all 512 bits.
            uint256 low = a * b;
            uint256 rest = mulmod(a, b, type(uint256).max);
            uint256 high = rest - low - (rest < low ? 1 : 0);
            if (high == 0) return low / d;
            if (d <= high) revert QuotientTooLarge();
            // Without the remainder the division is exact, and an exact division is a product with the inverse modulo 2^256.
            uint256 remainder = mulmod(a, b, d);
            high -= remainder > low ? 1 : 0;
            low -= remainder;
            uint256 twos = d & (~d + 1);
            d /= twos;
            low /= twos;
            low |= high * ((~twos + 1) / twos + 1);
            // Correct in the 4 lowest bits; each Newton step doubles them: 4, 8 … 256.
            uint256 inverse = (3 * d) ^ 2;
            for (uint256 i = 0; i < 6; ++i) inverse *= 2 - d * inverse;
            return low * inverse;
        }
    }

    /// sqrt(1.0001^tick) * 2^96, rounded up, for |tick| up to 887,272. The factors are floor(2^128 / 1.0001^(2^i / 2)).
    function sqrtPrice(int256 tick) public pure returns (uint256) {
        uint256 distance = uint256(tick < 0 ? -tick : tick);
        require(distance <= 887_272, "tick out of range");
        unchecked {
        uint256 ratio = 1 << 128;
        if (distance & 0x1 != 0) ratio = (ratio * 0xfffcb933bd6fad37aa2d162d1a594001) >> 128;
        if (distance & 0x2 != 0) ratio = (ratio * 0xfff97272373d413259a46990580e2139) >> 128;
        if (distance & 0x4 != 0) ratio = (ratio * 0xfff2e50f5f656932ef12357cf3c7fdcb) >> 128;
        if (distance & 0x8 != 0) ratio = (ratio * 0xffe5caca7e10e4e61c3624eaa0941ccf) >> 128;
        if (distance & 0x10 != 0) ratio = (ratio * 0xffcb9843d60f6159c9db58835c926643) >> 128;
        if (distance & 0x20 != 0) ratio = (ratio * 0xff973b41fa98c081472e6896dfb254bf) >> 128;
        if (distance & 0x40 != 0) ratio = (ratio * 0xff2ea16466c96a3843ec78b326b52860) >> 128;
        if (distance & 0x80 != 0) ratio = (ratio * 0xfe5dee046a99a2a811c461f1969c3052) >> 128;
        if (distance & 0x100 != 0) ratio = (ratio * 0xfcbe86c7900a88aedcffc83b479aa3a3) >> 128;
        if (distance & 0x200 != 0) ratio = (ratio * 0xf987a7253ac413176f2b074cf7815e53) >> 128;
        if (distance & 0x400 != 0) ratio = (ratio * 0xf3392b0822b70005940c7a398e4b70f2) >> 128;
        if (distance & 0x800 != 0) ratio = (ratio * 0xe7159475a2c29b7443b29c7fa6e889d8) >> 128;
        if (distance & 0x1000 != 0) ratio = (ratio * 0xd097f3bdfd2022b8845ad8f792aa5825) >> 128;
        if (distance & 0x2000 != 0) ratio = (ratio * 0xa9f746462d870fdf8a65dc1f90e061e4) >> 128;
        if (distance & 0x4000 != 0) ratio = (ratio * 0x70d869a156d2a1b890bb3df62baf32f6) >> 128;
        if (distance & 0x8000 != 0) ratio = (ratio * 0x31be135f97d08fd981231505542fcfa5) >> 128;
        if (distance & 0x10000 != 0) ratio = (ratio * 0x9aa508b5b7a84e1c677de54f3e99bc8) >> 128;
        if (distance & 0x20000 != 0) ratio = (ratio * 0x5d6af8dedb81196699c329225ee604) >> 128;
        if (distance & 0x40000 != 0) ratio = (ratio * 0x2216e584f5fa1ea926041bedfe97) >> 128;
        if (distance & 0x80000 != 0) ratio = (ratio * 0x48a170391f7dc42444e8fa2) >> 128;
        if (tick > 0) ratio = type(uint256).max / ratio;
        return (ratio >> 32) + (ratio & 0xffffffff == 0 ? 0 : 1);
        }
    }
}

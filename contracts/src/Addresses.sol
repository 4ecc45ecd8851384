// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Fixed OP Stack addresses used by the predeploys.
library Addresses {
    /// Sender of the L1 attributes and BaseTime deposits.
    address internal constant DEPOSITOR = 0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001;
    address internal constant L2_CROSS_DOMAIN_MESSENGER = 0x4200000000000000000000000000000000000007;
    address internal constant L2_STANDARD_BRIDGE = 0x4200000000000000000000000000000000000010;
    address internal constant L2_ERC721_BRIDGE = 0x4200000000000000000000000000000000000014;
    address internal constant L1_BLOCK = 0x4200000000000000000000000000000000000015;
    address internal constant L2_TO_L1_MESSAGE_PASSER = 0x4200000000000000000000000000000000000016;
    /// Represents ether where the bridge expects a token.
    address internal constant LEGACY_ERC20_ETH = 0xDeadDeAddeAddEAddeadDEaDDEAdDeaDDeAD0000;
    address internal constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
    /// Chain id of the simulated L1: Ethereum's, as in Base's contracts.
    uint256 internal constant L1_CHAIN_ID = 1;
}

// `hardhat node` as a node and nothing else: no sources, no compiler. Mining and limits as for the others.
module.exports = {
  solidity: '0.8.28',
  networks: {
    hardhat: {
      chainId: 31_337,
      ...(process.env.BENCH_HARDFORK === undefined ? {} : { hardfork: process.env.BENCH_HARDFORK, allowUnlimitedContractSize: true }),
      blockGasLimit: Number(process.env.BENCH_GAS_LIMIT ?? 30_000_000),
      mining: process.env.BENCH_MINING === 'held' ? { auto: false, interval: 0 } : { auto: true, interval: 0 },
    },
  },
}

module.exports = async ({ deployments, getNamedAccounts }) => {
  const { deployer } = await getNamedAccounts()
  const token = await deployments.deploy('Token', { from: deployer, args: [1_000] })
  const vault = await deployments.deploy('Vault', { from: deployer, args: [token.address], value: '5' })
  await deployments.execute('Token', { from: deployer }, 'transfer', vault.address, 1)
  await deployments.rawTx({ from: deployer, to: vault.address, value: '3' })
  // The second time nothing is deployed.
  const again = await deployments.deploy('Token', { from: deployer, args: [1_000] })
  if (again.newlyDeployed) throw new Error('the same contract was deployed twice')
}
module.exports.tags = ['all']

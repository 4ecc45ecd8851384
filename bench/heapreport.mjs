// Loaded into a node that is watched (node --import): it tells its parent what its heap holds.
const EVERY_MS = 1_000

setInterval(() => {
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ heapMb: heapUsed / 2 ** 20, externalMb: external / 2 ** 20 })
}, EVERY_MS).unref()
process.channel?.unref()

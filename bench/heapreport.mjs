// Preloaded into the observed node (node --import): reports its heap to the parent process.
const EVERY_MS = 1_000

setInterval(() => {
  const { heapUsed, external } = process.memoryUsage()
  process.send?.({ heapMb: heapUsed / 2 ** 20, externalMb: external / 2 ** 20 })
}, EVERY_MS).unref()
process.channel?.unref()

// Imported first, and runs in every Node since 12: reports an unsupported version before another file fails in it.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `pocketchain needs Node 20.19 or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org and try again.\n`,
  )
  process.exit(1)
}

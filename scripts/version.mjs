// Runs before everything else and in any Node since 12: says in a sentence that this one is too old, where a later file would break.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `pocketchain needs Node 20.19 or newer; this is ${process.versions.node}. Install a newer one from https://nodejs.org and try again.\n`,
  )
  process.exit(1)
}

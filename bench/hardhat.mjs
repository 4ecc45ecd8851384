// Hardhat 2 in a separate package (peers/) and Hardhat 3 in another (peers/hardhat3/), installed only for measurements.
import { execFileSync } from 'node:child_process'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { nodeBinary } from '../scripts/nodebinary.mjs'
import { install, installIsCurrent } from '../scripts/setup.mjs'

export const PEERS = fileURLToPath(new URL('peers', import.meta.url))
const HARDHAT_3 = join(PEERS, 'hardhat3')
const SETUP = new URL('../scripts/setup.mjs', import.meta.url).href

/** Hardhat 3 needs Node 22.13. @returns {string} the path of a binary */
export function nodeOfHardhat3() {
  return Number(process.versions.node.split('.')[0]) < 24 ? nodeBinary(24) : process.execPath
}

/** Installs both unless they are present. @returns {string | null} why they cannot be measured, or null */
export function installHardhat() {
  if (installIsCurrent(PEERS) && installIsCurrent(HARDHAT_3)) return null
  process.stderr.write('bench: installing Hardhat 2 and 3 into bench/peers, once (270 packages, some 30 s)\n')
  try {
    install(PEERS)
    // npm omits the binaries of Hardhat 3 if it runs with an older Node.
    const node = nodeOfHardhat3()
    const program = `import { install } from ${JSON.stringify(SETUP)}; install(${JSON.stringify(HARDHAT_3)})`
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env['PATH']}` }
    execFileSync(node, ['--input-type=module', '--eval', program], { env, stdio: ['ignore', 'inherit', 'inherit'] })
  } catch (error) {
    return `Hardhat could not be installed (${error.message}); leave it out with --peers anvil`
  }
  return null
}

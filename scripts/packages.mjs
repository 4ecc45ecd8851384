// Debian packages that tests need, which are installed in CI only.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/** True for root on Debian in CI, where system packages may be installed. */
function mayInstall() {
  return process.env['CI'] !== undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/** Installs Debian packages where that is allowed. */
export function installPackages(/** @type {readonly string[]} */ names) {
  if (names.length === 0 || !mayInstall()) return
  process.stderr.write(`pocketchain: installing ${names.join(', ')} (apt-get)\n`)
  const options = { stdio: /** @type {['ignore', 2, 2]} */ (['ignore', 2, 2]), env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }
  const packages = ['install', '-y', '--no-install-recommends', ...names]
  if (spawnSync('apt-get', packages, options).status === 0) return
  // A fresh image has no package lists.
  spawnSync('apt-get', ['update'], options)
  spawnSync('apt-get', packages, options)
}

// The servers of a fleet, for its tests: NATS and PostgreSQL of the distribution. `npm test` checks them first.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { installPackages } from './packages.mjs'

const NATS_PLACES = ['/usr/sbin/nats-server', '/usr/bin/nats-server', '/usr/local/bin/nats-server']
const IP_PLACES = ['/usr/sbin/ip', '/usr/bin/ip', '/sbin/ip']
/** Debian has one folder for each version. */
const POSTGRES_FOLDER = '/usr/lib/postgresql'

/** @returns {string | null} `POCKETCHAIN_NATS`, or the path of a distribution */
export function natsServer() {
  return process.env['POCKETCHAIN_NATS'] ?? NATS_PLACES.find((place) => existsSync(place)) ?? null
}

/** @returns {string | null} `POCKETCHAIN_POSTGRES`, or the folder with the programs of a distribution's newest version */
export function postgresFolder() {
  const named = process.env['POCKETCHAIN_POSTGRES']
  if (named !== undefined) return named
  const versions = existsSync(POSTGRES_FOLDER) ? readdirSync(POSTGRES_FOLDER).sort((a, b) => Number(b) - Number(a)) : []
  return versions.map((version) => join(POSTGRES_FOLDER, version, 'bin')).find((folder) => existsSync(join(folder, 'initdb'))) ?? null
}

/** Returns the reason why the tests of the fleet cannot run, or null. */
export function noServers() {
  if (natsServer() === null) return 'skipped: no nats-server is installed (apt-get install nats-server, or name one in POCKETCHAIN_NATS)'
  if (postgresFolder() === null) {
    return 'skipped: no PostgreSQL is installed (apt-get install postgresql, or name its folder with initdb in POCKETCHAIN_POSTGRES)'
  }
  return null
}

/** Installs missing servers, in CI only. */
export function prepareServers() {
  installPackages([
    ...(natsServer() === null ? ['nats-server'] : []),
    ...(postgresFolder() === null ? ['postgresql'] : []),
    // For network namespaces.
    ...(IP_PLACES.some((place) => existsSync(place)) ? [] : ['iproute2']),
  ])
  const reason = noServers()
  if (reason !== null) process.stdout.write(`tests of the fleet ${reason}\n`)
}

// The certificate authorities that NODE_EXTRA_CA_CERTS adds, as behind a proxy. A Node 20 process parses them with all of Node's own when it starts: 133 ms
// in place of 48 on a slow machine. Tests and benchmarks start hundreds of processes, of which only npm connects to other machines.

const SET_ASIDE = 'POCKETCHAIN_EXTRA_CA_CERTS'

/** Processes that this one starts do without them, except with `withExtraCertificates`. */
export function setAsideExtraCertificates() {
  const file = process.env['NODE_EXTRA_CA_CERTS']
  if (file === undefined) return
  delete process.env['NODE_EXTRA_CA_CERTS']
  process.env[SET_ASIDE] = file
}

/** Returns the environment of a process that connects to other machines. @returns {NodeJS.ProcessEnv} */
export function withExtraCertificates(/** @type {NodeJS.ProcessEnv} */ environment = process.env) {
  const file = process.env[SET_ASIDE]
  return file === undefined ? environment : { ...environment, NODE_EXTRA_CA_CERTS: file }
}

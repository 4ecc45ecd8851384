/** The parts of this server, which writes them into the document. */
type Feature = 'node' | 'wallet' | 'sponsor' | 'tls'

const FEATURES: ReadonlySet<string> = new Set((document.getElementById('page')?.dataset['features'] ?? '').split(' '))

/** False for all: the pages show another node (`--explorer-of`). */
export function hasFeature(feature: Feature): boolean {
  return FEATURES.has(feature)
}

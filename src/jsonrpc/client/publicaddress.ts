/** Classifies IP addresses as public, or as those of this computer or its network. Runs in browsers. */
export const PublicAddress = { parse, isPublic, isLoopback }

/** Returns an address as 128 bits, IPv4 as `::ffff:0:0/96`, without its zone (`%eth0`); null for other text. */
function parse(text: string): bigint | null {
  const bare = text.split('%', 1)[0] as string // there is always a first part
  return bare.includes(':') ? ipv6(bare) : ipv4(bare)
}

/** Returns false for the special-purpose addresses of IANA's registries and for metadata services of clouds. */
function isPublic(address: bigint): boolean {
  const inner = carried(address)
  if (inner !== null) return !PRIVATE_IPV4.some((range) => within(inner, range))
  return within(address, GLOBAL_UNICAST) && !PRIVATE_IPV6.some((range) => within(address, range))
}

function isLoopback(address: bigint): boolean {
  return address === 1n || (address >> 32n === MAPPED && within(address & LOW_32, LOOPBACK_IPV4))
}

/** Returns the IPv4 address of an IPv4-mapped address or of one behind a NAT64 translator (RFC 6052). */
function carried(address: bigint): bigint | null {
  const prefix = address >> 32n
  return prefix === MAPPED || prefix === NAT64 ? address & LOW_32 : null
}

interface Range {
  readonly base: bigint
  /** bits after the prefix */
  readonly rest: bigint
}

function within(address: bigint, { base, rest }: Range): boolean {
  return address >> rest === base >> rest
}

function range(cidr: string): Range {
  const [text = '', length = ''] = cidr.split('/')
  const isIpv6 = text.includes(':')
  const base = isIpv6 ? ipv6(text) : ipv4(text)
  if (base === null) throw new RangeError(`${cidr} is no range of addresses`)
  return { base: isIpv6 ? base : base & LOW_32, rest: BigInt((isIpv6 ? 128 : 32) - Number(length)) }
}

const LOW_32 = 0xffff_ffffn
/** 96 bits each. */
const MAPPED = 0xffffn
const NAT64 = 0x64_ff9b_0000_0000_0000_0000n

const LOOPBACK_IPV4 = range('127.0.0.0/8')

const PRIVATE_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; Alibaba's metadata
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's wire server, a metadata service at a public address
  '169.254.0.0/16', // link-local, and the metadata of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments; Oracle's metadata
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
].map(range)

/** Everything else is loopback, unspecified, unique local (AWS's metadata), link-local, site-local, multicast or unassigned. */
const GLOBAL_UNICAST = range('2000::/3')

const PRIVATE_IPV6 = [
  '2001::/23', // protocol assignments: Teredo and others that carry addresses of any kind
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which carries IPv4 addresses
  '3fff::/20', // documentation
].map(range)

function ipv4(text: string): bigint | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9][0-9]{0,2})$/.test(part) && Number(part) < 256)) return null
  return parts.reduce((sum, part) => (sum << 8n) | BigInt(part), MAPPED)
}

function ipv6(text: string): bigint | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [head, tail] = halves.map((half, i) => groups(half, i === halves.length - 1))
  if (head === null || head === undefined || tail === null) return null
  if (tail === undefined) return head.length === 8 ? joined(head) : null
  const missing = 8 - head.length - tail.length
  return missing < 1 ? null : joined([...head, ...Array<number>(missing).fill(0), ...tail])
}

/** The 16-bit groups of one half; an IPv4 address at the end of the second half is two of them. */
function groups(half: string, isLast: boolean): readonly number[] | null {
  if (half === '') return []
  const texts = half.split(':')
  const last = texts.at(-1) as string // a split has a last part
  const embedded = last.includes('.') ? ipv4(last) : null
  if (last.includes('.') && (embedded === null || !isLast)) return null
  const plain = embedded === null ? texts : texts.slice(0, -1)
  if (!plain.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return null
  const read = plain.map((group) => Number.parseInt(group, 16))
  return embedded === null ? read : [...read, Number((embedded >> 16n) & 0xffffn), Number(embedded & 0xffffn)]
}

function joined(parts: readonly number[]): bigint {
  return parts.reduce((sum, part) => (sum << 16n) | BigInt(part), 0n)
}

import type { KeyObject } from 'node:crypto'
import { createHash, createPublicKey, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import * as Der from './der.ts'

/** The issuer of certificates, with a key on the curve P-256. */
export interface Issuer {
  readonly key: KeyObject
  /** Unix milliseconds; its certificates end no later */
  readonly endMs: number
}

interface Validity {
  readonly startMs: number
  readonly endMs: number
}

/**
 * Returns the certificate of an authority, PEM. It is limited to `names` (RFC 5280, 4.2.1.10, critical) and to TLS servers, so that a stolen key cannot
 * sign for other hosts. `names`: host names, which include the names below them, addresses, and `127.0.0.0/8`. The subject is derived from the key, so
 * that a renewed certificate replaces the old one.
 */
export function authorityCertificate(key: KeyObject, names: readonly string[], validity: Validity): string {
  const publicKey = publicKeyOf(key)
  const extensions = [
    extension(OID.basicConstraints, Der.sequence(Der.booleanTrue(), Der.smallInteger(0)), true),
    extension(OID.keyUsage, Der.bits(Uint8Array.of(0x06), 1), true), // keyCertSign and cRLSign
    extension(OID.nameConstraints, Der.sequence(Der.tagged(0, ...names.map((name) => Der.sequence(subtree(name))))), true),
    extension(OID.extendedKeyUsage, Der.sequence(Der.objectId(OID.serverAuth))),
    extension(OID.subjectKeyIdentifier, Der.octets(keyId(publicKey))),
  ]
  return signed(key, { subject: authorityName(key), publicKey, validity, extensions })
}

/** Returns the certificate of a server for `names`, host names and addresses, PEM. */
export function serverCertificate(issuer: Issuer, key: KeyObject, names: readonly string[], validity: Validity): string {
  const publicKey = publicKeyOf(key)
  const extensions = [
    extension(OID.basicConstraints, Der.sequence(), true),
    extension(OID.keyUsage, Der.bits(Uint8Array.of(0x80), 7), true), // digitalSignature
    extension(OID.extendedKeyUsage, Der.sequence(Der.objectId(OID.serverAuth))),
    extension(OID.subjectAlternativeName, Der.sequence(...names.map(generalName))),
    extension(OID.subjectKeyIdentifier, Der.octets(keyId(publicKey))),
    extension(OID.authorityKeyIdentifier, Der.sequence(Der.taggedBytes(0, keyId(publicKeyOf(issuer.key))))),
  ]
  const endMs = Math.min(validity.endMs, issuer.endMs)
  return signed(issuer.key, { subject: 'pocketchain', publicKey, validity: { ...validity, endMs }, extensions })
}

/** Returns the subject of the authority with that key. It differs between machines, because a browser may trust several. */
export function authorityName(key: KeyObject): string {
  return `pocketchain local CA ${Buffer.from(keyId(publicKeyOf(key))).toString('hex', 0, 4)}`
}

interface Content {
  readonly subject: string
  /** SubjectPublicKeyInfo */
  readonly publicKey: Uint8Array
  readonly validity: Validity
  readonly extensions: readonly Uint8Array[]
}

function signed(issuerKey: KeyObject, { subject, publicKey, validity, extensions }: Content): string {
  const content = Der.sequence(
    Der.tagged(0, Der.smallInteger(2)), // version 3
    Der.integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    nameOf(authorityName(issuerKey)),
    Der.sequence(Der.time(validity.startMs), Der.time(validity.endMs)),
    nameOf(subject),
    publicKey,
    Der.tagged(3, Der.sequence(...extensions)),
  )
  return pem(Der.sequence(content, ECDSA_WITH_SHA256, Der.bits(sign('sha256', content, issuerKey))))
}

function nameOf(commonName: string): Uint8Array {
  return Der.sequence(attribute(OID.organization, 'pocketchain'), attribute(OID.commonName, commonName))
}

function attribute(oid: string, text: string): Uint8Array {
  return Der.setOf(Der.sequence(Der.objectId(oid), Der.utf8(text)))
}

function extension(oid: string, content: Uint8Array, isCritical = false): Uint8Array {
  return Der.sequence(Der.objectId(oid), ...(isCritical ? [Der.booleanTrue()] : []), Der.octets(content))
}

function generalName(name: string): Uint8Array {
  return isIP(name) === 0 ? Der.taggedBytes(DNS_NAME, Buffer.from(name)) : Der.taggedBytes(IP_ADDRESS, addressBytes(name))
}

/** A GeneralName of a host name and the names below it, or of an address range as address and mask. */
function subtree(name: string): Uint8Array {
  const [address = '', prefixBits] = name.split('/')
  if (isIP(address) === 0) return generalName(address)
  const bytes = addressBytes(address)
  return Der.taggedBytes(IP_ADDRESS, Buffer.concat([bytes, maskOf(bytes.length, Number(prefixBits ?? bytes.length * 8))]))
}

function maskOf(lengthBytes: number, prefixBits: number): Uint8Array {
  return Uint8Array.from({ length: lengthBytes }, (_, i) => (0xff << (8 - Math.min(8, Math.max(0, prefixBits - 8 * i)))) & 0xff)
}

function addressBytes(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split('.').map(Number))
  const [head = [], tail = []] = canonical(address)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

/** Normalises an IPv6 address, without zone and without a dotted IPv4 part. */
function canonical(address: string): string {
  return new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1)
}

function publicKeyOf(key: KeyObject): Uint8Array {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}

/** Key identifier, RFC 7093, 2 (4). */
function keyId(publicKey: Uint8Array): Uint8Array {
  return createHash('sha256').update(publicKey).digest().subarray(0, 20)
}

function pem(der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** Tags of the choices of a GeneralName, RFC 5280, 4.2.1.6. */
const DNS_NAME = 2
const IP_ADDRESS = 7

const OID = {
  organization: '2.5.4.10',
  commonName: '2.5.4.3',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  nameConstraints: '2.5.29.30',
  subjectAlternativeName: '2.5.29.17',
  subjectKeyIdentifier: '2.5.29.14',
  authorityKeyIdentifier: '2.5.29.35',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const

const ECDSA_WITH_SHA256 = Der.sequence(Der.objectId('1.2.840.10045.4.3.2'))

import { CorruptSection, checksum } from './page.ts'

/** The description of a section that is kept in memory. */
export interface SectionHeader {
  readonly level: number
  readonly firstBlock: number
  readonly firstItem: number
  readonly items: number
  /** rows and list items: the work of a merge */
  readonly units: number
  /** the first key of each page of rows, ascending */
  readonly fences: Float64Array
  /** their page numbers; pages of long lists lie between them */
  readonly fencePages: Uint32Array
  readonly starts: Uint32Array
  readonly logStarts: Uint32Array
}

// u32 magic, checksum, level, items, fences, blocks; f64 first block, first item, units; then the four lists as in memory
const MAGIC = 0x31696370 // pci1
const HEAD_BYTES = 48
/** the page number in the checksum */
const NO_PAGE = 0xffff_ffff

export function encodeHeader(head: SectionHeader, section: number): Uint8Array {
  const { fences, fencePages, starts, logStarts } = head
  const bytes = new Uint8Array(sizeOf(fences.length, starts.length))
  const words = new Uint32Array(bytes.buffer)
  words.set([MAGIC, 0, head.level, head.items, fences.length, starts.length])
  new Float64Array(bytes.buffer, 24, 3).set([head.firstBlock, head.firstItem, head.units])
  let at = HEAD_BYTES
  for (const list of [fences, fencePages, starts, logStarts]) {
    bytes.set(new Uint8Array(list.buffer, list.byteOffset, list.byteLength), at)
    at += list.byteLength
  }
  words[1] = checksum(words, 2, section, NO_PAGE)
  return bytes
}

/** Throws CorruptSection. */
export function decodeHeader(bytes: Uint8Array, section: number): SectionHeader {
  const { buffer, length } = bytes.slice()
  const words = new Uint32Array(buffer, 0, length >>> 2)
  const [magic, sum, level = 0, items = 0, fences = 0, blocks = 0] = words
  if (length < HEAD_BYTES || magic !== MAGIC || length !== sizeOf(fences, blocks) || sum !== checksum(words, 2, section, NO_PAGE)) {
    throw new CorruptSection(section, 'its head is not what was written')
  }
  const [firstBlock = 0, firstItem = 0, units = 0] = new Float64Array(buffer, 24, 3)
  const pagesAt = HEAD_BYTES + 8 * fences
  const startsAt = pagesAt + 4 * fences
  return {
    level,
    firstBlock,
    firstItem,
    items,
    units,
    fences: new Float64Array(buffer, HEAD_BYTES, fences),
    fencePages: new Uint32Array(buffer, pagesAt, fences),
    starts: new Uint32Array(buffer, startsAt, blocks),
    logStarts: new Uint32Array(buffer, startsAt + 4 * blocks, blocks),
  }
}

function sizeOf(fences: number, blocks: number): number {
  return HEAD_BYTES + 12 * fences + 8 * blocks
}

import { LITERAL_TEXT_OFFSET } from './layout'

/** Copies 32 characters; only the length of the literal counts. */
@inline
export function literal(at: usize, out: usize): usize {
  v128.store(out, v128.load(at, LITERAL_TEXT_OFFSET))
  v128.store(out, v128.load(at, LITERAL_TEXT_OFFSET + 16), 16)
  return out + <usize>load<u32>(at)
}

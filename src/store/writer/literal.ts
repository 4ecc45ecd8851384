import { LITERAL_TEXT } from './layout'

/** Copies 32 characters of a literal, of which its length counts. */
@inline
export function literal(at: usize, out: usize): usize {
  v128.store(out, v128.load(at, LITERAL_TEXT))
  v128.store(out, v128.load(at, LITERAL_TEXT + 16), 16)
  return out + <usize>load<u32>(at)
}

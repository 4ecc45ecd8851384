// What the traced module tells its host. The fast one has none of it: every call stands behind `if (TRACE)`.

/** Before an opcode, before anything of it is checked or paid. */
@external('host', 'step')
export declare function hookStep(pc: u32, op: u32, gas: f64, depth: i32, sp: usize, base: usize): void
/** An opcode halted its frame; `left` is what its gas came to, below zero when it could not pay. */
@external('host', 'fault')
export declare function hookFault(reason: i32, left: f64): void
/** A call or creation, also one that fails at once. `left`: what the caller keeps. */
@external('host', 'enter')
export declare function hookEnter(
  op: u32, depth: i32, from: usize, to: usize, input: usize, size: usize, gas: i64, value: usize, precompile: i32, left: i64,
): void
@external('host', 'leave')
export declare function hookLeave(depth: i32, status: i32, output: usize, size: usize, used: i64): void
/** A log was added; it is the last in the buffer. */
@external('host', 'log')
export declare function hookLog(at: usize): void

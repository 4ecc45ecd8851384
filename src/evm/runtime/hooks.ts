// Hooks of the traced module. In the fast module `if (TRACE)` removes every call.

/** Before an opcode is validated and charged. */
@external('host', 'step')
export declare function hookStep(pc: u32, op: u32, gas: f64, depth: i32, sp: usize, base: usize): void
/** An opcode halted its frame. `left`: remaining gas, negative when the opcode could not be paid. */
@external('host', 'fault')
export declare function hookFault(reason: i32, left: f64): void
/** A call or creation, including one that fails immediately. `left`: gas that the caller keeps. */
@external('host', 'enter')
export declare function hookEnter(
  op: u32, depth: i32, from: usize, to: usize, input: usize, size: usize, gas: i64, value: usize, precompile: i32, left: i64,
): void
@external('host', 'exit')
export declare function hookExit(depth: i32, status: i32, output: usize, size: usize, used: i64): void
/** A log was appended to the buffer. */
@external('host', 'log')
export declare function hookLog(at: usize): void

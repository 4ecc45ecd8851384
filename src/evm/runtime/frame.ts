/// <reference path="../runtime.d.ts" />
// Layout of a frame record.


// Interpreter registers, saved during calls.
export const F_PC: usize = 0 // u32, address of the next opcode
export const F_SP: usize = 4 // u32, address of the top word
export const F_GAS: usize = 8 // i64
export const F_MEMORY: usize = 16 // u32
export const F_MEMORY_SIZE: usize = 20 // u32
// Constant for the lifetime of the frame.
export const F_BASE: usize = 24 // u32, address below the first word of the frame's stack
export const F_CODE: usize = 28 // u32, code record
export const F_SELF: usize = 32 // u32, account entry
export const F_CODE_ACCOUNT: usize = 36 // u32, account entry that holds the code
export const F_STATIC: usize = 40 // u32
export const F_OPCODE: usize = 44 // u32; 0: the outermost frame (with F_CREATED: a creation)
export const F_INPUT: usize = 48 // u32
export const F_INPUT_SIZE: usize = 52 // u32
export const F_OUT: usize = 56 // u32, address in the caller's memory
export const F_OUT_SIZE: usize = 60 // u32
export const F_CREATED: usize = 64 // u32, account entry; 0: not a creation
export const F_INIT_TOP: usize = 68 // u32, end of the caller's init codes
// Restored when the frame fails.
export const F_MARK: usize = 72 // u32, journal position
export const F_CHECKPOINT: usize = 76 // u32, the caller's checkpoint
export const F_LOG_TOP: usize = 80 // u32
export const F_LOG_COUNT: usize = 84 // u32
export const F_REFUND: usize = 88 // i64
export const F_GAS_LIMIT: usize = 96 // i64, gas at the start
export const F_CALLER: usize = 104 // 20 bytes
export const F_VALUE: usize = 128 // word
export const F_RESULT: usize = 160 // u32, address on the caller's stack


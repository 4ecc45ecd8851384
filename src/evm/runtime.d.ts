// runtime/layout.ts is read by both compilers. What AssemblyScript calls its numbers:
declare type usize = number
declare type u32 = number
declare type i32 = number
declare type u64 = number

// Both compilers read runtime/layout.ts; these are AssemblyScript's number types.
declare type usize = number
declare type u32 = number
declare type i32 = number
declare type u64 = number

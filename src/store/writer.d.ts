// writer/layout.ts is read by both compilers. What AssemblyScript calls its numbers:
declare type i32 = number
declare type usize = number

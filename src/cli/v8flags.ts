// Node's own modules are loaded before the flags are set: under other flags V8 rejects the bytecode of them in the node binary, and compiling takes 12 ms.
import 'node:crypto'
import 'node:http'
import 'node:tls'
import 'node:zlib'
import { setFlagsFromString } from 'node:v8'

// Before the bundle is evaluated, because V8 accepts saved bytecode only under the flags under which it was saved. V8 collects garbage once the old
// space has grown by this share, by default by up to three times. 100,000 mined blocks then take 205 MB instead of 306, and 20 s of CPU instead of 18
// (one run each, on a busy machine). It is an option of the command because the heap of a program that imports pocketchain is the program's.
setFlagsFromString('--heap-growing-percent=50')

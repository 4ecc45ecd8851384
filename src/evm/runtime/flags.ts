// The build makes this file anew for each of the two modules: `fast` without hooks, `traced` with them.

export const TRACE: bool = false

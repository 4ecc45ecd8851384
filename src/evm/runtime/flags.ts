// Replaced by the build for each module: `fast` without hooks, `traced` with them.

export const TRACE: bool = false

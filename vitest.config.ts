import { defineConfig } from 'vitest/config'

/** The source of a room, for tests and examples that import the package by its name as a user does. */
const source = (room: string): string => new URL(`./src/${room}`, import.meta.url).pathname

const isCi = (process.env['CI'] ?? 'false') !== 'false'

export default defineConfig({
  resolve: {
    alias: [
      { find: /^pocketchain$/, replacement: source('index.ts') },
      { find: /^pocketchain\/([a-z]+)$/, replacement: source('$1/index.ts') },
    ],
  },
  test: {
    environment: 'node',
    globalSetup: ['scripts/runtime.mjs', 'scripts/pages.mjs'],
    include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'examples/**/*.test.ts', 'scripts/**/*.test.ts', 'pages/**/*.test.ts'],
    pool: 'forks',
    // Nodes under test tick every 200 ms in real time; more workers than cores would starve them of their ticks.
    maxWorkers: 2,
    // Tests run processes against real clocks, and the machines of CI stall at times. scripts/tally.mjs names the tests that needed it.
    retry: isCi ? 1 : 0,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
})

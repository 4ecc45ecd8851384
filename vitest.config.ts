import { configDefaults, defineConfig } from 'vitest/config'
import { builtModules } from './scripts/built.mjs'
import { setAsideExtraCertificates } from './scripts/certificates.mjs'
import { LongestFirst } from './scripts/sequencer.mjs'

setAsideExtraCertificates()

/** Path of a source file, for tests and examples that import the package by its name as a user does. */
const source = (file: string): string => new URL(`./src/${file}`, import.meta.url).pathname

const isCi = (process.env['CI'] ?? 'false') !== 'false'

// Tests that measure their process, load modules or other tests again, or change their settings.
const SYSTEM_OWN_PROCESS = ['test/evm/bombs.test.ts', 'test/evm/tier1.test.ts']
// Chromium drops the requests in progress when the machine's network interfaces change, so these never run beside tests in a browser.
const SYSTEM_INTERFACES = ['test/fleet/faults.test.ts', 'test/fleet/partition.test.ts']
const UNIT_OWN_PROCESS = [
  'src/eth/bytes.test.ts',
  'src/evm/jit/*.test.ts',
  'src/evm/precompiles/mcl.test.ts',
  'src/server/http/stream.test.ts',
]

/** Import the compiled modules of `dist/`. */
const SYSTEM = {
  globalSetup: ['scripts/built.mjs'],
  server: { deps: { external: [/\/dist\//] } },
  sequence: { groupOrder: 0 },
}

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
    pool: 'forks',
    // One more than the cores of the smallest machine: many tests wait for processes and clocks. More would starve nodes of their ticks.
    maxWorkers: 3,
    // Tests run processes against real clocks, and the machines of CI stall at times. scripts/tally.mjs names the tests that needed it.
    retry: isCi ? 2 : 0,
    // Ends what never ends. A slow machine needs up to 30 s for the longest tests.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        plugins: [builtModules()],
        test: {
          ...SYSTEM,
          name: 'system',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...SYSTEM_OWN_PROCESS, ...SYSTEM_INTERFACES],
          // A worker loads the modules once, not for each file, so a test restores what it changes in its process.
          isolate: false,
        },
      },
      {
        extends: true,
        plugins: [builtModules()],
        test: { ...SYSTEM, name: 'system, own process', include: SYSTEM_OWN_PROCESS },
      },
      {
        extends: true,
        plugins: [builtModules()],
        test: { ...SYSTEM, name: 'system, network interfaces', include: SYSTEM_INTERFACES, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'unit, own process', include: UNIT_OWN_PROCESS, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'pages/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...UNIT_OWN_PROCESS],
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})

import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig } from 'vitest/config'
import base from '../../vitest.config.ts'

/** `npm run test:clients`: whole suites of other projects' tools. One file at a time, because they measure times. */
const clients = mergeConfig(
  base,
  defineConfig({
    test: {
      root: fileURLToPath(new URL('../..', import.meta.url)),
      fileParallelism: false,
      // prints the annotations, which contain the measured times
      reporters: ['verbose'],
      testTimeout: 300_000,
      // includes the installation of packages
      hookTimeout: 600_000,
    },
  }),
)

export default { ...clients, test: { ...clients.test, projects: undefined, include: ['test/clients/**/*.suite.ts'] } }

// The order of the test files. vitest begins with the longest files of earlier runs, which a fresh clone lacks, and runs the projects one after another.
import { relative } from 'node:path'
import { BaseSequencer } from 'vitest/node'

/** Files that begin first, the longest first: one of them at the end of a group would leave the other workers idle. */
const LONGEST = [
  'test/fleet/faults.test.ts',
  'test/browser/flows.test.ts',
  'test/install/install.test.ts',
  'test/fleet/command.test.ts',
  'test/audit/audit.test.ts',
  'test/docs/docs.test.ts',
  'test/browser/page.test.ts',
  'test/browser/explorer/chain.test.ts',
  'test/browser/walletwindow.test.ts',
  'test/browser/views.test.ts',
  'test/fleet/failover.test.ts',
  'test/evm/tier1.test.ts',
  'test/fleet/partition.test.ts',
]

/** @typedef {import('vitest/node').TestSpecification} File */

export class LongestFirst extends BaseSequencer {
  /** @override */
  async sort(/** @type {File[]} */ files) {
    const groupOf = (/** @type {File} */ { project }) => project.config.sequence.groupOrder
    const rankOf = (/** @type {File} */ { moduleId }) => {
      const index = LONGEST.indexOf(relative(this.ctx.config.root, moduleId))
      return index === -1 ? LONGEST.length : index
    }
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => groupOf(a) - groupOf(b) || rankOf(a) - rankOf(b))
  }
}

import { describe, expect, it } from 'vitest'
import { ANVIL, startAnvil } from '../anvil.fixture.ts'
import { COMMAND, runSuite } from './substitute.fixture.ts'
import type { Outcome } from './substitute.fixture.ts'

/** A checkout of github.com/wevm/viem with its packages installed. Its tests use the ports 8545, 8645, 8745 and 8845. */
const FOLDER = process.env['VIEM_DIR']

/** anvil ignores the url on a chain that is not a fork; this node refuses it. */
const NEEDS_FORK = ['src/actions/test/setRpcUrl.test.ts sets the rpc url']

/** Removes the flags with which the tests start a fork of mainnet. */
const WITHOUT_FORK = `set -- "$@" END
while [ "$1" != END ]; do
  case "$1" in
    --fork-*) shift 2 ;;
    *) kept="$1"; shift; set -- "$@" "$kept" ;;
  esac
done
shift`

describe.skipIf(FOLDER === undefined || ANVIL === null)("viem's tests of its test actions (VIEM_DIR)", () => {
  it('pass with this node in place of anvil, except those that fail with an anvil that is no fork', async ({ annotate }) => {
    // The test setup of viem reads the block number of Sepolia, and starts its fork 32 blocks behind it.
    await using sepolia = await startAnvil()
    await sepolia.ask('anvil_mine', '0x64')
    const suite = {
      folder: FOLDER ?? '',
      args: ['-c', 'test/vitest.config.ts', '--project', 'core', '--retry', '0', 'src/actions/test/'],
      env: { VITE_ANVIL_FORK_URL_SEPOLIA: sepolia.url },
    }
    const reference = await runSuite({ ...suite, anvil: `${WITHOUT_FORK}\nexec ${ANVIL} "$@"` })
    const ours = await runSuite({ ...suite, anvil: `${WITHOUT_FORK}\nexec ${COMMAND} "$@" --chain-type l1 --compat anvil` })
    await annotate(`anvil ${countsOf(reference)}, this node ${countsOf(ours)}`)
    expect(reference.passed.length).toBeGreaterThan(20)
    expect(ours.failed.filter((title) => !reference.failed.includes(title))).toEqual(NEEDS_FORK)
  }, 1_800_000)
})

function countsOf({ passed, failed }: Outcome): string {
  return `${passed.length} pass, ${failed.length} fail`
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { build } from '../../scripts/setup.mjs'

beforeAll(() => {
  build()
})

test.each([
  ['', ''],
  ['workers: 0, ', ''],
  [
    'workers: 2, ',
    "workers 2 has no effect: Node's permission model forbids threads, so long calls run on the main thread; --allow-worker permits them\n",
  ],
])('without the permission for threads a long call runs on the main thread: { %s}', async (workers, note) => {
  const flag = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'
  const to = '0x00000000000000000000000000000000000000aa'
  const call = { method: 'eth_call', params: [{ to, gas: '0x989680' }, 'latest', { [to]: { code: '0x5b600056' } }] }
  const program = `
    const { createPocketchain } = await import(${JSON.stringify(new URL('../../dist/exports/index.js', import.meta.url).href)})
    const onError = (error) => console.log(String(error))
    const node = await createPocketchain({ ${workers}cadence: 'manual', onNote: (line) => console.log(line), wallet: false, bundler: false, sponsor: false, onError })
    await node.request(${JSON.stringify(call)}).catch(({ message }) => console.log(message))
    await node.close()`
  const { stdout } = await promisify(execFile)(process.execPath, [flag, '--allow-fs-read=*', '--input-type=module', '--eval', program])
  expect(stdout).toBe(`${note}out of gas\n`)
})

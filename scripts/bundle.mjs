// `node scripts/bundle.mjs <dist>`: the command in a few files instead of 480. Node finds, reads and links every module by itself, 0.4 ms for
// each, which was two fifths of the command's start. What others import (dist/index.js and its rooms) stays as it was compiled.
import { rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import { rolldown } from 'rolldown'

/** Main.js stays as it is: it says that Node is too old before anything else is read. */
const ENTRY = 'run'

/** Puts the bundle in the place of dist/cli/run.js. Its parts lie beside it. */
export async function bundleCommand(/** @type {string} */ dist) {
  const root = resolve(dist)
  const folder = join(root, 'cli')
  const entry = join(folder, `${ENTRY}.js`)
  const bundle = await rolldown({
    cwd: root,
    input: { [ENTRY]: entry },
    platform: 'node',
    external: (id) => !id.startsWith('.') && !id.startsWith(root), // packages, and Node's own
    treeshake: { moduleSideEffects: true },
    plugins: [{ name: 'places', transform: (code, id) => withPlace(code, relative(folder, id)) }],
  })
  const { output } = await bundle.generate({ format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'part-[hash].js' })
  await bundle.close()
  for (const file of output) if (file.type === 'chunk') writeFileSync(join(folder, file.fileName), file.code)
  rmSync(`${entry}.map`, { force: true })
}

/** In the bundle, too, a module knows the place of its own file, beside which its data and its threads' programs lie. */
function withPlace(/** @type {string} */ code, /** @type {string} */ path) {
  if (!code.includes(HERE)) return null
  const place = JSON.stringify(path.split(sep).join('/'))
  return { code: code.replaceAll(HERE, `new URL(${place}, ${HERE}).href`), map: null }
}

const HERE = 'import.meta.url'

if (process.argv[2] !== undefined) await bundleCommand(process.argv[2])

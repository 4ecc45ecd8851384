import type { Page } from 'playwright-core'
import { appFolder } from '../apps.fixture.ts'
import { bundlePage, contentsOf } from './pagebundle.fixture.ts'
import type { Content } from './sites.fixture.ts'
import type { Stage } from './stage.fixture.ts'

/** Opens an app of a folder under test/apps/, built with Vite. `query`: further fields of its address. `announced`: the page has the announcing script. */
export async function openBuiltApp(
  stage: Stage,
  folder: string,
  query: Readonly<Record<string, string>>,
  announced: boolean,
): Promise<Page> {
  await bundled(folder) // before the time limit of the page starts
  const address = new URLSearchParams({ node: stage.url, second: stage.second.url, ...query })
  return stage.open((providerUrl) => site(folder, announced ? providerUrl : null), `index.html?${address.toString()}`)
}

function site(folder: string, providerUrl: string | null): Content {
  return async (path) => {
    const file = (await bundled(folder)).get(path)
    if (file === undefined) throw new Error(`the app has no file ${path}`)
    if (path !== 'index.html' || providerUrl === null) return file
    return String(file).replace('<script ', `<script src="${providerUrl}"></script>\n    $&`)
  }
}

type Files = ReadonlyMap<string, string | Uint8Array>

const bundles = new Map<string, Promise<Files>>()

/** Builds the folder once, because a build takes some seconds. */
function bundled(folder: string): Promise<Files> {
  const files = bundles.get(folder) ?? bundle(folder)
  bundles.set(folder, files)
  return files
}

async function bundle(folder: string): Promise<Files> {
  const root = appFolder(folder)
  if (root === null) throw new Error(`the packages of test/apps/${folder} are missing: npm test installs them, or npm ci in its folder`)
  const files = await bundlePage(root, {
    // Names of SDKs that package.json replaces are imported, and are undefined; the apps do not use them.
    resolve: {
      alias: [
        { find: 'porto/internal', replacement: 'porto' },
        { find: 'x402/types', replacement: 'x402' },
      ],
    },
    // One file, as a page with a thousand of them loads slowly.
    rolldownOptions: { shimMissingExports: true, output: { codeSplitting: false } },
  })
  return contentsOf(files)
}

import { build } from 'vite'
import type { Rolldown, UserConfig } from 'vite'

export type PageFiles = readonly (Rolldown.OutputChunk | Rolldown.OutputAsset)[]

interface PageOptions {
  readonly resolve?: UserConfig['resolve']
  readonly rolldownOptions?: Rolldown.RolldownOptions
}

/** Bundles the page in a folder as a user's Vite does. */
export async function bundlePage(root: string, { resolve = {}, rolldownOptions = {} }: PageOptions = {}): Promise<PageFiles> {
  const built = await build({
    root,
    configFile: false,
    envFile: false,
    publicDir: false,
    logLevel: 'silent',
    mode: 'production',
    resolve,
    build: { write: false, modulePreload: false, rolldownOptions },
  })
  return (built as Rolldown.RolldownOutput).output // one output, since it is not watched and has one configuration
}

/** By the names of the files. */
export function contentsOf(files: PageFiles): ReadonlyMap<string, string | Uint8Array> {
  return new Map(files.map((file) => [file.fileName, file.type === 'chunk' ? file.code : file.source]))
}

/** Content of the files by their names, for `serve`. */
export function contentOf(files: PageFiles): (path: string) => Promise<string | Uint8Array> | null {
  const contents = contentsOf(files)
  return (path) => {
    const content = contents.get(path)
    return content === undefined ? null : Promise.resolve(content)
  }
}

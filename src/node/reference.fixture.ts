import { markdownReference, openRpc } from '../jsonrpc/index.ts'
import type { JsonSchema } from '../jsonrpc/index.ts'
import { ABSENT_METHODS, BLOCK, HEADER, LOG, PUBLIC_METHODS, PUBLIC_REFUSALS, RECEIPT, TRANSACTION } from '../rpc/index.ts'
import { CHAPTERS } from './methods.ts'

/** The reference of all methods as Markdown: the content of `docs/methods.md`. */
export function methodReference(): string {
  const preface = [
    '# JSON-RPC methods',
    '',
    'Generated from the method tables by `npm run docs`; do not edit. The same as an OpenRPC document: [openrpc.json](openrpc.json).',
    'Every method is on `POST /` and `WS /`, also at `/rpc`. **Public**: also on `POST /public`.',
    'Any method answers -32602 with a message that names the parameter when a parameter is wrong.',
  ]
  const reference = markdownReference(CHAPTERS, { preface, factsOf: ({ name }) => [`- Public: ${publicity(name)}`] })
  return `${reference.trimEnd()}\n\n${absentMethods()}\n`
}

/** Methods of other nodes that are left out, with the reasons that they answer. */
function absentMethods(): string {
  const rows = [...ABSENT_METHODS].map(([name, why]) => `| \`${name}\` | ${why} |`)
  return [
    '## Methods of other nodes that are left out',
    '',
    'They answer -32601 with this reason.',
    '',
    '| method | reason |',
    '|---|---|',
    ...rows,
  ].join('\n')
}

/** All methods as an OpenRPC document: the content of `docs/openrpc.json`. */
export function openRpcDocument(version: string): JsonSchema {
  return openRpc(CHAPTERS, { version, components: { Block: BLOCK, Header: HEADER, Transaction: TRANSACTION, Receipt: RECEIPT, Log: LOG } })
}

function publicity(name: string): string {
  if (PUBLIC_REFUSALS.has(name)) return 'refused, with HTTP status 403'
  return PUBLIC_METHODS.has(name) ? 'yes' : 'no'
}

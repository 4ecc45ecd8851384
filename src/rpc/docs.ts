import type { JsonSchema, Method } from './method.ts'
import { PUBLIC_METHODS, PUBLIC_REFUSALS } from './public.ts'
import { BLOCK, HEADER, LOG, RECEIPT, TRANSACTION } from './results.ts'
import { CHAPTERS } from './table.ts'
import type { Chapter } from './table.ts'

/** The reference of all methods as Markdown: what `docs/methods.md` holds. */
export function methodReference(): string {
  const contents = CHAPTERS.map(({ title, methods }) => `- ${title}: ${methods.map(methodLink).join(', ')}`)
  return [
    '# JSON-RPC methods',
    '',
    'Generated from the method table by `npm run docs`; do not edit. The same as an OpenRPC document: [openrpc.json](openrpc.json).',
    'Every method is on `POST /` and `WS /`. **Public** says whether it is on `POST /public` as well.',
    'Any method answers -32602 with a message that names the parameter when a parameter is wrong.',
    '',
    ...contents,
    ...CHAPTERS.flatMap(chapter),
    '',
  ].join('\n')
}

/** All methods as an OpenRPC 1.3 document: what `docs/openrpc.json` holds. */
export function openRpc(version: string): JsonSchema {
  return {
    openrpc: '1.3.2',
    info: { title: 'pocketchain', version, license: { name: 'MIT' } },
    methods: CHAPTERS.flatMap(({ title, methods }) => methods.map((row) => referring(openRpcMethod(title, row)))),
    components: { schemas: Object.fromEntries([...NOUNS].map(([noun, name]) => [name, inside(noun)])) },
  }
}

/** Said once under `components`, referred to everywhere else. */
const NOUNS: ReadonlyMap<unknown, string> = new Map([
  [BLOCK, 'Block'],
  [HEADER, 'Header'],
  [TRANSACTION, 'Transaction'],
  [RECEIPT, 'Receipt'],
  [LOG, 'Log'],
])

function referring(value: unknown): unknown {
  const name = NOUNS.get(value)
  return name === undefined ? inside(value) : { $ref: `#/components/schemas/${name}` }
}

function inside(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(referring)
  if (!isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, referring(part)]))
}

function openRpcMethod(tag: string, row: Method): JsonSchema {
  const params = row.params.map(({ name, required, schema }) => ({ name, required, schema: schema.json }))
  const errors = Object.entries(row.errors ?? {}).map(([code, message]) => ({ code: Number(code), message }))
  return {
    name: row.name,
    summary: row.doc,
    tags: [{ name: tag }],
    paramStructure: 'by-position',
    params,
    result: { name: 'result', schema: row.result },
    ...(errors.length === 0 ? undefined : { errors }),
    examples: [
      {
        name: 'example',
        params: row.example.params.map((value, i) => ({ name: row.params[i]?.name, value })),
        result: { name: 'result', value: row.example.result },
      },
    ],
  }
}

// --- Markdown -------------------------------------------------------------------------------------------------------

/** What the reference says of a method, ours or that of another room. */
export type Described = Pick<Method, 'name' | 'doc' | 'params' | 'result' | 'example' | 'errors'>

export function methodLink({ name }: Described): string {
  return `[${name}](#${name.toLowerCase()})`
}

function chapter({ title, methods }: Chapter): readonly string[] {
  return ['', `## ${title}`, ...methods.flatMap((row) => methodEntry(row, [`- Public: ${publicity(row.name)}`]))]
}

/** The lines of one method; `facts` stand behind its result. */
export function methodEntry(row: Described, facts: readonly string[] = []): readonly string[] {
  const request = JSON.stringify({ method: row.name, params: row.example.params })
  return [
    '',
    `### ${row.name}`,
    '',
    row.doc,
    '',
    ...parameters(row),
    `- Result: ${typeName(row.result)}`,
    ...facts,
    ...Object.entries(row.errors ?? {}).map(([code, when]) => `- Error ${code}: ${when}`),
    '',
    '```json',
    request,
    JSON.stringify({ result: row.example.result }),
    '```',
  ]
}

function parameters({ params }: Described): readonly string[] {
  return params.map(({ name, required, schema }, i) => {
    return `- ${i}. \`${name}\`${required ? '' : ' (optional)'}: ${typeName(schema.json)}`
  })
}

function publicity(name: string): string {
  if (PUBLIC_REFUSALS.has(name)) return 'refused, with HTTP status 403'
  return PUBLIC_METHODS.has(name) ? 'yes' : 'no'
}

/** A schema in a few words; objects with their keys. */
function typeName(schema: JsonSchema): string {
  const { title, type, properties, items, oneOf } = schema
  if (isSchema(properties)) return `${typeof title === 'string' ? `${title} ` : ''}{ ${keys(schema).join(', ')} }`
  if (typeof title === 'string') return title
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value)).join(' \\| ')
  if (isSchema(items)) return `list of ${typeName(items)}`
  if (Array.isArray(oneOf)) return oneOf.filter(isSchema).map(typeName).join(' or ')
  return typeof type === 'string' ? type : 'any'
}

function keys(schema: JsonSchema): readonly string[] {
  const { properties, required } = schema
  const always = new Set<unknown>(Array.isArray(required) ? required : [])
  return Object.keys(isSchema(properties) ? properties : {}).map((key) => (always.has(key) ? key : `${key}?`))
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

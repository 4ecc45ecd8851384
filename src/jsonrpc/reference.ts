import { component } from './jsonschema.ts'
import type { MethodDoc } from './method.ts'
import type { JsonSchema } from './schema.ts'

/** A chapter of the reference. */
export interface Chapter<M extends MethodDoc = MethodDoc> {
  readonly title: string
  readonly methods: readonly M[]
}

export interface MarkdownOptions {
  /** the lines before the contents */
  readonly preface: readonly string[]
  /** list items after the result of a method; none by default */
  readonly factsOf?: (method: MethodDoc) => readonly string[]
}

/** The reference of all methods as Markdown. */
export function markdownReference(chapters: readonly Chapter[], { preface, factsOf = () => [] }: MarkdownOptions): string {
  return [
    ...preface,
    '',
    ...chapters.map(({ title, methods }) => `- ${title}: ${methods.map(methodLink).join(', ')}`),
    ...chapters.flatMap(({ title, methods }) => ['', `## ${title}`, ...methods.flatMap((row) => methodEntry(row, factsOf(row)))]),
    '',
  ].join('\n')
}

export interface OpenRpcOptions {
  readonly version: string
  /** schemas that are defined once and referenced by name */
  readonly components: Readonly<Record<string, JsonSchema>>
}

/** All methods as an OpenRPC 1.3 document. */
export function openRpc(chapters: readonly Chapter[], { version, components }: OpenRpcOptions): JsonSchema {
  const names = new Map<unknown, string>(Object.entries(components).map(([name, noun]) => [noun, name]))
  return {
    openrpc: '1.3.2',
    info: { title: 'pocketchain', version, license: { name: 'MIT' } },
    methods: chapters.flatMap(({ title, methods }) => methods.map((row) => referring(openRpcMethod(title, row), names))),
    components: { schemas: Object.fromEntries([...names].map(([noun, name]) => [name, inside(noun, names)])) },
  }
}

function referring(value: unknown, names: ReadonlyMap<unknown, string>): unknown {
  const name = names.get(value)
  return name === undefined ? inside(value, names) : component(name)
}

function inside(value: unknown, names: ReadonlyMap<unknown, string>): unknown {
  if (Array.isArray(value)) return value.map((each) => referring(each, names))
  if (!isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, referring(part, names)]))
}

function openRpcMethod(tag: string, row: MethodDoc): JsonSchema {
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

function methodLink({ name }: MethodDoc): string {
  return `[${name}](#${name.toLowerCase()})`
}

/** The lines of one method. */
function methodEntry(row: MethodDoc, facts: readonly string[]): readonly string[] {
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

function parameters({ params }: MethodDoc): readonly string[] {
  return params.map(({ name, required, schema }, i) => {
    return `- ${i}. \`${name}\`${required ? '' : ' (optional)'}: ${typeName(schema.json)}`
  })
}

/** Returns a short description of a schema; an object with its keys. */
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

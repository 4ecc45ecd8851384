export { jsonWriter } from './available.ts'
export { logText } from './logtext.ts'
export type { LogPart } from './logtext.ts'
export type { JsonWriter, TextSink } from './writer.ts'

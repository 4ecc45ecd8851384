import type { Schema } from '../method.ts'
import { LATEST_SECONDS } from '../../chain/index.ts'
import { integer, refused } from '../../jsonrpc/schema.ts'

/** Values up to `most`; the message names the `unit`. */
export function atMost<T extends number | bigint>(schema: Schema<T>, max: T, unit: string): Schema<T> {
  return {
    json: schema.json,
    parse: (value, path) => {
      const parsed = schema.parse(value, path)
      if (parsed > max) throw refused(path, `${parsed} ${unit} are too many, at most ${max} are accepted`)
      return parsed
    },
  }
}

/** A time in seconds since 1970. */
export const timestamp: Schema<number> = {
  json: integer.json,
  parse: (value, path) => {
    const seconds = integer.parse(value, path)
    if (seconds > LATEST_SECONDS) throw tooLate(path, seconds)
    return seconds
  },
}

export function tooLate(path: string, seconds: number): Error {
  return refused(path, `${seconds} s is later than ${LATEST_SECONDS} s, the year 5138; it takes seconds, not milliseconds`)
}

import type { Abi } from 'viem'
import { parseAbi } from 'viem/utils'
import { useEffect, useState } from 'preact/hooks'
import { abiItems } from './abiitems.ts'

// The ABIs that the user registers, kept in the storage of this origin. A page of another origin cannot read or change them.

/** Characters of one ABI, and number of ABIs: together at most half of the 5 MB that browsers give to an origin. */
const ABI_CHARACTERS = 200_000
const ABIS = 12
const KEY = 'pocketchain abis'
const CHANGED = 'pocketchain abis changed'
/** Storage key of an ABI for all addresses. */
const EVERYWHERE = '*'

/** used where storage is blocked */
let inMemory: string | null = null
let parsed: { readonly text: string; readonly abis: ReadonlyMap<string, Abi> } = { text: '', abis: new Map() }

/** Returns the ABI that the user registered for an address, or null. */
export function abiOf(address: string): Abi | null {
  return registered().get(address.toLowerCase()) ?? null
}

/** Returns the ABI that the user registered for all addresses, or null. */
export function abiOfAll(): Abi | null {
  return registered().get(EVERYWHERE) ?? null
}

/** Registers a JSON ABI, an artifact with `abi`, or lines such as `function pay(address to)`. `address`: null for all. Throws Error with a sentence for the user. */
export function registerAbi(address: string | null, text: string): void {
  if (text.length > ABI_CHARACTERS) throw new Error(`This ABI has ${text.length} characters; at most ${ABI_CHARACTERS} are kept.`)
  const abi = parseText(text.trim())
  const key = address?.toLowerCase() ?? EVERYWHERE
  const abis = new Map([...registered()].filter(([each]) => each !== key))
  if (abis.size >= ABIS) throw new Error(`${ABIS} ABIs are registered; remove one first.`)
  write(new Map([...abis, [key, abi]]))
}

export function removeAbi(address: string | null): void {
  const key = address?.toLowerCase() ?? EVERYWHERE
  write(new Map([...registered()].filter(([each]) => each !== key)))
}

/** Renders the component again when an ABI is registered or removed, also in another tab. Returns a value that changes with each. */
export function useAbis(): string {
  const [text, setText] = useState(stored)
  useEffect(() => {
    const update = () => setText(stored())
    addEventListener(CHANGED, update)
    addEventListener('storage', update)
    return () => {
      removeEventListener(CHANGED, update)
      removeEventListener('storage', update)
    }
  }, [])
  return text
}

function parseText(text: string): Abi {
  if (text === '') throw new Error('Paste a JSON ABI, an artifact, or lines such as: function pay(address to)')
  return abiItems(/^[[{]/.test(text) ? itemsOf(text) : linesOf(text))
}

function itemsOf(text: string): readonly unknown[] {
  const value: unknown = parseJson(text)
  const items = Array.isArray(value) ? value : typeof value === 'object' && value !== null && 'abi' in value ? value.abi : null
  if (!Array.isArray(items))
    throw new Error('This JSON has no ABI: an array of functions, events and errors is expected, or an object with "abi".')
  return items as readonly unknown[]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('This is not valid JSON.')
  }
}

function linesOf(text: string): readonly object[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '')
  try {
    return parseAbi(lines) as readonly object[] // parseAbi's type is computed from literal lines
  } catch (error) {
    throw new Error(`A line is not a signature: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}`, { cause: error })
  }
}

function registered(): ReadonlyMap<string, Abi> {
  const text = stored()
  if (text !== parsed.text) parsed = { text, abis: read(text) }
  return parsed.abis
}

/** Another version of this page may have stored other values: those that are not an ABI are skipped. */
function read(text: string): ReadonlyMap<string, Abi> {
  try {
    const entries = Object.entries(JSON.parse(text) as Readonly<Record<string, unknown>>)
    return new Map(entries.flatMap(([key, value]) => (Array.isArray(value) ? [[key, abiItems(value)] as const] : [])))
  } catch {
    return new Map()
  }
}

function stored(): string {
  if (inMemory !== null) return inMemory
  try {
    return localStorage.getItem(KEY) ?? '{}'
  } catch {
    return '{}'
  }
}

function write(abis: ReadonlyMap<string, Abi>): void {
  const text = JSON.stringify(Object.fromEntries(abis))
  try {
    localStorage.setItem(KEY, text)
  } catch (error) {
    if (isFull(error)) throw new Error(STORAGE_FULL, { cause: error })
    inMemory = text
  }
  dispatchEvent(new Event(CHANGED))
}

const STORAGE_FULL =
  'The storage of this site in the browser is full, so nothing was changed: remove an ABI, or clear the data of this site.'

/** Not for blocked storage, where ABIs are kept until the page is closed. */
function isFull(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'QuotaExceededError' || error.name === 'NS_ERROR_DOM_QUOTA_REACHED')
}

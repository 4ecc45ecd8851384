/** The wallet's Records in localStorage, which persists across reloads. Bytes are stored as base64. */
export function storageRecords(storage) {
  const get = (key) => {
    const text = storage.getItem(key)
    return text === null ? null : Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  }
  return {
    get,
    put: (key, value) => {
      if (value === null) storage.removeItem(key)
      else storage.setItem(key, btoa(Array.from(value, (byte) => String.fromCharCode(byte)).join('')))
    },
    entries: (prefix) =>
      Object.keys(storage)
        .filter((key) => key.startsWith(prefix))
        .toSorted()
        .map((key) => [key, get(key)]),
  }
}

import { expect, test } from 'vitest'
import { VersionList } from './versionlist.ts'

test('a window of versions moves on and back', () => {
  const list = new VersionList<string>()
  const versions = () =>
    Array.from({ length: 200 }, (_, version) => version - 5).filter((version) => list.get(version) === `version ${version}`)
  let [oldest, newest] = [0, -1]
  for (let round = 0; round < 30; round++) {
    for (let added = 0; added < 6; added++) list.set(++newest, `version ${newest}`)
    for (let removed = 0; removed < 4 && oldest < newest; removed++, oldest++) list.removeOldest()
    list.removeNewest()
    newest--
    expect(versions()).toEqual(Array.from({ length: newest - oldest + 1 }, (_, index) => oldest + index))
    expect(list.size).toBe(newest - oldest + 1)
  }
  list.set(newest, 'replaced')
  expect([list.get(newest), list.get(newest + 1), list.get(oldest - 1)]).toEqual(['replaced', undefined, undefined])
})

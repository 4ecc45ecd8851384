import { describe, expect, test } from 'vitest'
import { newestId, withNewest, withOlder } from './loadedactivities.ts'
import type { LoadedActivities } from './loadedactivities.ts'
import type { Activity, ActivityPage } from './state.ts'

/** A page with these ids. */
function page(ids: string, next: string | null): ActivityPage {
  return { activities: ids.split('').map((id) => ({ id }) as Activity), next } // only ids are used
}

function shown({ activities, next }: LoadedActivities): readonly [ids: string, next: string | null] {
  return [activities.map(({ id }) => id).join(''), next]
}

describe('the newest page', () => {
  test.each([
    ['is the first one', { ...page('', null), rows: 3 }, page('cba', null), ['cba', null]],
    ['has no new activity', { ...page('edcba', null), rows: 6 }, page('edc', 'c'), ['edcba', null]],
    ['moves the oldest row to the next page', { ...page('edc', 'c'), rows: 3 }, page('fed', 'd'), ['fed', 'd']],
    ['is put before the older ones', { ...page('edcb', 'b'), rows: 6 }, page('gfe', 'e'), ['gfedcb', 'b']],
    ['has as many rows as were wanted', { ...page('fedcba', null), rows: 6 }, page('gfe', 'e'), ['gfedcb', 'b']],
    ['has no row of the older ones', { ...page('edcb', 'b'), rows: 6 }, page('ihg', 'g'), ['ihg', 'g']],
    ['is empty', { ...page('cba', null), rows: 3 }, page('', null), ['', null]],
  ] as const)('%s', (_, before, newest, after) => {
    expect(shown(withNewest(before, newest))).toEqual(after)
  })
})

describe('an older page', () => {
  const loaded = { ...page('fed', 'd'), rows: 6 }

  test('continues after its row, once', () => {
    const once = withOlder(loaded, 'd', page('cba', null))
    expect(shown(once)).toEqual(['fedcba', null])
    expect(shown(withOlder(once, 'd', page('cba', null)))).toEqual(['fedcba', null])
  })

  test('is left out if its row is not loaded', () => {
    expect(withOlder(loaded, 'x', page('wvu', null))).toBe(loaded)
  })
})

describe('the newest id', () => {
  const live = (...entries: readonly (readonly [id: string, at: number])[]) => new Map(entries.map(([id, at]) => [id, { id, at }]))

  test('is the one of the latest time, and the last of equal ones', () => {
    expect(newestId(live())).toBeNull()
    expect(newestId(live(['a', 1], ['c', 3], ['b', 2]))).toBe('c')
    expect(newestId(live(['a', 1], ['b', 1]))).toBe('b')
  })
})

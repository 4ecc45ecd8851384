import type { Activity, ActivityPage } from './state.ts'

/** Activities that were read, newest first, and where older ones continue. */
export interface LoadedActivities extends ActivityPage {
  /** how many are kept when newer ones are added */
  readonly rows: number
}

/** Puts the newest page before the older activities. If more are new than a page has, only that page is left. */
export function withNewest(loaded: LoadedActivities, page: ActivityPage): LoadedActivities {
  const { activities, next, rows } = loaded
  const last = activities.findIndex(({ id }) => id === page.activities.at(-1)?.id)
  const older = last === -1 ? [] : activities.slice(last + 1)
  if (older.length === 0) return { ...page, rows }
  const all = [...page.activities, ...older]
  const kept = all.slice(0, rows)
  return { activities: kept, next: kept.length < all.length ? (kept.at(-1)?.id ?? null) : next, rows }
}

/** Puts the page of activities older than `before` after that one; changes nothing if that one is no longer loaded. */
export function withOlder(loaded: LoadedActivities, before: string, page: ActivityPage): LoadedActivities {
  const last = loaded.activities.findIndex(({ id }) => id === before)
  if (last === -1) return loaded
  return { ...loaded, activities: [...loaded.activities.slice(0, last + 1), ...page.activities], next: page.next }
}

/** Returns the id of the newest activity. A change of its state moves an activity to the end of `live`, so the time of each counts. */
export function newestId(live: ReadonlyMap<string, Pick<Activity, 'id' | 'at'>>): string | null {
  let newest: Pick<Activity, 'id' | 'at'> | null = null
  for (const each of live.values()) if (newest === null || each.at >= newest.at) newest = each
  return newest?.id ?? null
}

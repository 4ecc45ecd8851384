import { Notice } from './parts.tsx'
import type { PageSecret } from '../wallet/secret.ts'

export function PromisesPage(_: { secret: PageSecret }) {
  return <Notice title="promises" />
}

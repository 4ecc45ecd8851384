import { Notice } from './parts.tsx'

export function BlockPage({ id }: { id: string }) {
  return <Notice title={id} />
}

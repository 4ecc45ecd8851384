import { Notice } from './parts.tsx'

export function OperationPage({ hash }: { hash: string }) {
  return <Notice title={hash} />
}

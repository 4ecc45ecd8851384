import { Notice } from './parts.tsx'

export function TransactionPage({ hash }: { hash: string }) {
  return <Notice title={hash} />
}

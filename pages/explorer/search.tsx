import { Notice } from './parts.tsx'

export function SearchPage({ text }: { text: string }) {
  return <Notice title={text} />
}

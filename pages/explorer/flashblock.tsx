import { Notice } from './parts.tsx'

export function FlashblockPage({ number, index }: { number: string; index: string }) {
  return <Notice title={`${number} ${index}`} />
}

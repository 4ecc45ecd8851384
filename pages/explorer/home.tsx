import { Notice } from './parts.tsx'

export function Home() {
  return <Notice title="home" />
}

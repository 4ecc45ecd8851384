import { Notice } from './parts.tsx'

export function AddressPage({ address }: { address: string }) {
  return <Notice title={address} />
}

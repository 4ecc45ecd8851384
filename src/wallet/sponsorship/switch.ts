import type { WalletContext } from '../context.ts'
import { sponsorshipOff } from '../errors.ts'

type Switches = Pick<WalletContext, 'sites' | 'settings'>

/** Whether a site may ask that others pay. */
export function isSponsorshipOn({ sites, settings }: Switches, origin: string): boolean {
  return settings.sponsorship && sites.isSponsorshipOn && sites.get(origin).sponsorship
}

/** Throws RpcError 4100 in the words of interface 7.4: the owner of the wallet has switched it off, or a person, for every site or this one. */
export function assertSponsorship(switches: Switches, origin: string): void {
  if (isSponsorshipOn(switches, origin)) return
  const { settings, sites } = switches
  if (settings.sponsorship && sites.isSponsorshipOn)
    throw sponsorshipOff('sponsorship-off-for-site', `it is switched off for ${origin} that others pay for what it asks`)
  throw sponsorshipOff('sponsorship-off', 'it is switched off in this wallet that others pay for what sites ask')
}

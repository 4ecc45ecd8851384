/** 10000 for 10^22 wei. */
export function formatEther(wei: bigint): string {
  const fraction = (wei % ETHER).toString().padStart(18, '0').replace(/0+$/, '')
  return fraction === '' ? `${wei / ETHER}` : `${wei / ETHER}.${fraction}`
}

export const ETHER = 10n ** 18n

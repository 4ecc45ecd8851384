/** What every app signs and sends, equal to test/browser/order.fixture.ts. */
export const SHOP = '0x00000000000000000000000000000000005eed01'
export const MESSAGE = 'I am at the shop.'
export const ORDER = {
  domain: { name: 'Shop', version: '1', chainId: 31_337 },
  primaryType: 'Order',
  types: { Order: [{ name: 'item', type: 'string' }] },
  message: { item: 'a cake' },
}

/** In the address: `app`, the app's name, and `node` and `second`, the URLs of two nodes. */
export const query = new URLSearchParams(location.search)

/**
 * True for a data: URI of an image, which whoever draws it fetches from nobody (ERC-7677): percent-encoded or base64, without quotes, angle brackets or
 * spaces, that end an attribute. What an <img> draws runs nothing, not even SVG.
 */
export function isImageUri(text: string): boolean {
  return IMAGE.test(text)
}

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)(?:;[a-z0-9=-]+)*,[A-Za-z0-9+/=%._~:@!$&'()*,;?-]+$/

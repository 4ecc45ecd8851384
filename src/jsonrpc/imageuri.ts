/**
 * Returns whether `text` is a data: URI of an image (ERC-7677), which causes no request: percent-encoded or base64, without the quotes, angle
 * brackets and spaces that end an attribute. An <img> executes no scripts, not even those of SVG.
 */
export function isImageUri(text: string): boolean {
  return IMAGE.test(text)
}

const IMAGE = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)(?:;[a-z0-9=-]+)*,[A-Za-z0-9+/=%._~:@!$&'()*,;?-]+$/

/**
 * Reads bytes in base64url without padding (RFC 4648 §5).
 *
 * @param length their number
 * @returns undefined for any other text, and for one that is not the canonical form of these bytes
 */
export function readBase64url(text: string, length: number): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  // Decoding is lenient; encoding again shows whether the text was the canonical one.
  return bytes.length === length && bytes.toString('base64url') === text ? bytes : undefined
}

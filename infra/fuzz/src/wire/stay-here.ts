/**
 * Whether a body names no host but those of the test: what the services fetch from the URLs in it stays on this machine.
 *
 * @param ports of this machine that may be named
 */
export function staysHere(body: Uint8Array, ports: readonly string[]): boolean {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    // Nothing is read from it.
    return true
  }
  return textsOf(value).every((text) => {
    if (!URL.canParse(text)) return true
    const { protocol, hostname, port } = new URL(text)
    const isFetched = protocol === 'http:' || protocol === 'https:'
    return !isFetched || (['localhost', '127.0.0.1'].includes(hostname) && ports.includes(port))
  })
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).flatMap(textsOf)
}

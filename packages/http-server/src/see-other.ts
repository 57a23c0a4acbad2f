import type { ServerResponse } from 'node:http'

/**
 * Sends a browser on with 303: it follows with GET and takes no form along, as it would with 307 or 308, which RFC 9635's
 * security considerations warn of.
 *
 * @param location absolute URL of visible ASCII, sent to the letter
 */
export function seeOther(response: ServerResponse, location: string): void {
  response.statusCode = 303
  response.setHeader('Location', location)
  response.end()
}

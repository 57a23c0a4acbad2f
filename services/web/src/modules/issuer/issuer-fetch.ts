import { OutgoingRequestError, type PostClient, type SafeHttpClient } from '@open-payments-server/http-client'
import type { CustomFetch } from 'openid-client'
import { ServiceAway } from '../../domain/grant.js'

/** Maximum size of an answer, in bytes. */
const BODY_BYTES_MAX = 131_072

/** How the issuer is asked: through the guarded clients, whose limits of time and size apply. */
export function createIssuerFetch(clients: {
  readonly json: SafeHttpClient
  readonly post: PostClient
}): CustomFetch {
  return async (url, { method, headers, body }) => {
    try {
      if (method === 'GET') {
        const { status, body: json } = await clients.json.getJson(url)
        return Response.json(json, { status })
      }
      const text = body instanceof URLSearchParams ? body.toString() : ''
      const answer = await clients.post.exchange(url, {
        headers,
        body: Buffer.from(text),
        bodyBytesMax: BODY_BYTES_MAX
      })
      return new Response(new Uint8Array(answer.body), {
        status: answer.status,
        headers: { 'content-type': answer.contentType ?? '' }
      })
    } catch (error) {
      if (error instanceof OutgoingRequestError) throw new ServiceAway('the issuer', { cause: error })
      throw error
    }
  }
}

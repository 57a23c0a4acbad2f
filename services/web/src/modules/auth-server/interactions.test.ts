import { describe, expect, it } from '@jest/globals'
import { OutgoingRequestError, type PostClient, type SafeHttpClient } from '@open-payments-server/http-client'
import { ServiceAway } from '../../domain/grant.js'
import { createInteractions } from './interactions.js'

const AT = { interactId: 'i', nonce: 'n' }
const ACCEPTANCE = { access: undefined, endsAtMs: undefined, proof: undefined }

/** Interactions at an auth server that answers so, and what is logged. */
function answering(exchange: () => ReturnType<PostClient['exchange']>) {
  const logged: unknown[] = []
  const interactions = createInteractions({
    apiUrl: 'http://auth.test',
    secret: 'secret',
    json: {} as SafeHttpClient, // nothing is read
    post: { exchange },
    logger: { warn: (line: unknown) => void logged.push(line) }
  })
  return { interactions, logged }
}
const said = (status: number, body: string) => () =>
  Promise.resolve({ status, contentType: undefined, body: Buffer.from(body) })
const failed = (isUnsent: boolean) => () =>
  Promise.reject(new OutgoingRequestError({ reason: 'timeout', message: 'too late', isUnsent }))

describe('a decision', () => {
  it.each<[string, () => ReturnType<PostClient['exchange']>]>([
    ['has no answer in time', failed(false)],
    ['is answered with half an object', said(202, '{"finishCode":')],
    ['is answered by a proxy', said(504, '')],
    ['is answered by a proxy in HTML', said(502, '<h1>Bad Gateway</h1>')]
  ])('that %s may be recorded, and the log says why that is not known', async (_what, exchange) => {
    const { interactions, logged } = answering(exchange)
    expect(await interactions.accept(AT, ACCEPTANCE)).toEqual({ outcome: 'unsure' })
    expect(await interactions.decline(AT)).toEqual({ outcome: 'unsure' })
    expect(logged).toHaveLength(2)
  })

  it('to accept that is answered without its code may be recorded', async () => {
    const { interactions } = answering(said(202, '{}'))
    expect(await interactions.accept(AT, ACCEPTANCE)).toEqual({ outcome: 'unsure' })
    expect(await interactions.decline(AT)).toEqual({ outcome: 'recorded', finishCode: undefined })
  })

  it.each<[string, () => ReturnType<PostClient['exchange']>]>([
    ['never left', failed(true)],
    ['is refused to this page', said(401, '{}')]
  ])('that %s is not recorded', async (_what, exchange) => {
    const { interactions } = answering(exchange)
    await expect(interactions.accept(AT, ACCEPTANCE)).rejects.toThrow(ServiceAway)
    await expect(interactions.decline(AT)).rejects.toThrow(ServiceAway)
  })
})

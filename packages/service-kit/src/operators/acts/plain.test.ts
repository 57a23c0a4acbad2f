import { describe, expect, it } from '@jest/globals'
import { events, wallet } from '@open-payments-server/proto'
import { requestText, wholeRequestText } from './plain.js'

const { updateWebhookEndpoint } = events.WebhookServiceService
const { settlePeer, updatePeer } = wallet.PeerServiceService

/** A request as the service receives it. */
const sent = <Request>(
  method: { requestSerialize(request: Request): Buffer; requestDeserialize(bytes: Buffer): Request },
  request: Request
): Request => method.requestDeserialize(method.requestSerialize(request))

describe('a request is written down', () => {
  it.each([
    ['a limit of a peer that is taken away', updatePeer, { name: 'other-bank', receivableLimitValue: '' }],
    ['routes of a peer that are taken away', updatePeer, { name: 'other-bank', routes: { addresses: [] } }],
    ['the end of a filter', updateWebhookEndpoint, { id: '1', walletAddress: '', enable: false }]
  ] as const)('with %s', (_what, method, request) => {
    const form = { blank: method.requestDeserialize(Buffer.alloc(0)) }
    const received = sent<object>(method, request)
    expect(JSON.parse(requestText(received, form))).toEqual(request)
    expect(JSON.parse(wholeRequestText(received, form))).toEqual(request)
  })

  it('without what is always there and says nothing', () => {
    const form = { blank: settlePeer.requestDeserialize(Buffer.alloc(0)) }
    const request = wallet.SettlePeerRequest.fromPartial({ name: 'other-bank', value: '7' })
    expect(JSON.parse(requestText(sent(settlePeer, request), form))).toEqual({
      name: 'other-bank',
      direction: 0,
      value: '7'
    })
  })

  it('without secrets in the log, also empty ones', () => {
    const form = { blank: updatePeer.requestDeserialize(Buffer.alloc(0)), secrets: ['outgoingToken'] }
    const request = wallet.UpdatePeerRequest.fromPartial({ name: 'other-bank', outgoingToken: '' })
    expect(requestText(sent(updatePeer, request), form)).toBe('{"name":"other-bank"}')
  })
})

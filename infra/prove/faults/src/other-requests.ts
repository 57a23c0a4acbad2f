import { randomUUID } from 'node:crypto'
import {
  amount,
  createReceiver,
  openInteraction,
  outgoingAccess,
  requestInteractiveGrant,
  requestToken,
  type System
} from '@open-payments-server/acceptance'
import { type Answer, send } from '@open-payments-server/testing'

/** A request other than a payment. */
export interface OtherRequest {
  readonly name: string
  /** The status of its answer without a disturbance. */
  readonly status: number
  readonly send: () => Promise<Answer>
}

/** Requests of every kind but payments, which can be repeated at any time. */
export async function prepareOtherRequests(system: System, payToken: string): Promise<OtherRequest[]> {
  const { shop, resourceServerUrl, authServerUrl, walletAddresses } = system
  const receiver = await createReceiver(system, shop)
  const quoteAccess = [{ type: 'quote', actions: ['create', 'read'] }]
  const quoteToken = await requestToken(system, shop, quoteAccess)
  const grant = await requestInteractiveGrant(system, shop, [outgoingAccess(system)])
  // If an answer is lost, a browser cannot know whether it was the first: this one is, and may repeat the request.
  const { cookie } = await openInteraction(system, grant)
  const quoting = {
    accessToken: quoteToken,
    body: {
      walletAddress: walletAddresses.alice,
      receiver: receiver.url,
      method: 'ilp',
      debitAmount: amount(100)
    }
  }
  const quote = await shop.request('POST', `${resourceServerUrl}/quotes`, quoting)
  const list = `${resourceServerUrl}/outgoing-payments?wallet-address=${encodeURIComponent(walletAddresses.alice)}`
  const asking = { client: shop.walletAddress, access_token: { access: quoteAccess } }
  const rotated = await shop.request('POST', authServerUrl, { body: asking })
  const rotate = createRotation(system, rotated)
  return [
    { name: 'a wallet address', status: 200, send: () => send('GET', walletAddresses.bob) },
    { name: 'keys', status: 200, send: () => send('GET', `${walletAddresses.shop}/jwks.json`) },
    {
      name: 'an incoming payment',
      status: 200,
      send: () => shop.request('GET', receiver.url, { accessToken: receiver.token })
    },
    {
      name: 'a new incoming payment',
      status: 201,
      send: () =>
        shop.request('POST', `${resourceServerUrl}/incoming-payments`, {
          accessToken: receiver.token,
          headers: { 'idempotency-key': randomUUID() },
          body: { walletAddress: walletAddresses.bob }
        })
    },
    {
      name: 'a quote',
      status: 200,
      send: () => shop.request('GET', quote.textAt('id'), { accessToken: quoteToken })
    },
    {
      name: 'a new quote',
      status: 201,
      send: () => shop.request('POST', `${resourceServerUrl}/quotes`, quoting)
    },
    {
      name: 'the outgoing payments',
      status: 200,
      send: () => shop.request('GET', list, { accessToken: payToken })
    },
    {
      name: 'what a grant has spent',
      status: 200,
      send: () =>
        shop.request('GET', `${resourceServerUrl}/outgoing-payment-grant`, { accessToken: payToken })
    },
    { name: 'a grant', status: 200, send: () => shop.request('POST', authServerUrl, { body: asking }) },
    { name: 'a rotation', status: 200, send: rotate },
    {
      name: 'the consent page',
      status: 303,
      send: () => send('GET', system.reach(grant.redirect), { cookie })
    }
  ]
}

/** Rotates a token repeatedly. After a rotation whose result is unknown, the token may have changed: it takes a new one. */
function createRotation(system: System, first: Answer): () => Promise<Answer> {
  let issued = first
  let isKnown = true
  const asking = {
    client: system.shop.walletAddress,
    access_token: { access: [{ type: 'quote', actions: ['create'] }] }
  }
  return async () => {
    if (!isKnown) {
      const fresh = await system.shop.request('POST', system.authServerUrl, { body: asking })
      if (fresh.status !== 200) return fresh
      issued = fresh
    }
    const answer = await system.shop.request('POST', issued.textAt('access_token.manage'), {
      accessToken: issued.textAt('access_token.value')
    })
    isKnown = answer.status === 200
    if (isKnown) issued = answer
    return answer
  }
}

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  type ClientCall,
  RELEASED_CLIENTS,
  type ReleasedClient,
  sendRaw,
  type WireRequest,
  wireBytes
} from '@open-payments-server/testing'
import { consentedToken, FINISH_URI, interact, outgoingAccess, requestToken } from '../src/consent.js'
import { allSettled, amount, createReceiver } from '../src/payments.js'
import { startSystem, type System } from '../src/system.js'

const DEBIT_VALUE = '1250'

let system: System

/** A request as a client writes it, signed with the shop's key now. */
function write(client: ReleasedClient, call: ClientCall, omitted?: string): WireRequest {
  const { privateKey, keyId } = system.shop.key
  const createdSeconds = Math.floor(system.clock.now() / 1_000)
  return client.write(call, {
    privateKey,
    keyId,
    createdSeconds,
    ...(omitted === undefined ? {} : { omitted })
  })
}

/** Sends a request to its endpoint. Returns the status and the body. */
async function send(
  { url }: ClientCall,
  request: WireRequest
): Promise<{ status: number; body: Record<string, unknown> }> {
  const { port, hostname } = new URL(url)
  const answers = await sendRaw(Number(port), wireBytes(request, true), hostname)
  expect(answers).toHaveLength(1)
  const [answer] = answers
  const text = Buffer.from(answer?.body ?? '', 'latin1').toString()
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  return { status: answer?.status ?? 0, body }
}

function grantCall(client: ReleasedClient): ClientCall {
  return {
    method: 'POST',
    // Wallet addresses advertise it with a slash; other sources may not.
    url: client.grantUrl(system.authServerUrl.replace(/\/$/, '')),
    body: client.grantBody({
      client: system.shop.walletAddress,
      walletAddress: system.walletAddresses.alice,
      debitValue: DEBIT_VALUE,
      finishUri: `${FINISH_URI}&a=b`,
      nonce: 'client-nonce'
    })
  }
}

/** A payment for which a grant and a quote were created. */
async function paymentCall(client: ReleasedClient): Promise<ClientCall> {
  const receiver = await createReceiver(system, system.shop, { incoming: BigInt(DEBIT_VALUE) })
  const quoteToken = await requestToken(system, system.shop, [{ type: 'quote', actions: ['create'] }])
  const quote = await system.shop.request('POST', `${system.resourceServerUrl}/quotes`, {
    accessToken: quoteToken,
    body: { walletAddress: system.walletAddresses.alice, receiver: receiver.url, method: 'ilp' }
  })
  const access = outgoingAccess(system, { debitAmount: amount(Number(DEBIT_VALUE)) })
  const { token } = await consentedToken(system, system.shop, [access])
  return {
    method: 'POST',
    url: client.paymentUrl(system.resourceServerUrl),
    accessToken: token,
    body: client.paymentBody({
      walletAddress: system.walletAddresses.alice,
      quoteId: quote.textAt('id'),
      note: 'Crème brûlée <&> 🍮'
    })
  }
}

interface Pending {
  readonly redirect: string
  readonly continueUri: string
  readonly token: string
  readonly waitSeconds: number
}

/** A grant that waits for consent. */
function readPending(body: Record<string, unknown>): Pending {
  const { interact, continue: next } = body as {
    interact: { redirect: string }
    continue: { uri: string; wait: number; access_token: { value: string } }
  }
  const { uri: continueUri, wait: waitSeconds, access_token } = next
  return { redirect: interact.redirect, continueUri, token: access_token.value, waitSeconds }
}

/** The token of an answer, which must have one. */
function readToken(answer: { status: number; body: Record<string, unknown> }): {
  value: string
  manage: string
} {
  expect(answer).toMatchObject({ status: 200, body: { access_token: { value: expect.any(String) } } })
  return answer.body.access_token as { value: string; manage: string }
}

/** The request with the value of one header changed. */
function withHeader(request: WireRequest, name: string, change: (value: string) => string): WireRequest {
  let changedCount = 0
  const headers = request.headers.map(([header, value]) => {
    if (header.toLowerCase() !== name) return [header, value] as const
    changedCount += 1
    return [header, change(value)] as const
  })
  expect(changedCount).toBe(1)
  return { ...request, headers }
}

const MUTATIONS: readonly [what: string, mutate: (request: WireRequest) => WireRequest][] = [
  [
    'with one byte of its body changed',
    (request) => ({ ...request, body: Buffer.from(request.body.toString().replace('alice', 'alicf')) })
  ],
  ['sent to another path', (request) => ({ ...request, target: `${request.target}?x=1` })],
  [
    'with another created',
    (request) =>
      withHeader(request, 'signature-input', (value) =>
        value.replace(/created=\d+/, (text) => `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`)
      )
  ],
  [
    'with another keyid',
    (request) => withHeader(request, 'signature-input', (value) => value.replace('keyid="', 'keyid="other'))
  ],
  [
    'with a second signature behind the first',
    (request) =>
      withHeader(
        withHeader(request, 'signature', (value) => `${value}, ${value.replace('sig1', 'sig2')}`),
        'signature-input',
        (value) => `${value}, ${value.replace('sig1', 'sig2')}`
      )
  ],
  [
    'with a second header of each signature',
    (request) => ({
      ...request,
      headers: [
        ...request.headers,
        ...request.headers.filter(([name]) => name.toLowerCase().startsWith('signature'))
      ]
    })
  ],
  [
    'with a bit of its signature flipped',
    (request) =>
      withHeader(request, 'signature', (value) =>
        value.replace(/.(?=[^=:]{40}[=:]*$)/, (letter) => (letter === 'A' ? 'B' : 'A'))
      )
  ],
  [
    'with its components in another order',
    (request) =>
      withHeader(request, 'signature-input', (value) =>
        value.replace(/("?)@method\1 \1@target-uri\1/, '$1@target-uri$1 $1@method$1')
      )
  ]
]

const OMITTED = ['@method', '@target-uri', 'content-digest']

beforeAll(async () => {
  system = await startSystem()
})
afterAll(() => system.stop())

describe.each(RELEASED_CLIENTS.map((client) => [client.name, client] as const))(
  'the official client for %s',
  (_name, client) => {
    it('is granted what it asks for', async () => {
      const call = grantCall(client)
      const { status, body } = await send(call, write(client, call))
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { interact: { redirect: expect.any(String) } }
      })
    })

    it('continues its grant, rotates the token, and cancels the grant', async () => {
      const asking = grantCall(client)
      const asked = await send(asking, write(client, asking))
      const pending = readPending(asked.body)
      const finished = await interact(system, pending, 'accept')
      await system.passSeconds(pending.waitSeconds)
      const { token: continuationToken, continueUri } = pending
      const continuing: ClientCall = {
        method: 'POST',
        url: client.continueUrl(continueUri),
        accessToken: continuationToken,
        body: client.continueBody({
          client: system.shop.walletAddress,
          reference: finished.searchParams.get('interact_ref') ?? ''
        })
      }
      const granted = readToken(await send(continuing, write(client, continuing)))
      const rotating: ClientCall = { method: 'POST', url: granted.manage, accessToken: granted.value }
      const rotated = readToken(await send(rotating, write(client, rotating)))
      expect(rotated.value).not.toBe(granted.value)
      const cancelling: ClientCall = { method: 'DELETE', url: continueUri, accessToken: continuationToken }
      expect(await send(cancelling, write(client, cancelling))).toEqual({ status: 204, body: {} })
      const reading: ClientCall = {
        method: 'GET',
        url: system.walletAddresses.alice.replace('alice', 'outgoing-payment-grant'),
        accessToken: rotated.value
      }
      expect(await send(reading, write(client, reading))).toMatchObject({
        status: 403,
        body: { error: { description: 'Inactive Token' } }
      })
    })

    it('pays from a quote, and its text round-trips', async () => {
      const call = await paymentCall(client)
      const { status, body } = await send(call, write(client, call))
      expect({ status, body }).toMatchObject({
        status: 201,
        body: { debitAmount: { value: DEBIT_VALUE }, metadata: { note: 'Crème brûlée <&> 🍮' } }
      })
      await allSettled(system)
      const url = client.readUrl(String(body.id))
      const reading: ClientCall = { method: 'GET', url, accessToken: String(call.accessToken) }
      expect(await send(reading, write(client, reading))).toMatchObject({
        status: 200,
        body: { sentAmount: { value: DEBIT_VALUE } }
      })
    })

    it.each(MUTATIONS)('is refused %s, by both servers', async (_what, mutate) => {
      for (const call of [grantCall(client), await paymentCall(client)]) {
        const request = write(client, call)
        // To the auth server, an unknown key is the client's error.
        expect([400, 401]).toContain((await send(call, mutate(request))).status)
      }
    })

    it('is refused with another method', async () => {
      const call: ClientCall = {
        method: 'GET',
        url: system.walletAddresses.alice.replace('alice', 'outgoing-payment-grant'),
        accessToken: (await paymentCall(client)).accessToken ?? ''
      }
      const request = write(client, call)
      expect((await send(call, request)).status).toBe(200)
      const asHead = { ...write(client, { ...call, method: 'POST' }), method: 'GET' }
      expect((await send(call, asHead)).status).toBe(401)
    })

    it.each([...OMITTED, 'authorization'])('is refused where it does not cover %s', async (omitted) => {
      const payment = await paymentCall(client)
      const calls = omitted === 'authorization' ? [payment] : [grantCall(client), payment]
      for (const call of calls) {
        expect((await send(call, write(client, call, omitted))).status).toBe(401)
      }
    })
  }
)

it('stores nothing of refused requests', async () => {
  const [row] = await system.resourceDatabase.query<{ count: string }>(
    'select count(*) from outgoing_payment'
  )
  expect(row?.count).toBe(String(RELEASED_CLIENTS.length))
  expect(await system.audit()).toEqual([])
})

describe('with SIGNATURE_RELEASED_CLIENT_FORMS off', () => {
  beforeAll(async () => {
    await system.stop()
    const settings = { SIGNATURE_RELEASED_CLIENT_FORMS: 'false' }
    system = await startSystem({ auth: settings, resource: settings })
  })

  it.each(RELEASED_CLIENTS.map((client) => [client.name, client] as const))(
    'the client for %s is accepted only if it signs as RFC 9421 says',
    async (_name, client) => {
      const grant = grantCall(client)
      expect((await send(grant, write(client, grant))).status).toBe(client.isOutsideRfc ? 401 : 200)
      const payment = await paymentCall(client)
      expect((await send(payment, write(client, payment))).status).toBe(client.isOutsideRfc ? 401 : 201)
    }
  )
})

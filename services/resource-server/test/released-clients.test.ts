import {
  createSigningClient,
  createTestKey,
  readWireFixtures,
  sendRaw,
  WIRE_FIXTURE_PARTS,
  type WireFixture,
  type WireFixtureKind
} from '@open-payments-server/testing'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type PaymentWorld, startPaymentWorld } from './support/payment-world.js'

const { client, walletAddress, accessToken, privateKey, keyId, quoteId, paymentId, resourceServer } =
  WIRE_FIXTURE_PARTS
const access = [
  { type: 'incoming-payment', actions: ['create'] },
  { type: 'quote', actions: ['create'] },
  { type: 'outgoing-payment', actions: ['create', 'read'] }
] as const
const FIXTURES = readWireFixtures()

let world: PaymentWorld

beforeEach(async () => {
  world = await startPaymentWorld({ settings: { PUBLIC_URL: resourceServer } })
})
afterEach(() => world.stop())

/** What the recorded requests refer to: a token of the client, and a quote of the recorded id. */
async function prepare({ createdSeconds }: WireFixture): Promise<void> {
  world.clock.set(createdSeconds * 1_000)
  const expiresAt = new Date((createdSeconds + 600) * 1_000)
  const setUpKey = createTestKey('set-up-key')
  const recordedKey = { keyId, privateKey, jwk: exportEd25519Jwk(privateKey, keyId) }
  world.auth.issueToken({ client, accessToken, keys: [recordedKey, setUpKey], access, expiresAt })
  const connect = (url: string): string =>
    url.replace(resourceServer, `http://127.0.0.1:${String(world.server.httpPort)}`)
  const signing = createSigningClient({ ...setUpKey, clock: world.clock, connect })
  const create = async (path: string, body: object): Promise<string> =>
    (await signing.request('POST', `${resourceServer}${path}`, { accessToken, body })).textAt('id')
  const incomingAmount = { value: WIRE_FIXTURE_PARTS.debitValue, assetCode: 'USD', assetScale: 2 }
  const receiver = await create('/incoming-payments', {
    walletAddress: walletAddress.replace('alice', 'bob'),
    incomingAmount
  })
  const quote = await create('/quotes', { walletAddress, receiver, method: 'ilp' })
  await world.database.query('update quote set id = $1 where id = $2', [idOf(quoteId), idOf(quote)])
}

/** Sends the recorded bytes. Only the end of the connection is asked for, which no signature covers. */
async function sendRecorded(fixture: WireFixture) {
  const text = fixture.bytes.toString('latin1').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const [answer] = await sendRaw(world.server.httpPort, text)
  return {
    status: answer?.status,
    body: JSON.parse(Buffer.from(answer?.body ?? '', 'latin1').toString()) as unknown
  }
}

function idOf(url: string): string {
  return url.slice(-36)
}

function fixtureOf(name: string, wanted: WireFixtureKind): WireFixture {
  const found = FIXTURES.find((fixture) => fixture.client.name === name && fixture.kind === wanted)
  if (found === undefined) throw new Error(`there is no fixture of ${name}`)
  return found
}

describe('the requests on the wire of the official client for', () => {
  it.each([...new Set(FIXTURES.map((fixture) => fixture.client.name))])(
    '%s are accepted when they were signed',
    async (name) => {
      const payment = fixtureOf(name, 'payment')
      await prepare(payment)
      const created = await sendRecorded(payment)
      expect(created).toMatchObject({
        status: 201,
        body: { metadata: { note: WIRE_FIXTURE_PARTS.note } }
      })
      await world.whenDelivered()
      const { id } = created.body as { id: string }
      await world.database.query('update outgoing_payment set id = $1 where id = $2', [
        idOf(paymentId),
        idOf(id)
      ])
      expect(await sendRecorded(fixtureOf(name, 'reading'))).toMatchObject({
        status: 200,
        body: { id: paymentId, sentAmount: { value: WIRE_FIXTURE_PARTS.debitValue } }
      })
    }
  )
})

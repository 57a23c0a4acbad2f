import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { RELEASED_CLIENTS, type ClientCall, type ReleasedClient } from './released-clients.js'

const KINDS = ['grant', 'continuation', 'rotation', 'cancellation', 'payment', 'reading'] as const

/** What a request of a fixture does. */
export type WireFixtureKind = (typeof KINDS)[number]

/** One request of a released client, as it went over the wire. See `wire/README.md`. */
export interface WireFixture {
  readonly client: ReleasedClient
  readonly kind: WireFixtureKind
  /** Whether the release itself wrote it when it was run. Otherwise it is reconstructed from the release's sources. */
  readonly isRecorded: boolean
  /** Path below `wire`. */
  readonly file: string
  readonly bytes: Buffer
  /** When it was signed, in seconds since 1970. */
  readonly createdSeconds: number
  /** Where it was sent, without a path. */
  readonly origin: string
  /** What the client was asked to do. */
  readonly call: ClientCall
}

/** The values in all fixtures. */
export const WIRE_FIXTURE_PARTS = {
  /** The key `test-key-ed25519`, published in RFC 9421 Appendix B.1.4. */
  privateKey: createPrivateKey({
    key: Buffer.from('MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF', 'base64'),
    format: 'der',
    type: 'pkcs8'
  }),
  keyId: 'key-1',
  client: 'https://shop.example/shop',
  walletAddress: 'https://wallet.example/alice',
  authServer: 'https://auth.example',
  resourceServer: 'https://wallet.example',
  accessToken: 'OS9M2PMHKUR64TB8N6BW7OZB8CDFONP219RP1LT0',
  quoteId: 'https://wallet.example/quotes/ab03296b-0c8b-4776-b94e-7ee27d868d4d',
  paymentId: 'https://wallet.example/outgoing-payments/3859b39e-4666-4ce5-8745-72f1864c5371',
  debitValue: '1250',
  note: 'Crème brûlée <&> 🍮'
} as const

/** Reads the fixtures: every kind, of every released client. */
export function readWireFixtures(): WireFixture[] {
  return RELEASED_CLIENTS.flatMap((client) => KINDS.map((kind) => readFixture(client, kind)))
}

function readFixture(client: ReleasedClient, kind: WireFixtureKind): WireFixture {
  const isRecorded = !client.name.startsWith('.NET')
  const name = client.name.toLowerCase().replace('.net', 'dotnet').replace(' ', '-')
  const file = `${isRecorded ? 'recorded' : 'reconstructed'}/${name}-${kind}.http`
  const bytes = readFileSync(new URL(`../wire/${file}`, import.meta.url))
  const [, created = ''] = /;created=(\d+)/.exec(bytes.toString('latin1')) ?? []
  const isPayment = kind === 'payment' || kind === 'reading'
  return {
    client,
    kind,
    isRecorded,
    file,
    bytes,
    createdSeconds: Number(created),
    origin: isPayment ? WIRE_FIXTURE_PARTS.resourceServer : WIRE_FIXTURE_PARTS.authServer,
    call: callOf(client, kind)
  }
}

function callOf(client: ReleasedClient, kind: WireFixtureKind): ClientCall {
  const { authServer, accessToken, resourceServer } = WIRE_FIXTURE_PARTS
  const continueUri = `${authServer}/continue/8f69de01-5bf9-4603-91ed-eeca101081f1`
  switch (kind) {
    case 'grant':
      return {
        method: 'POST',
        url: client.grantUrl(authServer),
        body: client.grantBody({
          ...WIRE_FIXTURE_PARTS,
          finishUri: 'https://shop.example/finish?order=17&x=1',
          nonce: 'client-nonce'
        })
      }
    case 'continuation': {
      const body = client.continueBody({ ...WIRE_FIXTURE_PARTS, reference: '4IFWWIKYB2PQ6U56NL1' })
      return { method: 'POST', url: client.continueUrl(continueUri), accessToken, body }
    }
    case 'rotation':
      return {
        method: 'POST',
        url: `${authServer}/token/dd17a202-9982-4ed9-ae31-564947fb6379`,
        accessToken
      }
    case 'cancellation':
      return { method: 'DELETE', url: continueUri, accessToken }
    case 'payment': {
      const body = client.paymentBody(WIRE_FIXTURE_PARTS)
      return { method: 'POST', url: client.paymentUrl(resourceServer), accessToken, body }
    }
    case 'reading':
      return { method: 'GET', url: client.readUrl(WIRE_FIXTURE_PARTS.paymentId), accessToken }
  }
}

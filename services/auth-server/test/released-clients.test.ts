import { createHash } from 'node:crypto'
import { jwkThumbprint } from '@open-payments-server/http-signatures'
import { exportEd25519Jwk } from '@open-payments-server/http-signatures/sign'
import {
  readWireFixtures,
  RELEASED_CLIENTS,
  sendRaw,
  WIRE_FIXTURE_PARTS,
  type WireFixture,
  wireBytes
} from '@open-payments-server/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { startTestAuthServer, type TestAuthServer, type TestClient } from './auth-server.js'
import { decide, outgoingPaymentRequest, requestGrant } from './grants.js'

const PUBLIC_URL = `${WIRE_FIXTURE_PARTS.authServer}/`
const { accessToken, keyId, privateKey } = WIRE_FIXTURE_PARTS
const FIXTURES = readWireFixtures()
const secretHash = createHash('sha256').update(accessToken).digest()

/** What a path ends with, or a body has. */
function recorded(fixture: WireFixture, pattern: RegExp): string {
  const [, found] = pattern.exec(fixture.bytes.toString('latin1')) ?? []
  if (found === undefined) throw new Error(`${fixture.file} has no ${pattern.source}`)
  return found
}

describe.each([...new Set(FIXTURES.map(({ client }) => client.name))])('the client for %s', (name) => {
  const [continuation, rotation, cancellation] = (['continuation', 'rotation', 'cancellation'] as const).map(
    (wanted) => FIXTURES.find(({ client, kind }) => client.name === name && kind === wanted)
  )
  let auth: TestAuthServer

  beforeAll(async () => {
    auth = await startTestAuthServer({ PUBLIC_URL })
  })
  afterAll(() => auth.stop())

  /** Sends the recorded bytes. Only the end of the connection is asked for, which no signature covers. */
  const sendRecorded = async (fixture: WireFixture) => {
    auth.clock.set(fixture.createdSeconds * 1_000)
    const text = fixture.bytes.toString('latin1').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    const [answer] = await sendRaw(auth.server.httpPort, text)
    return { status: answer?.status, body: answer?.body ?? '' }
  }

  /** An accepted grant of the recorded id, token and reference, whose client is known by the recorded key. */
  const prepare = async (fixture: WireFixture): Promise<void> => {
    auth.clock.set((fixture.createdSeconds - 10) * 1_000)
    const shop = auth.createClient('shop')
    const { request } = auth.signWithAt(shop.key, PUBLIC_URL)
    const alice = auth.wallet.setWalletAddress('alice', { authServer: PUBLIC_URL })
    const grant = await requestGrant(
      { ...shop, request: (method, _url, options) => request(method, PUBLIC_URL, options) },
      outgoingPaymentRequest(shop.walletAddress, alice)
    )
    await decide(auth, grant, 'accept')
    const jwk = exportEd25519Jwk(privateKey, keyId)
    const thumbprint = await jwkThumbprint(jwk)
    await auth.database.query(
      `update grant_request
          set id = $1, continuation_token_hash = $2, client_wallet_address = null, client_jwk_thumbprint = $3,
              key_id = $4, key_x = $5`,
      [recorded(fixture, /continue\/([\da-f-]{36})/), secretHash, thumbprint, keyId, jwk.x]
    )
    await auth.database.query('update interaction set reference = $1', [
      recorded(fixture, /"interact_ref":"(\w+)"/)
    ])
  }

  it('continues a grant, rotates its token and cancels it with the bytes on the wire', async () => {
    if (continuation === undefined || rotation === undefined || cancellation === undefined) {
      throw new Error('a fixture is missing')
    }
    await prepare(continuation)
    const continued = await sendRecorded(continuation)
    expect(continued).toMatchObject({ status: 200, body: expect.stringContaining('"manage"') })
    await auth.database.query('update access_token set id = $1, value_hash = $2', [
      recorded(rotation, /token\/([\da-f-]{36})/),
      secretHash
    ])
    expect(await sendRecorded(rotation)).toMatchObject({
      status: 200,
      body: expect.stringContaining('"manage"')
    })
    expect(await sendRecorded(cancellation)).toEqual({ status: 204, body: '' })
    expect(await auth.database.query('select state from grant_request')).toEqual([{ state: 'revoked' }])
  })
})

describe('under a public URL with a path, which the proxy removes', () => {
  const publicUrl = 'https://wallet.example/auth/'
  let auth: TestAuthServer
  let shop: TestClient

  beforeAll(async () => {
    auth = await startTestAuthServer({ PUBLIC_URL: publicUrl })
    shop = auth.createClient('shop')
  })
  afterAll(() => auth.stop())

  it.each(RELEASED_CLIENTS.map((client) => [client.name, client] as const))(
    'the client for %s is granted what it asks for, whether it adds a slash or not',
    async (_name, client) => {
      const call = {
        method: 'POST',
        url: client.grantUrl(publicUrl),
        body: client.grantBody({
          client: shop.walletAddress,
          walletAddress: auth.wallet.setWalletAddress('alice', { authServer: publicUrl }),
          debitValue: '1250',
          finishUri: 'https://shop.example/finish',
          nonce: 'client-nonce'
        })
      } as const
      const createdSeconds = Math.floor(auth.clock.now() / 1_000)
      const wire = client.write(call, { ...shop.key, createdSeconds })
      const target = wire.target.replace('/auth', '')
      const [answer] = await sendRaw(auth.server.httpPort, wireBytes({ ...wire, target }, true))
      expect(answer).toMatchObject({ status: 200, body: expect.stringContaining(`"${publicUrl}interact/`) })
    }
  )
})

import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { REQUESTS_TO_STRANGER_MAX } from '@open-payments-server/http-client'
import { type Answer, createTestKey } from '@open-payments-server/testing'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from '../../../test/auth-server.js'
import { issueGrant } from '../../../test/grants.js'

/** A host of clients that takes connections and never says a word. */
class SilentHost {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #patient = true

  private constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => undefined)
      this.#sockets.add(socket)
      if (!this.#patient) socket.destroy()
    })
  }

  static async start(): Promise<SilentHost> {
    const host = new SilentHost()
    host.#server.listen(0, '127.0.0.1')
    await once(host.#server, 'listening')
    return host
  }

  /** Wallet address of a client here. */
  walletAddress(name: string): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/${name}`
  }

  /** Ends every connection, those that come later too. */
  hangUp(): void {
    this.#patient = false
    for (const socket of this.#sockets) socket.destroy()
  }

  stop(): void {
    this.hangUp()
    this.#server.close()
  }
}

describe('clients whose host never answers', () => {
  let auth: TestAuthServer
  let host: SilentHost

  beforeAll(async () => {
    auth = await startTestAuthServer()
    host = await SilentHost.start()
  })
  afterAll(async () => {
    host.stop()
    await auth.stop()
  })

  it('take only their few places: one too many is answered 503, and others are served as ever', async () => {
    const shop = auth.createClient('shop')
    const key = createTestKey('silent')
    const ask = (index: number): Promise<Answer> =>
      auth.signWith(key).request('POST', PUBLIC_URL, {
        body: {
          client: host.walletAddress(`client-${String(index)}`),
          access_token: { access: [{ type: 'quote', actions: ['create'] }] }
        }
      })
    const asked = Array.from({ length: REQUESTS_TO_STRANGER_MAX + 1 }, (_, index) => ask(index))

    const first = await Promise.race(asked)
    expect(first).toMatchObject({ status: 503, body: { error: { code: 'request_denied' } } })
    expect(first.headers.get('retry-after')).toBe('1')
    for (let count = 0; count < 3; count += 1) expect((await issueGrant(shop)).status).toBe(200)

    host.hangUp()
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: REQUESTS_TO_STRANGER_MAX }, () => 400), 503])
  })
})

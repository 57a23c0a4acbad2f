import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { REQUESTS_TO_KNOWN_HOST_MAX, REQUESTS_TO_STRANGER_MAX } from '@open-payments-server/http-client'
import { type Answer, createTestKey, type TestKey } from '@open-payments-server/testing'
import { PUBLIC_URL, startTestAuthServer, type TestAuthServer } from '../../../test/auth-server.js'
import { issueGrant } from '../../../test/grants.js'

/** A host of clients that takes connections and never says a word, but for the keys of one client. */
class SilentHost {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #patient = true
  #published: { readonly path: string; readonly key: TestKey } | undefined

  private constructor() {
    this.#server = createServer((socket) => {
      socket.on('error', () => undefined)
      this.#sockets.add(socket)
      if (!this.#patient) socket.destroy()
      socket.on('data', (request) => {
        if (this.#published === undefined || !request.includes(` ${this.#published.path} `)) return
        const body = JSON.stringify({ keys: [this.#published.key.jwk] })
        const head = `content-type: application/json\r\ncontent-length: ${String(body.length)}`
        socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`)
      })
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

  /** Publishes the key of one client, and answers its wallet address. */
  publish(name: string, key: TestKey): string {
    this.#published = { path: `/${name}/jwks.json`, key }
    return this.walletAddress(name)
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

  beforeEach(async () => {
    auth = await startTestAuthServer()
    host = await SilentHost.start()
  })
  afterEach(async () => {
    host.stop()
    await auth.stop()
  })

  const ask = (walletAddress: string, key: TestKey): Promise<Answer> =>
    auth.signWith(key).request('POST', PUBLIC_URL, {
      body: {
        client: walletAddress,
        access_token: { access: [{ type: 'quote', actions: ['create'] }] }
      }
    })

  /** Asks as this many clients of the host at a time. */
  const askAsMany = (length: number): Promise<Answer>[] => {
    const key = createTestKey('silent')
    return Array.from({ length }, (_, index) => ask(host.walletAddress(`client-${String(index)}`), key))
  }

  it('take only their few places: one too many is answered 503, and others are served as ever', async () => {
    const shop = auth.createClient('shop')
    const asked = askAsMany(REQUESTS_TO_STRANGER_MAX + 1)

    const first = await Promise.race(asked)
    expect(first).toMatchObject({ status: 503, body: { error: { code: 'request_denied' } } })
    expect(first.headers.get('retry-after')).toBe('1')
    for (let count = 0; count < 3; count += 1) expect((await issueGrant(shop)).status).toBe(200)

    host.hangUp()
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: REQUESTS_TO_STRANGER_MAX }, () => 400), 503])
  })

  it('take more places once one of them signed with a key that is published there', async () => {
    const key = createTestKey('known')
    expect((await ask(host.publish('known', key), key)).status).toBe(200)
    const asked = askAsMany(REQUESTS_TO_KNOWN_HOST_MAX + 1)
    expect((await Promise.race(asked)).status).toBe(503)

    host.hangUp()
    const statuses = (await Promise.all(asked)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array.from({ length: REQUESTS_TO_KNOWN_HOST_MAX }, () => 400), 503])
  })
})

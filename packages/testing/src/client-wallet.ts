import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Ed25519Jwk } from '@open-payments-server/http-signatures'

/** A wallet address's document, and the keys it publishes. */
export interface WalletAddressOptions {
  readonly publicName?: string
  /** `USD` unless given. */
  readonly assetCode?: string
  /** 2 unless given. */
  readonly assetScale?: number
  /** Grant endpoint it advertises. */
  readonly authServer?: string
  readonly resourceServer?: string
  readonly keys?: readonly Ed25519Jwk[]
  /** `Cache-Control` of its documents; none unless given. */
  readonly cacheControl?: string
  /** `Content-Location` of its keys; none unless given. */
  readonly keysLocation?: string
}

/** A local wallet provider, for the wallet addresses of clients and account holders. */
export interface ClientWallet {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string
  /** Publishes a wallet address and its keys, or changes them. Returns its URL. */
  setWalletAddress(name: string, options?: WalletAddressOptions): string
  /** Publishes any JSON document under a path. Returns its URL. */
  setDocument(path: string, document: unknown, status?: number): string
  /** From now on closes the connection of every request for a path, without an answer. */
  hangUp(path: string): void
  /** Stops publishing under a path. */
  remove(path: string): void
  /** Number of requests for a path. */
  requestCount(path: string): number
  stop(): Promise<void>
}

interface Published {
  /** Whether the connection is closed instead. */
  readonly hangsUp?: boolean
  readonly status: number
  readonly body: string
  readonly cacheControl?: string | undefined
  readonly location?: string | undefined
}

/** Starts a wallet provider on a free port of this machine. */
export async function startClientWallet(): Promise<ClientWallet> {
  const documents = new Map<string, Published>()
  const counts = new Map<string, number>()
  const server = createServer((request, response) => {
    const path = request.url ?? '/'
    counts.set(path, (counts.get(path) ?? 0) + 1)
    const found = documents.get(path) ?? { status: 404, body: '{}' }
    if (found.hangsUp === true) {
      request.socket.destroy()
      return
    }
    response.writeHead(found.status, {
      'content-type': 'application/json',
      ...(found.cacheControl === undefined ? {} : { 'cache-control': found.cacheControl }),
      ...(found.location === undefined ? {} : { 'content-location': found.location })
    })
    response.end(found.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`

  return {
    origin,
    setWalletAddress(name, options = {}) {
      const id = `${origin}/${name}`
      const { keys = [], cacheControl, keysLocation: location, ...fields } = options
      const document = {
        id,
        publicName: name,
        assetCode: 'USD',
        assetScale: 2,
        authServer: origin,
        resourceServer: origin,
        ...fields
      }
      documents.set(`/${name}`, { status: 200, body: JSON.stringify(document), cacheControl })
      const body = JSON.stringify({ keys })
      documents.set(`/${name}/jwks.json`, { status: 200, body, cacheControl, location })
      return id
    },
    setDocument(path, document, status = 200) {
      documents.set(path, { status, body: JSON.stringify(document) })
      return `${origin}${path}`
    },
    hangUp(path) {
      documents.set(path, { status: 0, body: '', hangsUp: true })
    },
    remove(path) {
      documents.delete(path)
    },
    requestCount: (path) => counts.get(path) ?? 0,
    stop: () => stop(server)
  }
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve()
    })
    server.closeAllConnections()
  })
}

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Provider } from 'oidc-provider'
import { createApp } from './app.js'
import { ensureKeys, rotateKeys } from './keys.js'
import { createMemoryAdapter } from './memory-adapter.js'
import { type DevelopmentIssuerOptions, type IssuerOptions, issuerOptionsSchema } from './options.js'
import { createProvider } from './provider.js'

/** A running OpenID Provider, for development alone. */
export interface DevelopmentIssuer {
  /** `iss` of its ID tokens, and where its discovery document is. */
  readonly url: string
  /** From now on another key signs. The one before is still published; earlier ones are forgotten. */
  rotateKeys(): Promise<void>
  /** Stops listening, and ends what is under way. */
  close(): Promise<void>
}

/**
 * Starts an OpenID Provider, on loopback unless the options say otherwise.
 *
 * @throws ZodError naming the option that is wrong; Error when the port is taken, two people or clients share a name, or the kept
 *   keys cannot be read
 */
export async function startDevelopmentIssuer(given: DevelopmentIssuerOptions): Promise<DevelopmentIssuer> {
  const options = issuerOptionsSchema.parse(given)
  assertDistinct(options)
  let keys = await ensureKeys(options.folder)
  const server = createServer()
  const { port } = await listen(server, options)
  const url = options.url ?? `http://localhost:${String(port)}`
  const adapter = createMemoryAdapter()
  const create = (): Provider => createProvider({ url, options, keys, adapter })
  let provider = create()
  // Express's handler is a function of what `request` emits.
  server.on('request', createApp({ options, provider: () => provider }))
  return {
    url,
    async rotateKeys() {
      keys = await rotateKeys(options.folder, keys)
      provider = create()
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    }
  }
}

async function listen(server: Server, { port = 0, host }: IssuerOptions): Promise<AddressInfo> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP port was expected')
  return address
}

function assertDistinct({ people, clients }: IssuerOptions): void {
  const lists = {
    username: people.map(({ username }) => username),
    sub: people.map(({ sub }) => sub),
    clientId: clients.map(({ clientId }) => clientId)
  }
  for (const [name, values] of Object.entries(lists))
    if (new Set(values).size < values.length) throw new Error(`${name} must differ`)
}

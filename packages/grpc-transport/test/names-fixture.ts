import { findFreePort, NameServer } from '@open-payments-server/local-services'
import { afterTest, limitsClient, reserveResponse, startServer } from './fixture.js'

/** A server of {@link NamedServers}. */
export interface NamedServer {
  readonly host: string
  /** How often each payment id was asked for. */
  readonly asked: ReadonlyMap<string, number>
  /** Stops it gracefully. */
  stop(): Promise<void>
}

/**
 * Servers behind one name, each with its own address and all with one port, like the pods of a headless service of Kubernetes.
 * The name is looked up at the name server of the target, so `GRPC_NODE_USE_ALTERNATIVE_RESOLVER` must be `true` when grpc-js
 * is loaded.
 */
export class NamedServers {
  readonly #names: NameServer
  readonly #port: number
  #nextHost = 10

  private constructor(names: NameServer, port: number) {
    this.#names = names
    this.#port = port
  }

  static async start(): Promise<NamedServers> {
    const names = await NameServer.start()
    afterTest(() => {
      names.stop()
    })
    return new NamedServers(names, await findFreePort())
  }

  /** Starts a server that the name does not tell yet. @param serve what it does before it answers */
  async add(serve: () => Promise<void> = () => Promise.resolve()): Promise<NamedServer> {
    const asked = new Map<string, number>()
    const host = `127.0.0.${String(this.#nextHost)}`
    this.#nextHost += 1
    const { server } = await startServer(
      ({ unary }) => ({
        limits: {
          reserve: unary(async ({ reservations }: { reservations: readonly { paymentId: string }[] }) => {
            const id = reservations[0]?.paymentId ?? ''
            asked.set(id, (asked.get(id) ?? 0) + 1)
            await serve()
            return reserveResponse(id)
          })
        }
      }),
      { host, port: this.#port }
    )
    return { host, asked, stop: () => server.stop(GRACE_MS) }
  }

  /** From now on the name has these addresses. */
  tell(...servers: readonly NamedServer[]): void {
    this.#names.announce(servers.map(({ host }) => host))
  }

  /** A client that reaches them by their name, closed after the test. It repeats no call. */
  client(options: { lookUpPauseMs?: number; callsAreLong?: boolean } = {}): ReturnType<typeof limitsClient> {
    const target = `dns://${this.#names.authority}/servers.test:${String(this.#port)}`
    return limitsClient(target, { retriesMax: 0, ...options })
  }
}

/** Longer than any call here. */
const GRACE_MS = 20_000

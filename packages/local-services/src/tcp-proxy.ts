import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy to a server that can cut connections, or swallow everything like a network that loses packets. */
export interface TcpProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Cuts every connection. New ones are accepted. */
  drop(): void
  /** Cuts every connection, and refuses new ones until `restore`. */
  refuse(): Promise<void>
  /** Forwards nothing until `restore`; connections stay open, new ones are accepted. Data sent meanwhile is lost. */
  hang(): void
  /** Forwards what clients send, and loses the server's answers, until `restore`. */
  loseAnswers(): void
  /** Forwards everything again. */
  restore(): Promise<void>
  /** Cuts every connection and accepts no more. */
  stop(): Promise<void>
}

/**
 * Starts a proxy on a free port of this machine.
 *
 * @param targetUrl URL of the server, with a port
 */
export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  const target = new URL(targetUrl)
  const sockets = new Set<Socket>()
  let losesRequests = false
  let losesAnswers = false
  const pass = (from: Socket, to: Socket, isLost: () => boolean): void => {
    sockets.add(from)
    from.on('data', (data) => {
      if (!isLost()) to.write(data)
    })
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    pass(client, upstream, () => losesRequests)
    pass(upstream, client, () => losesAnswers)
  })
  const port = await listen(server, 0)
  const drop = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  const refuse = async (): Promise<void> => {
    const closed = once(server, 'close')
    server.close()
    drop()
    await closed
  }
  return {
    url: Object.assign(new URL(targetUrl), { host: `127.0.0.1:${String(port)}` }).href,
    drop,
    refuse,
    hang() {
      losesRequests = true
      losesAnswers = true
    },
    loseAnswers() {
      losesAnswers = true
    },
    async restore() {
      losesRequests = false
      losesAnswers = false
      if (!server.listening) await listen(server, port)
    },
    async stop() {
      if (server.listening) await refuse()
    }
  }
}

async function listen(server: Server, port: number): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

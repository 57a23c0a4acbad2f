import type { ClientHttp2Session } from 'node:http2'
import type { ChannelOptions } from '@grpc/grpc-js'
import { Http2SubchannelConnector } from '@grpc/grpc-js/build/src/transport.js'

/** Name of the option below among those of a channel. */
const CLOSING_CONNECTION_MAX_OPTION = 'open-payments.closing_connection_max_ms'

/** What grpc-js 1.14 keeps of a connection, and calls private. */
interface Transport {
  readonly session: Pick<ClientHttp2Session, 'once' | 'ping'>
  /** Ends all calls with UNAVAILABLE, and the connection. */
  handleDisconnect(): void
}

/**
 * Lets calls that run when a server says that it goes (GOAWAY) end over the connection that they run on.
 *
 * grpc-js goes on asking such a connection whether the other side is there. Node sends no such question over a connection
 * that is closing, and grpc-js takes that for a lost connection: within its keepalive interval all calls end with
 * UNAVAILABLE. So from then on the question is answered here. How long a connection may go on that nobody asks is bounded.
 *
 * @param maxMs how long calls may go on after GOAWAY, in milliseconds
 * @returns what a channel is to be made with
 */
export function lettingCallsEnd(maxMs: number): ChannelOptions {
  return { [CLOSING_CONNECTION_MAX_OPTION]: maxMs }
}

// grpc-js makes its connections by itself, and offers no other place to come by one.
// eslint-disable-next-line @typescript-eslint/unbound-method -- called with `call` below
const { connect } = Http2SubchannelConnector.prototype
const connectWatched: typeof connect = async function (
  this: Http2SubchannelConnector,
  address,
  secureConnector,
  options
) {
  const transport = await connect.call(this, address, secureConnector, options)
  const maxMs: unknown = options[CLOSING_CONNECTION_MAX_OPTION]
  if (typeof maxMs === 'number') watchForGoaway(transport as unknown as Transport, maxMs)
  return transport
}
Http2SubchannelConnector.prototype.connect = connectWatched

function watchForGoaway(transport: Transport, maxMs: number): void {
  const { session } = transport
  session.once('goaway', () => {
    const ping = (...parameters: unknown[]): boolean => {
      const callback = parameters.at(-1) as (error: Error | null, durationMs: number, payload: Buffer) => void
      setImmediate(() => {
        callback(null, 0, Buffer.alloc(0))
      })
      return true
    }
    session.ping = ping
    const timer = setTimeout(() => {
      transport.handleDisconnect()
    }, maxMs)
    timer.unref()
    session.once('close', () => {
      clearTimeout(timer)
    })
  })
}

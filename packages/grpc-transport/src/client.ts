import {
  Channel,
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  credentials,
  InterceptingCall,
  type Interceptor
} from '@grpc/grpc-js'
import { PersistentChannel } from './persistent-channel.js'
import { createChannelCredentials } from './tls-credentials.js'
import { watchName } from './watched-names.js'
import type { WatchedTlsFiles } from './watched-tls-files.js'

/** Maximum number of retries of one call, whatever is requested. */
export const RETRIES_MAX = 3

/**
 * How often the client sends a keepalive, and how long the server has to answer. Every call on a silent connection fails at its
 * deadline, so both are short: see docs/decisions/introspection-cache.md. The servers here accept any number of keepalives.
 */
const KEEPALIVE: Partial<ClientOptions> = {
  'grpc.keepalive_time_ms': 2_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.keepalive_permit_without_calls': 1
}

/**
 * Minimum time between two lookups of the target's addresses: within grpc-js's default of 30 s, a rollout can replace every
 * server that a client knows.
 */
const LOOK_UP_PAUSE_MIN_MS = 1_000

/**
 * Time between two look-ups of a name while nothing happens. Name servers of clusters may answer what was true half a minute
 * before: both together are less than a minute, within which a new server gets its share.
 */
const LOOK_UP_PAUSE_MS = 15_000

/** Pause before the second attempt to connect. */
const RECONNECT_BACKOFF_INITIAL_MS = 100

/** Maximum pause between attempts to connect: how late a client may notice that a server is back. */
const RECONNECT_BACKOFF_MAX_MS = 2_000

/** Spreads calls over every address the target's name has. */
const SERVICE_CONFIG = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }], methodConfig: [] })

/** Settings of a channel. */
export interface ChannelOptions {
  /** `host:port`, or `dns:///host:port` to spread calls over all addresses of the name. */
  readonly target: string
  /** The client's certificate, and the authorities it trusts; plain text without. */
  readonly tls?: WatchedTlsFiles | undefined
  /** Name that the server's certificate must contain; default: that of the target. */
  readonly serverName?: string | undefined
  /** Default duration of a call, retries included. */
  readonly deadlineMs: number
  /**
   * Whether calls must not be cut off, because they take long or may not be repeated. Off by default: the channel then
   * sends a keepalive every 2 seconds, so that a silent connection is detected. Node's HTTP/2 answers none once its server is
   * shutting down (GOAWAY), and grpc-js takes that for a lost connection: calls that still run two to four seconds after GOAWAY
   * end with UNAVAILABLE. If on, no keepalive is sent: such calls finish, and on a silent connection they end at their deadline.
   */
  readonly callsAreLong?: boolean | undefined
  /** How often a call that may be repeated is retried; at most {@link RETRIES_MAX}. */
  readonly retriesMax: number
  /** Maximum size of a message. */
  readonly messageBytesMax: number
  /**
   * Time between two look-ups of the target's name, in milliseconds; default {@link LOOK_UP_PAUSE_MS}, at least
   * {@link LOOK_UP_PAUSE_MIN_MS}. It is also looked up when a connection ends.
   */
  readonly lookUpPauseMs?: number | undefined
  /** Sent along with every call of this client, besides what the call sends itself. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

/** Settings of calls over a client. */
export type CallSettings = Pick<ChannelOptions, 'deadlineMs' | 'retriesMax'>

const settingsOfClients = new WeakMap<Client, CallSettings>()

/** The generated class of a client. */
type ClientConstructor<C extends Client> = new (
  address: string,
  credentials: ChannelCredentials,
  options?: Partial<ClientOptions>
) => C

/**
 * Creates a client of a generated class, with its own channel. Close it with `client.close()`.
 *
 * @throws RangeError when `retriesMax` is not from 0 to {@link RETRIES_MAX}
 */
export function createClient<C extends Client>(
  constructor: ClientConstructor<C>,
  options: ChannelOptions
): C {
  const { deadlineMs, retriesMax } = options
  if (!Number.isInteger(retriesMax) || retriesMax < 0 || retriesMax > RETRIES_MAX) {
    throw new RangeError(`retriesMax must be from 0 to ${String(RETRIES_MAX)}`)
  }
  const channelCredentials =
    options.tls === undefined ? credentials.createInsecure() : createChannelCredentials(options.tls)
  const { target, options: ofName } = watchName(options.target, options.lookUpPauseMs ?? LOOK_UP_PAUSE_MS)
  const client = new constructor(target, channelCredentials, {
    ...(options.metadata === undefined ? {} : { interceptors: [sendAlong(options.metadata)] }),
    channelOverride: new PersistentChannel(
      () => new Channel(target, channelCredentials, { ...transportOptions(options), ...ofName })
    )
  })
  settingsOfClients.set(client, { deadlineMs, retriesMax })
  return client
}

/**
 * Creates a client of another generated class over the channel of a client, and with its settings, but without
 * its metadata. Closing either closes
 * the channel.
 *
 * @throws TypeError for a client that {@link createClient} did not create
 */
export function shareChannel<C extends Client>(constructor: ClientConstructor<C>, client: Client): C {
  const channelOverride = client.getChannel()
  const sharing = new constructor(channelOverride.getTarget(), credentials.createInsecure(), {
    channelOverride
  })
  settingsOfClients.set(sharing, settingsOf(client))
  return sharing
}

function sendAlong(added: Readonly<Record<string, string>>): Interceptor {
  return (options, nextCall) =>
    new InterceptingCall(nextCall(options), {
      start(metadata, listener, next) {
        for (const [key, value] of Object.entries(added)) metadata.set(key, value)
        next(metadata, listener)
      }
    })
}

function transportOptions({
  callsAreLong = false,
  messageBytesMax,
  serverName
}: ChannelOptions): Partial<ClientOptions> {
  return {
    ...(serverName === undefined ? {} : { 'grpc.ssl_target_name_override': serverName }),
    'grpc.service_config': SERVICE_CONFIG,
    'grpc.service_config_disable_resolution': 1,
    ...(callsAreLong ? {} : KEEPALIVE),
    'grpc.dns_min_time_between_resolutions_ms': LOOK_UP_PAUSE_MIN_MS,
    'grpc.initial_reconnect_backoff_ms': RECONNECT_BACKOFF_INITIAL_MS,
    'grpc.max_reconnect_backoff_ms': RECONNECT_BACKOFF_MAX_MS,
    'grpc.max_receive_message_length': messageBytesMax,
    'grpc.max_send_message_length': messageBytesMax,
    // A channel that starts afresh must not get the connection that it gave up.
    'grpc.use_local_subchannel_pool': 1,
    // Services connect to each other directly, whatever proxy the environment names.
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0
  }
}

/**
 * Settings of calls over this client.
 *
 * @throws TypeError for a client that {@link createClient} did not create
 */
export function settingsOf(client: Client): CallSettings {
  const settings = settingsOfClients.get(client)
  if (settings === undefined) throw new TypeError('The client must come from createClient')
  return settings
}

import { type ChannelOptions, experimental } from '@grpc/grpc-js'
import { isNamedTarget } from './targets.js'

/** Scheme of the targets whose names {@link WatchingResolver} looks up. */
const SCHEME = 'watched-dns'

/** Channel option: pause between two look-ups of a name, in milliseconds. */
const PAUSE_OPTION = 'open-payments.look_up_pause_ms'

/** Pause after a look-up that failed. */
const PAUSE_AFTER_FAILURE_MS = 1_000

/** Share of a pause by which it varies at random, so that clients that started together do not ask together. */
const PAUSE_JITTER = 0.1

/**
 * Looks a name up again and again, as long as its channel is in use. grpc-js does so only when a connection ends, so it would
 * not find servers that are added, nor leave those that are about to stop, until then. The look-ups are its own.
 */
class WatchingResolver implements experimental.Resolver {
  readonly #resolver: experimental.Resolver
  #next: NodeJS.Timeout | undefined

  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path
  }

  constructor(
    target: experimental.GrpcUri,
    listener: experimental.ResolverListener,
    options: ChannelOptions
  ) {
    const pauseMs = Number(options[PAUSE_OPTION])
    const tell: experimental.ResolverListener = (endpoints, ...rest) => {
      this.#lookUpAfter(endpoints.ok ? pauseMs : Math.min(pauseMs, PAUSE_AFTER_FAILURE_MS))
      return listener(endpoints, ...rest)
    }
    this.#resolver = experimental.createResolver({ ...target, scheme: 'dns' }, tell, options)
  }

  updateResolution(): void {
    this.#resolver.updateResolution()
  }

  destroy(): void {
    clearTimeout(this.#next)
    this.#resolver.destroy()
  }

  #lookUpAfter(pauseMs: number): void {
    clearTimeout(this.#next)
    const jitter = 1 - PAUSE_JITTER + 2 * PAUSE_JITTER * Math.random()
    this.#next = setTimeout(() => {
      this.#resolver.updateResolution()
    }, pauseMs * jitter).unref()
  }
}

experimental.registerResolver(SCHEME, WatchingResolver)

/**
 * A target whose name is looked up again and again while a channel is in use. Addresses stay as they are.
 *
 * @param target of a channel: `host:port`, `dns:///host:port`, `ipv4:address:port`, …
 * @param pauseMs time between two look-ups, give or take a tenth; at least what grpc-js leaves between two
 * @returns the channel's target, and the options that it needs
 */
export function watchName(target: string, pauseMs: number): { target: string; options: ChannelOptions } {
  if (!isNamedTarget(target)) return { target, options: {} }
  return { target: target.replace(/^(?:dns:)?/, `${SCHEME}:`), options: { [PAUSE_OPTION]: pauseMs } }
}

import type { Logger, Part } from '@open-payments-server/runtime'
import type { RevocationFeed, RevocationListener } from '../domain/ports.js'

/** Pause before the first attempt to open the stream again; it doubles with every further one. */
const RECONNECT_INITIAL_MS = 100

/** Longest pause between attempts. */
const RECONNECT_MAX_MS = 5_000

/**
 * Keeps a stream of revocations open: opens it again whenever it ends, with growing, random pauses, so that the replicas
 * of a service do not all return at once. While it is down the listener was told so, and keeps nothing.
 */
export function followRevocations(deps: {
  feed: RevocationFeed
  listener: RevocationListener
  logger: Logger
}): Part {
  let attempts = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let stream: { close(): void } | undefined

  const open = (): void => {
    stream = deps.feed.watch({
      onStarted() {
        attempts = 0
        deps.logger.info('revocation stream is live')
        deps.listener.onStarted()
      },
      onTokenRevoked: (hash) => {
        deps.listener.onTokenRevoked(hash)
      },
      onGrantRevoked: (grantId) => {
        deps.listener.onGrantRevoked(grantId)
      },
      onEnded(reason) {
        deps.listener.onEnded(reason)
        if (stopped) return
        const longestMs = Math.min(RECONNECT_MAX_MS, RECONNECT_INITIAL_MS * 2 ** attempts)
        // Connections end when they are old, which is nothing to warn of; and an outage must not fill the log.
        const level = attempts === 0 ? 'info' : attempts === 1 ? 'warn' : 'debug'
        const why = reason instanceof Error ? reason.message : String(reason)
        deps.logger[level]({ reason: why }, 'revocation stream is down: every request asks the auth server')
        attempts += 1
        timer = setTimeout(open, (longestMs / 2) * (1 + Math.random()))
      }
    })
  }
  open()

  return {
    name: 'revocation stream',
    stop() {
      stopped = true
      clearTimeout(timer)
      stream?.close()
      return Promise.resolve()
    }
  }
}

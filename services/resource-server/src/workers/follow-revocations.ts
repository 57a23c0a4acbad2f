import type { Logger, Part } from '@open-payments-server/runtime'
import type { RevocationFeed, RevocationListener } from '../domain/ports.js'

/** Pause before the first attempt to reopen the stream; it doubles with each one. */
const RECONNECT_INITIAL_MS = 100

/** Maximum pause between attempts. */
const RECONNECT_MAX_MS = 5_000

/**
 * The same listener, which also says when the list of frozen clients may be another one: when the stream starts, and whenever it
 * tells of a client.
 */
export function sayingFreezes(
  listener: RevocationListener,
  onFreezesChanged: () => void
): RevocationListener {
  return {
    onStarted() {
      listener.onStarted()
      onFreezesChanged()
    },
    onTokenRevoked(hash) {
      listener.onTokenRevoked(hash)
    },
    onGrantRevoked(grantId) {
      listener.onGrantRevoked(grantId)
    },
    onClientFreezeChanged(client) {
      listener.onClientFreezeChanged(client)
      onFreezesChanged()
    },
    onGrantChanged(grantId) {
      listener.onGrantChanged(grantId)
    },
    onEnded(reason) {
      listener.onEnded(reason)
    }
  }
}

/**
 * Keeps a revocation stream open: reopens it whenever it ends, with growing, random pauses, so that the replicas of a
 * service do not all return at once. While it is down, the listener knows and caches nothing.
 */
export function followRevocations(dependencies: {
  feed: RevocationFeed
  listener: RevocationListener
  logger: Logger
}): Part {
  let attempts = 0
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let stream: { close(): void } | undefined

  const open = (): void => {
    stream = dependencies.feed.watch({
      onStarted() {
        attempts = 0
        dependencies.logger.info('revocation stream is live')
        dependencies.listener.onStarted()
      },
      onTokenRevoked: (hash) => {
        dependencies.listener.onTokenRevoked(hash)
      },
      onGrantRevoked: (grantId) => {
        dependencies.listener.onGrantRevoked(grantId)
      },
      onClientFreezeChanged: (client) => {
        dependencies.listener.onClientFreezeChanged(client)
      },
      onGrantChanged: (grantId) => {
        dependencies.listener.onGrantChanged(grantId)
      },
      onEnded(reason) {
        dependencies.listener.onEnded(reason)
        if (stopped) return
        const longestMs = Math.min(RECONNECT_MAX_MS, RECONNECT_INITIAL_MS * 2 ** attempts)
        // Connections end regularly with their age, which needs no warning, and an outage must not fill the log.
        const level = attempts === 0 ? 'info' : attempts === 1 ? 'warn' : 'debug'
        const why = reason instanceof Error ? reason.message : String(reason)
        dependencies.logger[level](
          { reason: why },
          'revocation stream is down: every request asks the auth server'
        )
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

/** One listener for several, which are told one after the other: whoever asks the cache for a token comes after it. */
export function tellInOrder(listeners: readonly RevocationListener[]): RevocationListener {
  const each = (tell: (listener: RevocationListener) => void): void => {
    listeners.forEach(tell)
  }
  return {
    onStarted: () => {
      each((listener) => {
        listener.onStarted()
      })
    },
    onTokenRevoked: (hash) => {
      each((listener) => {
        listener.onTokenRevoked(hash)
      })
    },
    onGrantRevoked: (grantId) => {
      each((listener) => {
        listener.onGrantRevoked(grantId)
      })
    },
    onClientFreezeChanged: (client) => {
      each((listener) => {
        listener.onClientFreezeChanged(client)
      })
    },
    onGrantChanged: (grantId) => {
      each((listener) => {
        listener.onGrantChanged(grantId)
      })
    },
    onEnded: (reason) => {
      each((listener) => {
        listener.onEnded(reason)
      })
    }
  }
}

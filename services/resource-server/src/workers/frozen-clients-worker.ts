import { type Logger, startWorker, type Worker } from '@open-payments-server/runtime'
import { AuthServerUnavailable, type FrozenClients } from '../domain/ports.js'

/** How often the list is read without being told of a change, in milliseconds: a change may be missed while the stream is down. */
const POLL_MS = 60_000

/** Keeps the list of frozen clients when woken, and once in a while. Needs no connection to the auth server meanwhile. */
export function createFrozenClientsWorker(dependencies: {
  readonly frozenClients: FrozenClients
  /** Keeps the list. @returns whether any is frozen no longer */
  readonly keep: (clients: readonly string[]) => Promise<boolean>
  readonly logger: Logger
  /** Signals that payments may go on that a freeze held. */
  readonly onUnfrozen: () => void
}): Worker {
  const { frozenClients, keep, logger, onUnfrozen } = dependencies
  return startWorker({
    name: 'frozen clients',
    pollMs: POLL_MS,
    logger,
    async runBatch() {
      try {
        if (await keep(await frozenClients.list())) onUnfrozen()
      } catch (error) {
        // It is asked again as soon as the stream of revocations is live.
        if (!(error instanceof AuthServerUnavailable)) throw error
        logger.warn({ err: error }, 'which clients are frozen cannot be asked now: the last answer counts')
      }
      return false
    }
  })
}

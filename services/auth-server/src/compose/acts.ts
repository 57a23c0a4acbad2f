import { type Acting, Acts, deferred, type Later } from '@open-payments-server/service-kit/operators'
import { CallRefused } from '../domain/call-refused.js'
import type { RevocationEvent } from '../domain/revocations.js'
import type { ActingDependencies } from '../grpc/acts.js'
import type { Queries } from '../modules/database.js'
import type { GrpcDependencies } from './grpc-dependencies.js'

/**
 * What records operators' acts. Within a transaction, nobody is told of anything before it is committed. If watchers cannot be told
 * then, the call ends with UNAVAILABLE, and repeating it tells them.
 */
export function createActs(dependencies: GrpcDependencies): Acts<Queries, ActingDependencies> {
  const { logger, counters, onEventsAppended } = dependencies
  const acting = (
    database: Queries,
    later: Later,
    onUnchanged: Acting['onUnchanged']
  ): ActingDependencies => ({
    ...dependencies,
    database,
    onUnchanged,
    logger: deferred(logger, later),
    counters: deferred(counters, later),
    revocations: {
      publish: (event) => {
        later(() => publish(event, dependencies))
        return Promise.resolve()
      }
    },
    onEventsAppended: () => {
      later(onEventsAppended)
    }
  })
  // What takes several steps counts as done.
  const outside = { ...dependencies, onUnchanged: () => undefined }
  return new Acts({ ...dependencies, dependencies: outside, acting })
}

async function publish(
  event: RevocationEvent,
  { revocations }: Pick<GrpcDependencies, 'revocations'>
): Promise<void> {
  try {
    await revocations.publish(event)
  } catch (cause) {
    const message = 'It is done, but not every service could be told: repeat the call'
    throw new CallRefused('untold', message, { cause })
  }
}

import { type Acting, Acts, deferred, type Later } from '@open-payments-server/service-kit/operators'
import type { ActingDependencies } from '../grpc/operator/acts.js'
import type { Queries } from '../modules/database.js'
import type { GrpcDependencies } from './grpc-dependencies.js'

/** What records operators' acts. Within a transaction, nobody is told of anything before it is committed. */
export function createActs(dependencies: GrpcDependencies): Acts<Queries, ActingDependencies> {
  const acting = (
    database: Queries,
    later: Later,
    onUnchanged: Acting['onUnchanged']
  ): ActingDependencies => ({
    ...dependencies,
    database,
    onUnchanged,
    logger: deferred(dependencies.logger, later),
    counters: deferred(dependencies.counters, later),
    publishedKeys: deferred(dependencies.publishedKeys, later),
    onPaymentCreated: () => {
      later(dependencies.onPaymentCreated)
    },
    onReservationEnded: () => {
      later(dependencies.onReservationEnded)
    },
    onEventsAppended: () => {
      later(dependencies.onEventsAppended)
    }
  })
  // What takes several steps counts as done.
  const outside = { ...dependencies, onUnchanged: () => undefined }
  return new Acts({ ...dependencies, dependencies: outside, acting })
}

import type { Metrics } from './metrics.js'

/** Failures of dependencies, counted by both services. */
export interface FailureCounters<WorkerName extends string, Operation extends string> {
  /** A batch of a worker failed; it is tried again. */
  readonly countFailedBatch: (worker: WorkerName) => void
  /** The shared store could not be asked. */
  readonly countStoreError: (operation: Operation) => void
}

/**
 * Publishes what `docs/metrics.md` lists of workers and of the shared store.
 *
 * @param known all the workers of a service, and all the operations of its shared store
 */
export function publishFailures<WorkerName extends string, Operation extends string>(
  metrics: Pick<Metrics, 'addCounters'>,
  known: { readonly workers: readonly WorkerName[]; readonly operations: readonly Operation[] }
): FailureCounters<WorkerName, Operation> {
  return {
    countFailedBatch: metrics.addCounters(
      {
        name: 'open_payments_worker_batch_failures_total',
        help: 'Batches of background work that failed and are tried again, by the worker.'
      },
      'worker',
      known.workers
    ),
    countStoreError: publishStoreErrors(metrics, known.operations)
  }
}

/** Publishes how often the shared store could not be asked, by operation. */
export function publishStoreErrors<Operation extends string>(
  metrics: Pick<Metrics, 'addCounters'>,
  operations: readonly Operation[]
): (operation: Operation) => void {
  return metrics.addCounters(
    { name: 'open_payments_shared_store_errors_total', help: 'Operations of the shared store that failed.' },
    'operation',
    operations
  )
}

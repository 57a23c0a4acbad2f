import { setTimeout as delay } from 'node:timers/promises'
import { ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'
import type { Logger } from './logger.js'
import type { Part } from './lifecycle.js'
import { endFailedSpan, withinSpan } from './tracing.js'

const tracer = trace.getTracer('@open-payments-server/runtime')

/** A loop that processes bounded batches of work, woken by producers of work and by a slow poll. */
export interface Worker extends Part {
  /** Signals that there may be work. Cheap, and may be called at any time. */
  wake(): void
}

/**
 * Starts a worker. It works while `runBatch` finds work, then sleeps until it is woken or `pollMs` have passed. A batch
 * that fails is logged, and retried after the poll. Stopping waits for the running batch. Each batch is its own trace.
 *
 * @param options.restMs minimum time from the start of a batch to that of the next, unless there is already more to do: a
 *   worker that is woken constantly then does much at once instead of little often. After a longer sleep, waking has no
 *   delay. None unless given
 * @param options.runBatch processes one bounded batch; resolves to whether there may be more. Must be idempotent and safe
 *   to run in several processes at once
 * @param options.onBatchFailed called for each batch that failed
 */
export function startWorker(options: {
  name: string
  pollMs: number
  restMs?: number
  logger: Logger
  runBatch: (signal: AbortSignal) => Promise<boolean>
  onBatchFailed?: (() => void) | undefined
}): Worker {
  const { restMs = 0 } = options
  const abort = new AbortController()
  let wakeUp: (() => void) | undefined
  let woken = true

  const sleep = (): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, options.pollMs)
      wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const rest = async (untilMs: number): Promise<void> => {
    const restMs = untilMs - performance.now()
    if (restMs > 0) await delay(restMs, undefined, { signal: abort.signal }).catch(() => undefined) // stopped meanwhile
  }

  const runBatch = async (span: Span): Promise<boolean> => {
    try {
      const more = await options.runBatch(abort.signal)
      span.end()
      return more
    } catch (error) {
      options.logger.error({ worker: options.name, err: error }, 'batch failed')
      options.onBatchFailed?.()
      endFailedSpan(span, error instanceof Error ? error.name : 'unknown')
      return false
    }
  }

  const run = async (): Promise<void> => {
    while (!abort.signal.aborted) {
      woken = false
      const begunMs = performance.now()
      const span = tracer.startSpan(`batch of ${options.name}`, { root: true })
      const more = await withinSpan(span, ROOT_CONTEXT, () => runBatch(span))
      // `woken` may have been set by wake() or stop() while the batch ran.
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- changed by other callbacks meanwhile
      if (!more && !woken) await sleep()
      if (!more) await rest(begunMs + restMs)
    }
  }
  const running = run()

  return {
    name: options.name,
    wake() {
      woken = true
      wakeUp?.()
    },
    async stop() {
      abort.abort()
      woken = true
      wakeUp?.()
      await running
    }
  }
}

import { setTimeout as delay } from 'node:timers/promises'
import { ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api'
import type { Logger } from './logger.js'
import type { Part } from './lifecycle.js'
import { endFailedSpan, withinSpan } from './tracing.js'

const tracer = trace.getTracer('@open-payments-server/runtime')

/** A loop that does bounded batches of work, woken by whoever makes work and by a slow poll. */
export interface Worker extends Part {
  /** Says that there may be work. Cheap, and safe at any time. */
  wake(): void
}

/**
 * Starts a worker. It works while `runBatch` finds work, then sleeps until it is woken or `pollMs` have passed. A batch
 * that fails is logged, and tried again after the poll. Stopping waits for the batch that runs. Each batch is a trace of its
 * own.
 *
 * @param options.restMs least time from the beginning of a batch to that of the next, unless there is more to do already: who is
 *   woken all the time then does much at once instead of little often. Nobody waits who wakes it after a longer sleep. None
 *   unless given
 * @param options.runBatch does one bounded batch; resolves to whether there may be more. Must be safe to run twice, and
 *   beside itself in another process
 * @param options.onBatchFailed is told of each batch that failed
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

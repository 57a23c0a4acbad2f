import type { Dispatcher } from 'undici'

/** A request, as far as it may have left. */
export interface Departure {
  /** What to send it with. */
  readonly dispatcher: Dispatcher
  /** Whether anything of it may have left: whatever failed before, such as the lookup or the connection, kept it here. */
  readonly mayHaveLeft: () => boolean
}

/** Watches a request that is about to be sent over an agent. */
export function watchDeparture(agent: Dispatcher): Departure {
  let hasStarted = false
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const watching: Dispatcher.DispatchHandler = {
      // Called on an open connection, before the first byte is written.
      onRequestStart(controller, context) {
        hasStarted = true
        handler.onRequestStart?.(controller, context)
      },
      onResponseStart: (...told) => handler.onResponseStart?.(...told),
      onResponseData: (...told) => handler.onResponseData?.(...told),
      onResponseEnd: (...told) => handler.onResponseEnd?.(...told),
      onResponseError: (...told) => handler.onResponseError?.(...told)
    }
    return dispatch(options, watching)
  })
  return { dispatcher, mayHaveLeft: () => hasStarted }
}

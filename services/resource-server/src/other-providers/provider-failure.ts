import type { OutgoingRequestError, OutgoingRequestErrorReason } from '@open-payments-server/http-client'

/**
 * Why another provider could not be asked:
 * - `unreachable`: it does not answer, or says that it cannot now; it may be asked again later
 * - `refused`: it refuses us, or wants a person to interact
 * - `invalid`: what it says is nonsense, or contradicts itself
 */
export type ProviderFailureKind = 'unreachable' | 'refused' | 'invalid'

/** A failure of another provider. It contains nothing that was received, which may repeat our token. */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure'
  readonly kind: ProviderFailureKind
  /** What was wrong, such as `methods.0.ilpAddress` of its document: one of our own names, for the log only. */
  readonly field: string

  /** @param options.cause what happened underneath, for the log */
  constructor(options: { kind: ProviderFailureKind; field: string; message: string; cause?: unknown }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.kind = options.kind
    this.field = options.field
  }
}

/** A document, or a member of it, that is not what it should be. */
export function invalid(field: string): ProviderFailure {
  return new ProviderFailure({ kind: 'invalid', field, message: `not valid at another provider: ${field}` })
}

/** Statuses that say: later. Besides these, every status from 500. */
const LATER: ReadonlySet<number> = new Set([408, 429])
const SERVER_ERROR_MIN = 500
const CLIENT_ERROR_MIN = 400

/** Reasons that pass. */
const PASSING: ReadonlySet<OutgoingRequestErrorReason> = new Set(['network', 'timeout', 'busy'])

/** Whether what failed may succeed a moment later: no connection or no answer, 408, 429, and statuses from 500. */
export function isPassing({ reason, status }: OutgoingRequestError): boolean {
  if (reason !== 'status' || status === undefined) return PASSING.has(reason)
  return status >= SERVER_ERROR_MIN || LATER.has(status)
}

/** Reasons for which nothing was received. */
const NOTHING_RECEIVED: ReadonlySet<OutgoingRequestErrorReason> = new Set([...PASSING, 'url', 'address'])

/**
 * What a failed request says about the other provider.
 *
 * @param field what was asked for
 */
export function failureOfRequest(error: OutgoingRequestError, field: string): ProviderFailure {
  const { reason, status } = error
  return new ProviderFailure({
    kind: kindOf(error),
    field,
    message: `no ${field} from another provider: ${reason}${status === undefined ? '' : ` ${status}`}`,
    // Errors of parsers quote what they could not parse.
    cause: NOTHING_RECEIVED.has(reason) ? error : undefined
  })
}

function kindOf(error: OutgoingRequestError): ProviderFailureKind {
  if (isPassing(error)) return 'unreachable'
  return error.reason === 'status' && (error.status ?? 0) >= CLIENT_ERROR_MIN ? 'refused' : 'invalid'
}

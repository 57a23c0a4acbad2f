import { Metadata, type ServiceError, status, type StatusObject } from '@grpc/grpc-js'

/** Metadata key under which an error names the request field it is about. */
const ERROR_FIELD_KEY = 'error-field'

/** Metadata key under which an error names something else that the caller can ask for. */
const ERROR_REFERENCE_KEY = 'error-reference'

/**
 * Maximum length of an error's message that is sent, in characters: messages are sent in a header, and headers are limited.
 */
const ERROR_MESSAGE_LENGTH_MAX = 1_000

/** Allowed metadata values: visible ASCII and inner spaces. */
const SENT = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Codes that the transport itself reports, on either side, with texts about addresses and connections. Errors with them get
 * the text given here, and the actual cause stays in `cause`.
 */
const TRANSPORT_MESSAGES: ReadonlyMap<status, string> = new Map([
  [status.CANCELLED, 'Call cancelled'],
  [status.UNKNOWN, 'Internal error'],
  [status.DEADLINE_EXCEEDED, 'Deadline exceeded'],
  [status.INTERNAL, 'Internal error'],
  [status.UNAVAILABLE, 'Service unavailable']
])

/** An error over gRPC: thrown by a handler to refuse a call, and received by a caller whose call failed. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  /** Why the call failed. */
  readonly code: status
  /** The request field that the error is about, for example `debit_amount.value`. */
  readonly field: string | undefined
  /** What the caller can ask for instead, for example the id of a proposal. */
  readonly reference: string | undefined

  /**
   * @param options.message for the other side; nothing private. {@link ERROR_MESSAGE_LENGTH_MAX} characters are sent
   * @param options.field path of the wrong request field, in printable ASCII
   * @param options.reference id of what the caller can ask for instead, in printable ASCII
   * @param options.cause the actual cause, for the log; never sent
   * @throws RangeError for a `field` or `reference` that cannot be sent
   */
  constructor(options: {
    code: status
    message: string
    field?: string | undefined
    reference?: string | undefined
    cause?: unknown
  }) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause })
    for (const sent of [options.field, options.reference])
      if (sent !== undefined && !SENT.test(sent))
        throw new RangeError('The field and the reference of an RpcError must be printable ASCII')
    this.code = options.code
    this.field = options.field
    this.reference = options.reference
  }
}

/** Whether an error is an {@link RpcError}, and with this code when one is given. */
export function isRpcError(error: unknown, code?: status): error is RpcError {
  return error instanceof RpcError && (code === undefined || error.code === code)
}

/** The status that an error ends a call with. */
export function statusOf(error: RpcError): Partial<StatusObject> {
  const metadata = new Metadata()
  if (error.field !== undefined) metadata.set(ERROR_FIELD_KEY, error.field)
  if (error.reference !== undefined) metadata.set(ERROR_REFERENCE_KEY, error.reference)
  return { code: error.code, details: sendable(error.message), metadata }
}

/** A text that can be sent: shortened, and without lone surrogates, on which the transport's encoder would throw. */
function sendable(text: string): string {
  return Buffer.from(text.slice(0, ERROR_MESSAGE_LENGTH_MAX), 'utf8').toString('utf8')
}

/** The error of a failed call, as its caller gets it. Codes of the transport get a fixed message. */
export function errorOf(error: ServiceError): RpcError {
  return new RpcError({
    code: error.code,
    message: TRANSPORT_MESSAGES.get(error.code) ?? error.details,
    field: sentIn(error.metadata, ERROR_FIELD_KEY),
    reference: sentIn(error.metadata, ERROR_REFERENCE_KEY),
    cause: error
  })
}

function sentIn(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key)
  return typeof value === 'string' && SENT.test(value) ? value : undefined
}

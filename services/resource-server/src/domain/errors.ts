import { PublicError, serviceUnavailable } from '@open-payments-server/http-server'

// Every error that clients of the resource server can meet, with the exact words that clients in the field branch on.
// The code is the HTTP status as a string.

/** 401: the token is missing, malformed, or was not issued here. */
export function invalidToken(): PublicError {
  return new PublicError({ status: 401, code: '401', description: 'Invalid Token' })
}

/** 403: the token is expired, rotated or revoked, or its grant is over. */
export function inactiveToken(): PublicError {
  return new PublicError({ status: 403, code: '403', description: 'Inactive Token' })
}

/** 401: the signature is missing or not valid. */
export function invalidSignature(reason: string, cause?: unknown): PublicError {
  return new PublicError({
    status: 401,
    code: '401',
    description: `Signature validation error: ${reason}`,
    cause
  })
}

/** 403: no access item covers the type, action and wallet address. */
export function insufficientGrant(): PublicError {
  return new PublicError({ status: 403, code: '403', description: 'Insufficient Grant' })
}

/** 403: over the grant's limits, or outside its interval. */
export function overLimits(): PublicError {
  return new PublicError({ status: 403, code: '403', description: 'unauthorized' })
}

/** 404: there is no such resource, or the client may not know of it. */
export function notFound(): PublicError {
  return new PublicError({ status: 404, code: '404', description: 'not found' })
}

/** 409: the resource's state does not allow it. */
export function conflict(description: string): PublicError {
  return new PublicError({ status: 409, code: '409', description })
}

/** 400: the receiver is not a payable incoming payment. */
export function invalidReceiver(cause?: unknown): PublicError {
  return new PublicError({
    status: 400,
    code: '400',
    description: 'invalid receiver',
    details: { receiver: 'not an incoming payment that can be paid' },
    cause
  })
}

/** 400: the quote is unknown, expired, used, or another client's. */
export function invalidQuote(): PublicError {
  return new PublicError({
    status: 400,
    code: '400',
    description: 'invalid quote',
    details: { quoteId: 'unknown, expired or used' }
  })
}

/** 400: the wallet address named in a body or query is not hosted here. */
export function unknownWalletAddress(field: string): PublicError {
  return new PublicError({
    status: 400,
    code: '400',
    description: 'unknown wallet address',
    details: { [field]: 'not a wallet address hosted here' }
  })
}

/** 400: an amount is in another asset than the wallet address, or the receiver. */
export function assetMismatch(
  field: string,
  given: { code: string; scale: number },
  expected: { code: string; scale: number },
  owner = 'the wallet address'
): PublicError {
  const described = `assetCode ${given.code} and assetScale ${String(given.scale)} differ from ${owner}'s ${expected.code} and ${String(expected.scale)}`
  return new PublicError({
    status: 400,
    code: '400',
    description: `invalid ${field}: ${described}`,
    details: { [field]: described }
  })
}

/**
 * 400: the amount is too small to deliver anything.
 *
 * @param minSendAmount the smallest debit that would deliver something, as an amount on the wire
 */
export function nonPositiveReceiveAmount(minSendAmount: {
  value: string
  assetCode: string
  assetScale: number
}): PublicError {
  return new PublicError({
    status: 400,
    code: '400',
    description: 'non-positive receive amount: the amount is too small to deliver anything',
    details: { minSendAmount }
  })
}

/** 503: the auth server, or something else that is needed, cannot be asked now. */
export function temporarilyUnavailable(cause: unknown): PublicError {
  return serviceUnavailable('503', cause)
}

/** 422: the idempotency key, or the id derived from it, belongs to another request. */
export function differentRequest(): PublicError {
  return new PublicError({
    status: 422,
    code: '422',
    description: 'the Idempotency-Key was used with another request',
    details: { 'Idempotency-Key': 'used with another request' }
  })
}

/** See {@link SignatureErrorReason}. */
export const SIGNATURE_ERROR_REASONS = [
  'missing',
  'malformed',
  'several',
  'coverage',
  'digest',
  'algorithm',
  'tag',
  'key',
  'stale',
  'future',
  'expired',
  'mismatch',
  'nonce'
] as const

/**
 * Why a request is not authenticated by its signature.
 *
 * - `missing`: there is no signature.
 * - `malformed`: a header, parameter or component is not what RFC 9421 says, or exceeds a limit.
 * - `several`: there is more than one signature.
 * - `coverage`: a component that must be signed is not, or one is signed that the request does not have or that this
 *   profile does not support.
 * - `digest`: the body does not match its `content-digest`, or that header is absent or malformed.
 * - `algorithm`: `alg` is not `ed25519`.
 * - `tag`: `tag` is not `gnap`, or is required and absent.
 * - `key`: `keyid` is absent or names another key, or the key is not a usable Ed25519 public key.
 * - `stale`, `future`, `expired`: `created` is too old or too far ahead, or `expires` has passed.
 * - `mismatch`: the signature does not verify.
 * - `nonce`: its nonce was used before, or may have been. Who keeps the nonces finds that out.
 */
export type SignatureErrorReason = (typeof SIGNATURE_ERROR_REASONS)[number]

/** A signature, digest or key that is not accepted. The message is fit for the caller and contains no secret. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError'

  constructor(
    readonly reason: SignatureErrorReason,
    message: string,
    options?: ErrorOptions
  ) {
    super(message, options)
  }
}
